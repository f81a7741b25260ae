"""The settings as a table, made from the model: for error messages, the docs and config/validator.toml."""

import json
from collections.abc import Mapping
from functools import cache
from textwrap import wrap
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from validator.settings.model import Settings
from validator.settings.urls import SecretUrl

_HEAD: Final = """\
# Settings of the validator: every key with its default. A key with a # in front is not set; its value is an example.
# Read from --config FILE, else $VALIDATOR_CONFIG, else ./validator.toml. Relative paths start at the working folder.
# An environment variable wins over this file: VALIDATOR_STORE__URL sets url in [store], and VALIDATOR_STORE__URL_FILE
# names a file that holds it. How answers are scored is part of the program's version and cannot be set.
"""
_WIDTH: Final = 110


class KeyReference(NamedTuple):
    """One setting.

    Attributes:
        section: table of the settings file.
        key: name in that table.
        kind: JSON type: integer, number, boolean, string, array or object.
        required: whether there is no default.
        default: plain default; None where nothing is set.
        example: a value that shows the form where there is no default.
        allowed: in words, what it may be.
        secret: whether its value may not be shown.
        pattern: that its text matches; empty where none is asked for.
    """

    section: str
    key: str
    kind: str
    required: bool
    default: Any
    example: Any
    allowed: str
    unit: str
    description: str
    secret: bool
    pattern: str = ""

    @property
    def dotted(self) -> str:
        """Return `section.key`."""
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """Return the environment variable that sets it; with `_FILE` behind it, that of a file holding it."""
        return f"VALIDATOR_{self.section.upper()}__{self.key.upper()}"


@cache
def reference() -> Mapping[str, KeyReference]:
    """Return every setting by dotted key, in the order of the model."""
    return {
        entry.dotted: entry
        for name, field in Settings.model_fields.items()
        for entry in _section(name, field.annotation)
    }


def _section(name: str, model: Any) -> list[KeyReference]:
    schemas = model.model_json_schema()["properties"]
    return [_entry(name, key, field, schemas[key]) for key, field in model.model_fields.items()]


def _entry(section: str, key: str, field: Any, schema: dict[str, Any]) -> KeyReference:
    form = schema | next((option for option in schema.get("anyOf", ()) if option["type"] != "null"), {})
    unit = schema.get("unit", "")
    return KeyReference(
        section=section,
        key=key,
        kind=form["type"],
        required=field.is_required(),
        default=None if field.is_required() else _plain_default(field.default),
        example=schema.get("example"),
        allowed=schema.get("allowed") or _allowed(form) + (f" ({unit})" if unit else ""),
        unit=unit,
        description=field.description,
        secret=schema.get("secret", False),
        pattern=form.get("pattern", ""),
    )


def _plain_default(value: Any) -> Any:
    if isinstance(value, SecretUrl):
        return value.reveal()
    if isinstance(value, tuple):
        return [_plain_default(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | dict) else str(value)


def _allowed(form: dict[str, Any]) -> str:
    if "enum" in form:
        return "one of " + ", ".join(f'"{choice}"' for choice in form["enum"])
    if form["type"] == "boolean":
        return "true or false"
    noun = "a whole number" if form["type"] == "integer" else "a number"
    if "exclusiveMinimum" in form:
        return f"{noun} above {form['exclusiveMinimum']}, at most {form['maximum']}"
    return f"{noun} from {form['minimum']} to {form['maximum']}"


def example_toml(given: Mapping[str, Any] | None = None) -> str:
    """Return the documented example; with `given`, `section.key` to plain value, those are set in it."""
    parts = [_HEAD]
    for section, field in Settings.model_fields.items():
        model: Any = field.annotation
        parts.append(_toml_section(section, model, given or {}))
    return "\n".join(parts)


def _toml_section(section: str, model: type[BaseModel], given: Mapping[str, Any]) -> str:
    entries = [_toml_entry(entry, given) for entry in reference().values() if entry.section == section]
    meaning = (model.__doc__ or "").strip()
    return "\n".join([f"# {meaning}", f"[{section}]", *entries]) + "\n"


def _toml_entry(entry: KeyReference, given: Mapping[str, Any]) -> str:
    default = "none, it must be set" if entry.required else "not set" if entry.default is None else _toml(entry.default)
    text = (entry.description, f"Default: {default}. Allowed: {entry.allowed}.")
    comment = [f"# {line}" for part in text for line in wrap(part, _WIDTH, break_long_words=False)]
    shown = given.get(entry.dotted, entry.example if entry.default is None else entry.default)
    line = f"{entry.key} = {_toml(shown)}"
    is_set = entry.required or entry.default is not None or entry.dotted in given
    return "\n".join([*comment, line if is_set else f"# {line}"])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_toml(item)}' for key, item in value.items())} }}"
    return json.dumps(value)  # for all other types TOML and JSON write alike
