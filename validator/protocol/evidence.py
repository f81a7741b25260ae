"""The grammar of evidence references (SPEC 3, D-1)."""

import re
from typing import Final, NamedTuple

from validator.protocol.errors import ValidatorError

_SPAN_ID = re.compile(r"[A-Za-z0-9_.\-]{1,64}", re.ASCII)
# What nearly every reference is: nothing has to be taken out of it, and only the order of the lines can be wrong.
_ORDINARY: Final = re.compile(
    r"(?:[A-Za-z0-9_.\-]{1,64}+::)?+"
    r"((?:[A-Za-z0-9_\-][A-Za-z0-9_.\-]*+/)*+[A-Za-z0-9_\-][A-Za-z0-9_.\-]*+"
    r"(?:#L([1-9][0-9]{0,8}+)(?:-L([1-9][0-9]{0,8}+))?+)?+)"
)
_LINES = re.compile(r"L([1-9][0-9]{0,8})(?:-L([1-9][0-9]{0,8}))?", re.ASCII)


class EvidenceRefError(ValidatorError):
    """An evidence reference does not follow `[span_id::]path[#La[-Lb]]`."""


class EvidenceRef(NamedTuple):
    """A place in a bundle.

    Attributes:
        path: relative path, normalised.
        first: first line, from 1; None when the whole file is meant.
        last: last line, inclusive; None when the whole file is meant.
    """

    path: str
    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        """Return the normal form without a span prefix."""
        return self.path if self.first is None else f"{self.path}#L{self.first}-L{self.last}"


def ordinary_form(text: str) -> str | None:
    """Return the normal form of a reference as nearly all are: ASCII without `%` and `|`. None: it has to be parsed."""
    found = _ORDINARY.fullmatch(text)
    if found is None:
        return None
    place: str
    place, first, last = found.groups()
    if last is None:
        return place if first is None else f"{place}-L{first}"
    return place if int(first) <= int(last) else None


def parse_evidence_ref(text: str) -> EvidenceRef:
    """Return the place that `text` names, its span prefix dropped (D-1).

    Raises:
        EvidenceRefError: the text is outside the grammar; the message says where.
    """
    ordinary = ordinary_form(text)
    if ordinary is not None:
        path, _, lines = ordinary.partition("#L")
        first, _, last = lines.partition("-L")
        return EvidenceRef(path, int(first), int(last)) if lines else EvidenceRef(path)
    span, separator, rest = text.partition("::")
    if not separator:
        rest = text
    elif not _SPAN_ID.fullmatch(span):
        raise EvidenceRefError("what stands before `::` must be 1 to 64 of A-Z a-z 0-9 _ . -")
    path, hash_sign, lines = rest.partition("#")
    return EvidenceRef(_normal_path(path), *(_line_range(lines) if hash_sign else (None, None)))


def _normal_path(path: str) -> str:
    if path.startswith("/"):
        raise EvidenceRefError("the path must be relative")
    if "\\" in path:
        raise EvidenceRefError("the path must not hold a backslash")
    segments = [segment for segment in path.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise EvidenceRefError("the path must not hold `..`")
    if not segments:
        raise EvidenceRefError("the path is empty")
    return "/".join(segments)


def _line_range(text: str) -> tuple[int, int]:
    match = _LINES.fullmatch(text)
    if match is None:
        raise EvidenceRefError("after `#` only `La` or `La-Lb` may stand, decimals from 1 without leading zeros")
    first = int(match[1])
    last = int(match[2]) if match[2] else first
    if first > last:
        raise EvidenceRefError("the first line must not be after the last")
    return first, last
