"""Variables that were meant to set something and do not: `VALIDATOR_STORE_URL`, `validator_store__url`."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Final

from validator.settings.reference import reference

PREFIX: Final = "VALIDATOR_"
FILE: Final = "_FILE"
CONFIG_VARIABLE: Final = "VALIDATOR_CONFIG"
# Kubernetes sets these in every container beside a service that is called `validator`.
_PLATFORM: Final = ("VALIDATOR_PORT", "VALIDATOR_SERVICE_")


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
