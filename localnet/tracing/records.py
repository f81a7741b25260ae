"""Trace records and their packed form (SPEC 5)."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from validator.protocol.archives import pack
from validator.protocol.canonical import canonical_bytes
from validator.protocol.errors import ValidatorError
from validator.protocol.skill_types import SkillType, trace_names

Record = dict[str, Any]
Records = dict[str, list[Record]]

_FIELDS: Final[dict[str, frozenset[str]]] = {
    "network": frozenset({"domain", "dst_ip", "dst_port", "proto"}),
    "fs": frozenset({"op", "path"}),
    "process": frozenset({"cmd"}),
    "secrets": frozenset({"type", "pattern"}),
    "imports": frozenset({"module"}),
    "shell_commands": frozenset({"cmd"}),
    "tool_calls": frozenset({"tool_name"}),
    "agent_calls": frozenset({"caller", "callee"}),
}
_MAX_TEXT: Final = 4_096


class TracingError(ValidatorError):
    """The run could not be traced."""


def empty_records(skill_type: SkillType) -> Records:
    """Return the type's trace names, each without records; {} for content types."""
    return {name: [] for name in trace_names(skill_type)}


def is_record(name: object, fields: object) -> bool:
    """Whether this is a record of a known trace: its own fields only, short text or numbers, a `ts`."""
    if not isinstance(name, str) or name not in _FIELDS or not isinstance(fields, dict):
        return False
    rest = {key: value for key, value in fields.items() if key != "ts"}
    return (
        type(fields.get("ts")) is float
        and rest.keys() <= _FIELDS[name]
        and all(value is None or type(value) is int or _is_text(value) for value in rest.values())
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_TEXT


def merge(into: Records, more: Mapping[str, Iterable[Record]]) -> None:
    """Add the records of those traces that `into` has; the others are dropped."""
    for name, records in more.items():
        if name in into:
            into[name].extend(records)


def trace_files(records: Records) -> dict[str, bytes]:
    """Return `<name>.jsonl` for every trace, one canonical JSON line per record."""
    return {f"{name}.jsonl": b"".join(_lines(entries, b"\n")) for name, entries in records.items()}


def pack_traces(records: Records) -> bytes:
    """Return the trace bundle: a gzip tar of the trace files."""
    return pack(trace_files(records))


def trace_hashes(records: Records) -> dict[str, str]:
    """Return trace name to `sha256:<hex>`, as the validator computes them from the bundle (SPEC 5)."""
    return {
        name: "sha256:" + hashlib.sha256(b"\n".join(_lines(entries, b""))).hexdigest()
        for name, entries in records.items()
    }


def _lines(entries: list[Record], end: bytes) -> list[bytes]:
    ordered = sorted((entry["ts"], canonical_bytes(entry)) for entry in entries)
    return [line + end for _, line in ordered]
