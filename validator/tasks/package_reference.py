"""References to packages of PyPI, npm and git, as the manifest of packages records them. Nothing is downloaded."""

import re
from typing import Final, Literal, NamedTuple

from sssa.protocol.text import printable
from validator.tasks.source import TaskError

Kind = Literal["pypi:", "npm:", "git+"]
_FOLDER: Final = r"(?:#subdirectory=(?P<subdirectory>[A-Za-z0-9._ @/+-]{1,512}))?"
_PYPI_FORM: Final = (
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)(?:==(?P<version>[0-9][0-9A-Za-z.!+_-]{0,63}))?"
)
_NPM_FORM: Final = (
    r"(?P<name>(?:@[a-z0-9][a-z0-9._~-]{0,100}/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,200})"
    r"(?:@(?P<version>[0-9A-Za-z][0-9A-Za-z.+-]{0,127}))?"
)
_GIT_FORM: Final = (
    r"(?P<name>(?:https://[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?"
    r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|file://)/[A-Za-z0-9._~/%+,=-]{1,1024})"
    r"(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}))?"
)


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    description: str


_FORMS: Final[dict[Kind, _Form]] = {
    "pypi:": _Form(re.compile(_PYPI_FORM + _FOLDER, re.ASCII), "pypi:NAME or pypi:NAME==VERSION"),
    "npm:": _Form(re.compile(_NPM_FORM + _FOLDER, re.ASCII), "npm:NAME, npm:@SCOPE/NAME or either with @VERSION"),
    "git+": _Form(
        re.compile(_GIT_FORM + _FOLDER, re.ASCII),
        "git+https://HOST/PATH, git+ssh://… or git+file:///PATH, each with @REVISION if wished",
    ),
}


class Reference(NamedTuple):
    """A package of a registry or a repository, or a folder of it.

    Attributes:
        kind: the prefix of the text.
        name: the name of the distribution or npm package; the URL of the repository.
        version: a version; npm: also a tag; git: a branch, a tag or a whole commit. None if the text names none.
        subdirectory: None for the whole package.
    """

    kind: Kind
    name: str
    version: str | None = None
    subdirectory: str | None = None


def parse_reference(text: str) -> Reference | None:
    """Return the reference in `text`, None if the text does not begin like one.

    Raises:
        TaskError: it begins like a reference and is none; credentials in a URL are refused as well.
    """
    for kind, form in _FORMS.items():
        if not text.startswith(kind):
            continue
        match = form.pattern.fullmatch(text.removeprefix(kind))
        folder = (match and match["subdirectory"]) or ""
        if match is None or ".." in (match["version"] or "") or _leads_out(folder):
            raise TaskError(
                f"`{printable(text)}` is not of the form {form.description}, then #subdirectory=FOLDER if wished"
            )
        return Reference(kind, match["name"], match["version"], folder.strip("/") or None)
    return None


def _leads_out(folder: str) -> bool:
    return bool(folder) and any(part in {"", ".", ".."} for part in folder.strip("/").split("/"))
