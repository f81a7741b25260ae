"""Words and patterns of analyses, for the reference miner, for checks of tasks and for the docs.

Scoring compares these words as they are spelled (SPEC 4), and takes any: an analysis that uses others is never agreed
with. Categories are closed by the document's form (SPEC 2), and described here; capabilities, and resources and
actions of policy rules, are closed here. A pattern of a rule has one form for each resource, and `*` for all others.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from sssa.protocol.sssa import Category

_OF_CATEGORIES: Final[dict[Category, str]] = {
    "prompt_injection": "text in a document or a prompt that gives the model orders",
    "secrets_exposure": "a secret is written into a file, read, or sent away",
    "excessive_capability": "code can do more than its purpose needs, or hands control to somebody else",
    "dependency_cve": "a pinned dependency has a known advisory",
    "tool_poisoning": "a tool's description gives orders, or says other things than the manifest",
    "transitive_risk": "a composition takes over what is wrong with a child",
    "canary_match": "the marker of this dispatch",
    "other": "whatever else a reader should know, what was not read among it",
}
CATEGORIES: Final = MappingProxyType(_OF_CATEGORIES)

NETWORK: Final = "network"
SUBPROCESS: Final = "subprocess"
FILE_READ: Final = "file_read"
FILE_WRITE: Final = "file_write"
FILE_DELETE: Final = "file_delete"
ENV_READ: Final = "env_read"
DYNAMIC_CODE: Final = "dynamic_code"
SERIALIZATION: Final = "serialization"
NATIVE_CODE: Final = "native_code"
LINKS: Final = "external_links"

CAPABILITIES: Final = MappingProxyType(
    {
        NETWORK: "opens connections, or asks name services",
        SUBPROCESS: "starts programs",
        FILE_READ: "reads files or folders",
        FILE_WRITE: "makes or changes files or folders",
        FILE_DELETE: "removes files or folders",
        ENV_READ: "reads variables of the environment",
        DYNAMIC_CODE: "runs code that is text at run time, or imports by a computed name",
        SERIALIZATION: "reads a format that can name code or types",
        NATIVE_CODE: "loads native libraries",
        LINKS: "documents only: hosts that a reader may be led to",
    }
)
# What a skill can do harm with beyond its own folder: worth a look when nobody declared it.
POWERFUL: Final = frozenset({NETWORK, SUBPROCESS, DYNAMIC_CODE, NATIVE_CODE, FILE_DELETE, ENV_READ})


class Resource(NamedTuple):
    """Resource of a policy rule.

    Attributes:
        capabilities: whose uses make its rules.
        pattern: what its patterns are; `*` stands for all others.
    """

    capabilities: tuple[str, ...]
    pattern: str


RESOURCES: Final = MappingProxyType(
    {
        "network": Resource((NETWORK, LINKS), "a host, lower case"),
        "process": Resource((SUBPROCESS,), "a program, without its folder"),
        "file_read": Resource((FILE_READ,), "a path as the source spells it"),
        "file_write": Resource((FILE_WRITE, FILE_DELETE), "a path as the source spells it"),
        "environment": Resource((ENV_READ,), "a variable's name"),
        "code": Resource((DYNAMIC_CODE, NATIVE_CODE, SERIALIZATION), "a function or a module"),
    }
)
RESOURCE_OF: Final = MappingProxyType({use: name for name, one in RESOURCES.items() for use in one.capabilities})
ACTIONS: Final = MappingProxyType(
    {
        "allow": "a pattern that is in use",
        "deny": "a pattern in use that a severe finding is about; `*` where no use is without a pattern",
        "review": "`*` alone: some use has no pattern that the source spells out",
    }
)


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
        return "is empty: a use without a pattern is under `*`"
    if len(pattern) > MAX_PATTERN:
        return f"is longer than {MAX_PATTERN} characters: such a use is under `*`"
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
