"""The OpenAPI 3.1 document of the API, made from its routes."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from publisher.web.api import PREFIX, Route
from publisher.web.refusals import Problem
from publisher.web.submissions import PATH, SkillParameters, SubmittedDocument, operation
from validator import __version__

_REF: Final = "#/components/schemas/{name}"
_PROBLEMS: Final[Mapping[str, str]] = {
    "400": "A parameter has another form, or is not known.",
    "401": "The token is missing or wrong.",
    "403": "The reader's session is another miner's.",
    "404": "There is no such thing.",
    "421": "The request names another host than this server's (web.name).",
    "429": "Too many requests of one address; Retry-After says when to ask again.",
    "503": "What this rests on cannot be read now: the store, the validator or the chain.",
}
_GONE: Final = {
    "description": "The receipt that revokes it.",
    "content": {"application/json": {"schema": {"type": "object"}}},
}


def openapi(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the document."""
    routes = tuple(routes)
    parameters: list[type[Struct]] = [SkillParameters, *(route.parameters for route in routes)]
    types = [Problem, *(route.document for route in routes), SubmittedDocument, *parameters]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    documents = dict(zip(routes, schemas[1 : len(routes) + 1], strict=True))
    paths = {f"{PREFIX}{route.path}": {"get": _operation(route, documents[route], components)} for route in routes}
    submitting = _parameters(PATH, components[SkillParameters.__name__])
    paths[PREFIX + PATH] = {"post": operation({**_problems(), "413": _TOO_LARGE}, schemas[len(routes) + 1], submitting)}
    for one in parameters:
        components.pop(one.__name__, None)  # each path has them
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "SSSA validator",
            "version": __version__,
            "description": "Read-only: docs/api.md. Answers carry an ETag and answer If-None-Match with 304.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {name: {"type": "http", "scheme": "bearer"} for name in ("token", "submitter")},
        },
    }


def _operation(route: Route, document: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "summary": route.what,
        "operationId": route.answer.__name__.strip("_"),
        "parameters": _parameters(route.path, components[route.parameters.__name__]),
        "responses": {
            "200": {"description": route.what, "content": {"application/json": {"schema": document}}},
            "304": {"description": "It is as the reader has it."},
            **_problems(),
            **({"410": _GONE} if route.path.endswith("{sha256}") else {}),
        },
        "security": [{}, {"token": []}] if route.access == "public" else [{"token": []}],
    }


def _problems() -> dict[str, Any]:
    return {status: _problem(text) for status, text in _PROBLEMS.items()}


def _problem(text: str) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name=Problem.__name__)}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _parameters(path: str, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in path else "query",
            "required": name in schema["required"],
            "schema": {key: value for key, value in facts.items() if key not in {"description", "examples"}},
            "description": facts.get("description", ""),
        }
        for name, facts in schema["properties"].items()
    ]


_TOO_LARGE: Final = _problem("The bundle is larger than any that is taken.")
