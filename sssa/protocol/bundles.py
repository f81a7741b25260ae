"""Skill bundles: their files, their index, and the canary marker (SPEC 5, 13)."""

from collections.abc import Mapping
from typing import Any

from sssa.protocol import limits
from sssa.protocol.answer import canary_line
from sssa.protocol.archives import ArchiveError, pack, tar_bound, tar_end, tar_pieces
from sssa.protocol.sssa import Document, EvidenceRef
from sssa.protocol.strict_archives import gunzip, read_tar
from sssa.protocol.strict_json import JsonError, decode_plain
from sssa.protocol.text import printable

_PACK_AGAIN = "extract it, look at its files, and pack them again: `validator tasks pack FOLDER`"


class IndexEntry(Document, frozen=True):
    """One file of a bundle: its size in bytes and its number of lines."""

    path: str
    size: int
    lines: int


def read_bundle(data: bytes) -> dict[str, bytes]:
    """Return the files of a bundle by path, sorted.

    Raises:
        ArchiveError: over a limit of SPEC 13, or not exactly what packing its files gives, the deflate stream aside.
    """
    if len(data) > limits.MAX_BUNDLE_COMPRESSED:
        raise ArchiveError(f"{len(data)} compressed bytes, at most {limits.MAX_BUNDLE_COMPRESSED}")
    expanded, entries = min(limits.MAX_BUNDLE_EXPANDED, len(data) * limits.MAX_BUNDLE_RATIO), limits.MAX_BUNDLE_ENTRIES
    try:
        raw = gunzip(data, tar_bound(expanded, entries))
        files = read_tar(raw, expanded=expanded, entries=entries)
    except ArchiveError as error:
        raise type(error)(f"no canonical bundle: {error.detail}; {_PACK_AGAIN}") from None
    if large := [name for name, content in files.items() if len(content) > limits.MAX_BUNDLE_FILE]:
        raise ArchiveError(f"`{printable(large[0])}` has more than {limits.MAX_BUNDLE_FILE} bytes")
    at = 0
    for piece in tar_pieces(files):
        at = at + len(piece) if raw.startswith(piece, at) else len(raw)
    if raw[at:] != tar_end(at):
        raise ArchiveError(f"no canonical bundle: its tar is not the one that packing its files gives; {_PACK_AGAIN}")
    return files


def count_lines(content: bytes) -> int:
    """Return the newline count, one more for an unterminated last line (SPEC 13)."""
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))


def index_bundle(files: Mapping[str, bytes]) -> tuple[IndexEntry, ...]:
    """Return the bundle's index, sorted by path."""
    return tuple(IndexEntry(path, len(files[path]), count_lines(files[path])) for path in sorted(files))


def evidence_resolves(ref: EvidenceRef, line_counts: Mapping[str, int]) -> bool:
    """Return whether the file and its lines exist (SPEC 6, epsilon); `line_counts` maps path to number of lines."""
    lines = line_counts.get(ref.path)
    return lines is not None and (ref.last is None or ref.last <= lines)


def with_canary(files: Mapping[str, bytes], path: str, nonce: str) -> bytes:
    """Return the bundle packed again with the nonce's marker as the last line of `path` (SPEC 5).

    Compression begins anew at the marker and behind it, so that bundles with other markers have all other bytes alike.

    Raises:
        ArchiveError: the bundle has no such file.
    """
    if path not in files:
        raise ArchiveError(f"the canary's file `{path}` is not in the bundle")
    content = files[path]
    gap = b"" if not content or content.endswith(b"\n") else b"\n"
    marked = content + gap + canary_line(nonce, path).encode() + b"\n"
    return pack({**files, path: marked}, anew=(path, len(content)))


def json_object(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """Return the JSON object in a file of a bundle; an empty one where there is none, or more than 1 MiB."""
    try:
        document = decode_plain(files.get(name, b"{}"), limit=limits.MIB)
    except JsonError:
        return {}
    return document if isinstance(document, dict) else {}
