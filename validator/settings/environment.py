"""Settings from the environment: `VALIDATOR_SECTION__KEY`; with `_FILE` behind it, the name of a file that holds it.

Variables that were meant to set something and do not, such as `VALIDATOR_STORE_URL`, are refused.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from validator.files import one_line, read_at_most
from validator.protocol.text import printable
from validator.settings.reference import KeyReference, reference

PREFIX: Final = "VALIDATOR_"
FILE: Final = "_FILE"
CONFIG_VARIABLE: Final = "VALIDATOR_CONFIG"
# Kubernetes sets these in every container beside a service that is called `validator`.
_PLATFORM: Final = ("VALIDATOR_PORT", "VALIDATOR_SERVICE_")
_MAX_SECRET: Final = 64 * 1024
_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False}

Override = tuple[str, Any]


def read_environment(environ: Mapping[str, str]) -> tuple[dict[str, Override], list[str]]:
    """Return ({dotted key: (variable, value)}, problems).

    A value is converted to the key's type where it has its form and left as text where it has not: the model then
    says what is allowed. Variables without `__` are not ours (container platforms set names such as VALIDATOR_PORT),
    unless they are a setting's but for its underscores or its section: those are problems.
    """
    known = {entry.variable: entry for entry in reference().values()}
    found: dict[str, Override] = {}
    problems = [
        f"{printable(name, 80)}: sets nothing; did you mean {variable}?"
        for name in sorted(environ)
        if (variable := meant(name)) is not None
    ]
    for variable in sorted(name for name in environ if name.startswith(PREFIX) and "__" in name):
        entry = known.get(variable) or known.get(variable.removesuffix(FILE))
        shown = printable(variable, 80)
        if entry is None:
            problems.append(f"{shown}: sets no known setting")
        elif entry.dotted in found:
            problems.append(f"{shown}: {entry.dotted} is set by {entry.variable} too; one of the two must go")
        elif not environ[variable].isprintable():
            problems.append(f"{shown}: {entry.dotted}: holds control characters or bytes that are not UTF-8")
        elif variable in known:
            found[entry.dotted] = (shown, _convert(environ[variable], entry))
        else:
            try:
                found[entry.dotted] = (shown, _convert(_read_secret(environ[variable]), entry))
            except (OSError, ValueError) as error:
                reason = _unusable(environ[variable], error, entry) if isinstance(error, OSError) else str(error)
                problems.append(f"{shown}: {entry.dotted}: the file it names cannot be used: {reason}")
    return found, problems


def _unusable(name: str, error: OSError, entry: KeyReference) -> str:
    """Say what keeps the file from being read, but no name that may be the secret itself in the wrong variable."""
    folder = Path(name).parent
    there = any(part.strip("/") for part in folder.parts) and folder.is_dir()
    hidden = entry.secret and not there and entry.pattern and re.fullmatch(entry.pattern, name)
    shown = f"a name that is not shown, as it may be {entry.dotted} itself" if hidden else printable(name)
    return f"{error.strerror}: {shown} (as user {os.getuid()})"


def _read_secret(name: str) -> str:
    if "://" in name:  # it may hold a password
        raise ValueError("this is a url, not a file's name; write the url into a file and name that")
    data = read_at_most(Path(name), _MAX_SECRET)
    if len(data) > _MAX_SECRET:
        raise ValueError(f"larger than {_MAX_SECRET} bytes")
    return one_line(data.strip()).strip()


def _convert(text: str, entry: KeyReference) -> Any:
    converters: dict[str, Callable[[str], Any]] = {
        "integer": int,
        "number": float,
        "boolean": lambda value: _BOOLEANS.get(value.lower(), value),
        "object": json.loads,
        "array": lambda value: [item.strip() for item in value.split(",")],
    }
    try:
        return converters.get(entry.kind, str)(text)
    except (ValueError, RecursionError):
        return text


def meant(name: str) -> str | None:
    """Return the variable that sets what `name` was meant to, None where nothing says so.

    That is the same name with one underscore where two belong, in lower case, or a key without its section where one
    section alone has that key; with `_FILE` behind it, too.
    """
    upper = name.upper()
    if not upper.startswith(PREFIX) or _of_a_platform(upper):
        return None
    if upper != name:
        return upper if _sets(upper) else meant(upper)
    if "__" in name:
        return None
    end = FILE if name.endswith(FILE) and name not in _close() else ""
    variable = _close().get(name.removesuffix(end))
    return None if variable is None else variable + end


def strangers(environ: Mapping[str, str]) -> list[str]:
    """Return the variables that begin as ours do, set nothing, and are no container platform's; sorted."""
    return sorted(
        name
        for name in environ
        if name.upper().startswith(PREFIX) and not _sets(name) and not _of_a_platform(name.upper())
    )


def _sets(name: str) -> bool:
    known = {entry.variable for entry in reference().values()}
    return name == CONFIG_VARIABLE or bool({name, name.removesuffix(FILE)} & known)


def _of_a_platform(name: str) -> bool:
    return name == _PLATFORM[0] or name.startswith((f"{_PLATFORM[0]}_", _PLATFORM[1]))


@cache
def _close() -> Mapping[str, str]:
    """Return what a variable may be mistaken for, to the variable."""
    entries = list(reference().values())
    sections = Counter(entry.key for entry in entries)
    without = {f"{PREFIX}{one.key.upper()}": one.variable for one in entries if sections[one.key] == 1}
    return without | {one.variable.replace("__", "_"): one.variable for one in entries}
