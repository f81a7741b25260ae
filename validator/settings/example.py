"""config/validator.toml, made from the settings themselves so that it can neither lie nor lag."""

import json
from collections.abc import Mapping
from textwrap import wrap
from typing import Any, Final

from pydantic import BaseModel

from validator.settings.model import Settings
from validator.settings.reference import KeyReference, reference

_HEAD: Final = """\
# Settings of the validator: every key with its default. A key with a # in front is not set; its value is an example.
# Read from --config FILE, else $VALIDATOR_CONFIG, else ./validator.toml. Relative paths start at the working folder.
# An environment variable wins over this file: VALIDATOR_STORE__URL sets url in [store], and VALIDATOR_STORE__URL_FILE
# names a file that holds it. How answers are scored is part of the program's version and cannot be set.
"""
_WIDTH: Final = 110


def example_toml(given: Mapping[str, Any] | None = None) -> str:
    """Return the documented example; with `given`, `section.key` to plain value, those are set in it."""
    parts = [_HEAD]
    for section, field in Settings.model_fields.items():
        model: Any = field.annotation
        parts.append(_section(section, model, given or {}))
    return "\n".join(parts)


def _section(section: str, model: type[BaseModel], given: Mapping[str, Any]) -> str:
    entries = [_entry(entry, given) for entry in reference().values() if entry.section == section]
    meaning = (model.__doc__ or "").strip()
    return "\n".join([f"# {meaning}", f"[{section}]", *entries]) + "\n"


def _entry(entry: KeyReference, given: Mapping[str, Any]) -> str:
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
