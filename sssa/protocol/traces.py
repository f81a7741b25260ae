"""Trace bundles: hashes, semantic signatures, probe sightings (SPEC 5)."""

import base64
import binascii
import hashlib
import io
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from sssa.protocol import limits
from sssa.protocol.answer import ProbeEvidence
from sssa.protocol.archives import ArchiveError, ArchiveTooLargeError, unpack
from sssa.protocol.bundles import count_lines
from sssa.protocol.canonical import NotCanonicalError, canonical_plain
from sssa.protocol.errors import ValidatorError
from sssa.protocol.execution import SHOWN_CHARACTERS
from sssa.protocol.skill_types import SkillType, trace_names
from sssa.protocol.strict_json import JsonError, count_values, nesting_exceeds, parse_untyped
from sssa.protocol.text import printable

SIGNATURE_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "network": ("domain", "dst_port", "proto"),
    "fs": ("op", "path"),
    "process": ("cmd",),
    "secrets": ("type", "pattern"),
    "imports": ("module",),
    "shell_commands": ("cmd",),
    "tool_calls": ("tool_name",),
    "agent_calls": ("caller", "callee"),
}
_DIGITS: Final = re.compile("[0-9]+")
_TAR_ENTRIES = 64  # the files, perhaps folders; more is no trace bundle


class TracesError(ValidatorError):
    """The trace bundle is undecodable."""


class TracesTooLargeError(TracesError):
    """The trace bundle is over its limits."""


class ProbesSeen(NamedTuple):
    """Presence of each of the three probes in the traces."""

    fs: bool = False
    network: bool = False
    process: bool = False


class Traces(NamedTuple):
    """The parts of a trace bundle that scoring needs.

    Attributes:
        hashes: trace name to `sha256:<hex>`, every required name.
        signatures: trace name to the set of 16-byte digests of its records' semantic signatures.
        shell_commands: the `cmd` strings of the shell_commands trace.
        probes: which probes were seen.
        probe_signatures: trace name to the signatures of the records that showed them.
    """

    hashes: dict[str, str]
    signatures: dict[str, frozenset[bytes]]
    shell_commands: frozenset[str]
    probes: ProbesSeen
    probe_signatures: dict[str, frozenset[bytes]]


def decode_trace_text(text: str) -> bytes:
    """Return the bytes behind the answer's `trace_bundle` (standard padded base64).

    Raises:
        TracesTooLargeError: over the compressed cap, judged before decoding.
        TracesError: not base64.
    """
    if len(text) > 4 * -(-limits.MAX_TRACES_COMPRESSED // 3):
        raise TracesTooLargeError(f"at most {limits.MAX_TRACES_COMPRESSED} compressed bytes")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise TracesError("not standard padded base64") from None


def read_traces(data: bytes, skill_type: SkillType, probes: ProbeEvidence) -> Traces:
    """Return the hashes, signatures and probe sightings of a runtime type's trace bundle.

    Raises:
        TracesTooLargeError: over a cap of SPEC 5.
        TracesError: damaged, a required file missing, a file too many, a record that is no JSON object
            with numeric `ts`.
    """
    if len(data) > limits.MAX_TRACES_COMPRESSED:
        raise TracesTooLargeError(f"{len(data)} compressed bytes, at most {limits.MAX_TRACES_COMPRESSED}")
    reader = _Reader(skill_type, probes)
    try:
        for name, content in unpack(
            data,
            expanded=limits.MAX_TRACES_EXPANDED,
            file_size=limits.MAX_TRACES_EXPANDED,
            entries=_TAR_ENTRIES,
        ):
            reader.read_file(name, content)
    except ArchiveError as error:
        kind = TracesTooLargeError if isinstance(error, ArchiveTooLargeError) else TracesError
        raise kind(error.detail) from None
    return reader.result()


def shown_signatures(data: bytes, wanted: Mapping[str, Collection[bytes]]) -> dict[str, tuple[str, ...]]:
    """Return signatures of a bundle that was read before, in words: printable JSON, cut, sorted.

    Args:
        data: what `read_traces` accepted.
        wanted: trace name to digests of signatures in it.
    """
    texts_of: dict[str, set[str]] = {name: set() for name in wanted}
    wanted_digests = {name: set(digests) for name, digests in wanted.items() if digests}
    for name, record in _records(data, wanted_digests):
        one = signature_of(name, record)
        for signature in (one, digitless(one)) if wanted_digests[name] else ():
            canonical = canonical_plain(signature)
            if (digest := _digest(canonical)) in wanted_digests[name]:
                wanted_digests[name].discard(digest)
                texts_of[name].add(printable(canonical.decode(), SHOWN_CHARACTERS))
    return {name: tuple(sorted(texts)) for name, texts in texts_of.items()}


def digitless_digests(data: bytes, names: Collection[str]) -> dict[bytes, bytes]:
    """Return the digest of the `#` form of each signature of a bundle that was read before, by its digest (SPEC 15)."""
    signatures = (signature_of(name, record) for name, record in _records(data, names))
    return {_digest(canonical_plain(one)): _digest(canonical_plain(digitless(one))) for one in signatures}


def digitless(signature: list[Any]) -> list[Any]:
    """Return a signature's `#` form: `#` for each run of ASCII digits in its texts (SPEC 15)."""
    return [_DIGITS.sub("#", part) if isinstance(part, str) else part for part in signature]


def _records(data: bytes, names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of these traces of a bundle that was read before."""
    for file_name, content in unpack(
        data, expanded=limits.MAX_TRACES_EXPANDED, file_size=limits.MAX_TRACES_EXPANDED, entries=_TAR_ENTRIES
    ):
        name = file_name.removesuffix(".jsonl")
        for line in io.BytesIO(content) if name in names else ():
            yield name, parse_untyped(line)


def signature_of(name: str, record: dict[str, Any]) -> list[Any]:
    """Return the record's semantic signature: the fields that say what happened, None where missing (SPEC 5)."""
    if name == "network":
        target = record.get("domain") or record.get("dst_ip")
        return [target, record.get("dst_port"), record.get("proto")]
    return [record.get(field) for field in SIGNATURE_FIELDS[name]]


def signature_digest(name: str, record: dict[str, Any]) -> bytes:
    """Return the first 16 bytes of the sha256 of the signature's canonical bytes: equal sets, a bounded size."""
    return _digest(canonical_plain(signature_of(name, record)))


def _digest(canonical: bytes) -> bytes:
    return hashlib.sha256(canonical).digest()[:16]


class _Reader:
    """Collects one bundle's files, record by record."""

    def __init__(self, skill_type: SkillType, probes: ProbeEvidence) -> None:
        self.required = trace_names(skill_type)
        self.probes = probes
        self.records = 0
        self.values = 0
        self.hashes: dict[str, str] = {}
        self.signatures: dict[str, frozenset[bytes]] = {}
        self.shell_commands: set[str] = set()
        self.of_probes: dict[str, set[bytes]] = {name: set() for name in self.required}

    def read_file(self, file_name: str, content: bytes) -> None:
        name = file_name.removesuffix(".jsonl")
        if name == file_name or name not in self.required:
            raise TracesError("a file that is none of " + ", ".join(f"{n}.jsonl" for n in self.required))
        self._count(content)
        ordered: list[tuple[float, bytes]] = []
        signatures: set[bytes] = set()
        for number, line in enumerate(io.BytesIO(content), start=1):
            record, canonical = _record(line, name, number)
            ordered.append((record["ts"], canonical))
            digest = signature_digest(name, record)
            signatures.add(digest)
            if self._shows_probe(name, record):
                self.of_probes[name].add(digest)
            if name == "shell_commands" and isinstance(record.get("cmd"), str):
                self.shell_commands.add(record["cmd"])
        ordered.sort()
        self.hashes[name] = "sha256:" + _hash_lines(line for _, line in ordered)
        self.signatures[name] = frozenset(signatures)

    def _count(self, content: bytes) -> None:
        """Refuse a file that takes the bundle over its records or values before any line of it is parsed."""
        records = count_lines(content)
        self.records += records
        if self.records > limits.MAX_TRACE_RECORDS:
            raise TracesTooLargeError(f"more than {limits.MAX_TRACE_RECORDS} records")
        self.values += count_values(content)
        if self.values > limits.MAX_TRACE_VALUES:
            raise TracesTooLargeError(f"more than {limits.MAX_TRACE_VALUES} values in all records")

    def _shows_probe(self, name: str, record: dict[str, Any]) -> bool:
        if name == "fs":
            return bool(record.get("path") == self.probes.file_path)
        if name == "network":
            return bool(record.get("domain") == self.probes.dns_host)
        return name == "process" and self.probes.process_echo in str(record.get("cmd"))

    def result(self) -> Traces:
        if missing := [name for name in self.required if name not in self.hashes]:
            raise TracesError("missing: " + ", ".join(f"{name}.jsonl" for name in missing))
        shown = {name: frozenset(digests) for name, digests in self.of_probes.items()}
        seen = ProbesSeen(bool(shown["fs"]), bool(shown["network"]), bool(shown["process"]))
        return Traces(self.hashes, self.signatures, frozenset(self.shell_commands), seen, shown)


def _hash_lines(lines: Iterator[bytes]) -> str:
    whole = hashlib.sha256(next(lines, b""))
    for line in lines:
        whole.update(b"\n")
        whole.update(line)
    return whole.hexdigest()


def _record(line: bytes, name: str, number: int) -> tuple[dict[str, Any], bytes]:
    where = f"{name}.jsonl line {number}"
    if len(line) > limits.MAX_TRACE_LINE:
        raise TracesTooLargeError(f"{where}: {len(line)} bytes, at most {limits.MAX_TRACE_LINE}")
    if nesting_exceeds(line, limits.MAX_JSON_DEPTH):
        raise TracesError(f"{where}: more than {limits.MAX_JSON_DEPTH} levels")
    try:
        record = parse_untyped(line)
        canonical = canonical_plain(record)  # refuses the infinities that the parser lets through
    except (JsonError, NotCanonicalError) as error:
        raise TracesError(f"{where}: {error}") from None
    if not isinstance(record, dict) or type(record.get("ts")) not in (int, float):
        raise TracesError(f"{where}: not an object with a numeric `ts`")
    return record, canonical
