"""Plain reimplementations of optimized functions: references for comparison."""

import re
from typing import Any, cast

import msgspec
import rfc8785

from sssa.protocol.round import Components
from sssa.protocol.sssa import EvidenceRefError
from sssa.scoring import Claims

_LINES = re.compile(r"L([1-9][0-9]{0,8})(?:-L([1-9][0-9]{0,8}))?", re.ASCII)


def canonical(value: Any) -> bytes:
    """RFC 8785 of a document's or value's plain form."""
    return rfc8785.dumps(msgspec.to_builtins(value))


def signed_bytes(document: Any) -> bytes:
    """RFC 8785 of the document without its signature's value."""
    plain = msgspec.to_builtins(document)
    del plain["signature"]["value"]
    return rfc8785.dumps(plain)


def evidence_form(text: str) -> str:
    """The normal form of an evidence reference, step by step through the grammar (SPEC 3, D-1)."""
    span, separator, rest = text.partition("::")
    if not separator:
        rest = text
    elif not re.fullmatch(r"[A-Za-z0-9_.\-]{1,64}", span, re.ASCII):
        raise EvidenceRefError("span")
    path, hash_sign, lines = rest.partition("#")
    segments = [segment for segment in path.split("/") if segment not in {"", "."}]
    if path.startswith("/") or "\\" in path or ".." in segments or not segments:
        raise EvidenceRefError("path")
    if not hash_sign:
        return "/".join(segments)
    match = _LINES.fullmatch(lines)
    if match is None or (match[2] and int(match[1]) > int(match[2])):
        raise EvidenceRefError("lines")
    return f"{'/'.join(segments)}#L{match[1]}-L{match[2] or match[1]}"


def components(mine: Claims, group: Claims) -> Components:
    """The seven components as SPEC 4 has them, in sets."""

    def recall(own: frozenset[Any], theirs: frozenset[Any]) -> float:
        return len(own & theirs) / len(theirs) if theirs else 1.0

    def jaccard(own: frozenset[Any], theirs: frozenset[Any]) -> float:
        return len(own & theirs) / len(own | theirs) if own | theirs else 1.0

    empty = 0.0 if group.findings else 1.0
    return Components(
        recall(mine.findings, group.findings),
        recall(group.findings, mine.findings) if mine.findings else empty,
        1.0 if mine.verdict == group.verdict else 0.5 if mine.verdict == "REVIEW" else 0.0,
        jaccard(mine.capabilities, group.capabilities),
        max(0.0, 1.0 - abs(mine.risk - group.risk)),
        0.5 * recall(mine.dependencies, group.dependencies) + 0.5 * recall(mine.cves, group.cves),
        jaccard(mine.rules, group.rules),
    )


def score(parts: Components) -> float:
    """The weighted sum in the table's order (SPEC 4)."""
    weights = (0.30, 0.15, 0.15, 0.15, 0.10, 0.10, 0.05)
    total = 0.0
    for weight, value in zip(weights, cast("tuple[float, ...]", msgspec.structs.astuple(parts)), strict=True):
        total += weight * value
    return total
