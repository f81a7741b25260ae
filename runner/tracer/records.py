"""Trace records as values: the fields of each type, merging, the content of `.jsonl` files (SPEC 5). No I/O."""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

Record = dict[str, Any]
Records = dict[str, list[Record]]

_BASE: Final = ("network", "fs", "process", "secrets")
TRACES: Final[Mapping[str, tuple[str, ...]]] = {
    "executable_python": (*_BASE, "imports"),
    "executable_script": (*_BASE, "shell_commands"),
    "mcp_server": (*_BASE, "tool_calls"),
    "agent_composition": (*_BASE, "agent_calls"),
}
"""The trace files of each runtime type."""

FIELDS: Final[Mapping[str, frozenset[str]]] = {
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


class TracingError(Exception):
    """The run could not be traced."""


class Probes(NamedTuple):
    """Probes that a run performs before the bundle (SPEC 5)."""

    file_path: str
    file_content: str
    dns_host: str
    process_echo: str

    @classmethod
    def of(cls, slug: str) -> "Probes":
        """Return the probes of the first 8 hex digits of a nonce."""
        path = f"/tmp/sssa/probe-{slug}.txt"  # noqa: S108 - the protocol's path
        return cls(path, f"{slug}probe", f"{slug}.probe.sssa.invalid", f"{slug}probe-echo")


def empty_records(skill_type: str) -> Records:
    """Return the type's trace names, each without records; {} for content types."""
    return {name: [] for name in TRACES.get(skill_type, ())}


def is_record(name: object, fields: object) -> bool:
    """Return whether this is a record of a known trace: its own fields only, short text or numbers, a `ts`."""
    if not isinstance(name, str) or name not in FIELDS or not isinstance(fields, dict):
        return False
    rest = {key: value for key, value in fields.items() if key != "ts"}
    ts = fields.get("ts")
    return (
        isinstance(ts, float)
        and isfinite(ts)
        and rest.keys() <= FIELDS[name]
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
    """Return `<name>.jsonl` for every trace, one JSON line per record, ordered by time."""
    return {f"{name}.jsonl": b"".join(sorted_lines(entries)) for name, entries in records.items()}


def sorted_lines(entries: list[Record]) -> list[bytes]:
    """Return the records as lines, ordered by time and then by their bytes."""
    return [line for _, line in sorted((entry["ts"], _line(entry)) for entry in entries)]


def _line(entry: Record) -> bytes:
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"
