"""The words that analyses say things with: closed lists, for the reference miner, for checks of tasks and for the docs.

Scoring compares these words as they are spelled (SPEC 4), and takes any: an analysis that uses others is never agreed
with. Categories are closed by the document's form (SPEC 2), and said here in words; capabilities, and resources and
actions of policy rules, are closed here.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from validator.protocol.sssa import Category

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
    """What a policy rule is about.

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
ACTIONS: Final = MappingProxyType(
    {
        "allow": "a pattern that is in use",
        "deny": "a pattern in use that a severe finding is about; `*` where no use is without a pattern",
        "review": "`*` alone: some use has no pattern that the source spells out",
    }
)
