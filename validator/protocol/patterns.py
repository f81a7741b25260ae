"""Patterns of policy rules, as analyses spell them: one form for each resource, and `*` for all others."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final

ANY: Final = "*"
MAX_PATTERN: Final = 256  # characters; what is longer is no pattern that anyone could enforce
_NO_HOST: Final = re.compile(r"[/:@?#*\s\[\]]")
_NO_VARIABLE: Final = re.compile(r"[=${}*\s]")
_NO_NAME: Final = re.compile(r"[(){}*\s]")


def pattern_fault(resource: str, pattern: str) -> str:
    """Return why no analysis writes this pattern of a known resource, a verb phrase; empty for one that can be written.

    What a bundle spells in another way has no pattern, and is meant by the rule for `*`.
    """
    if not pattern:
        return "is empty: a use without a pattern stands under `*`"
    if len(pattern) > MAX_PATTERN:
        return f"is longer than {MAX_PATTERN} characters: such a use stands under `*`"
    return "" if pattern == ANY else _FAULTS[resource](pattern)


def _host(pattern: str) -> str:
    if pattern != pattern.lower():
        return "is no host as analyses write it: they are in lower case"
    try:
        ipaddress.ip_address(pattern)
    except ValueError:
        return "is no host: no scheme, port, path or `*` belongs to one" if _NO_HOST.search(pattern) else ""
    return ""


def _program(pattern: str) -> str:
    if "/" in pattern:
        return "has a folder: a program is written without its own"
    blank = len(pattern.split()) != 1 or pattern != pattern.strip()
    return "has blanks: a program is written without its arguments" if blank else ""


def _path(pattern: str) -> str:
    return "has a line break: no path has" if "\n" in pattern else ""


def _variable(pattern: str) -> str:
    return "is no variable: its name alone is written, without `$` or a value" if _NO_VARIABLE.search(pattern) else ""


def _name(pattern: str) -> str:
    return "is no function or module: its name alone is written" if _NO_NAME.search(pattern) else ""


_FAULTS: Final[Mapping[str, Callable[[str], str]]] = {
    "network": _host,
    "process": _program,
    "file_read": _path,
    "file_write": _path,
    "environment": _variable,
    "code": _name,
}
