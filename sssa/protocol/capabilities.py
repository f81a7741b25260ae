"""The miner's declaration of its abilities: `GET /v1/capabilities` (SPEC 13)."""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from sssa.protocol.limits import CLOCK_TOLERANCE_S, MAX_CAPABILITIES_AGE_S, MAX_CAPABILITIES_BODY
from sssa.protocol.signatures import verify_document
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Document, Signature, Text
from sssa.protocol.strict_json import SchemaError, decode
from sssa.protocol.times import parse_time

DEFAULT_MAX_CONCURRENT: Final = 2  # of a declaration that does not say (D-15)
DeclaredType = Annotated[str, Meta(pattern=rf"\A({'|'.join(SkillType)})\Z")]
Types = Annotated[tuple[DeclaredType, ...], Meta(max_length=len(SkillType))]


class Capabilities(Document, frozen=True, omit_defaults=True):
    """A signed declaration; `max_concurrent` alone may be absent (then 2)."""

    document_version: Literal["1.0"]
    hotkey: Text
    skill_types: Types
    software: Text
    issued_at: Text
    expires_at: Text
    signature: Signature
    max_concurrent: Annotated[int, Meta(ge=1, le=4)] | msgspec.UnsetType = msgspec.UNSET

    @property
    def concurrency(self) -> int:
        """Number of open dispatches of one type that the miner accepts."""
        return DEFAULT_MAX_CONCURRENT if self.max_concurrent is msgspec.UNSET else self.max_concurrent

    @property
    def usable_types(self) -> tuple[SkillType, ...]:
        """The declared types in the spec's order."""
        declared = frozenset(self.skill_types)
        return tuple(t for t in SkillType if t in declared)


class IssuedLaterError(SchemaError):
    """The declaration is from the future."""


class ExpiredError(SchemaError):
    """The declaration has expired."""


def parse_capabilities(data: bytes, *, hotkey: str, now: datetime) -> Capabilities:
    """Return the declaration in `data` if `hotkey` signed it and it is valid at `now` (UTC).

    Raises:
        JsonError: not such a document; the text names the field.
    """
    document = decode(data, Capabilities, limit=MAX_CAPABILITIES_BODY)
    if document.hotkey != hotkey:
        raise SchemaError("signed for another hotkey - at `hotkey`")
    issued = parse_time(document.issued_at, "issued_at")
    expires = parse_time(document.expires_at, "expires_at")
    if not 0 < (expires - issued).total_seconds() <= MAX_CAPABILITIES_AGE_S:
        raise SchemaError("must be after issued_at and at most 24 h later - at `expires_at`")
    if (issued - now).total_seconds() > CLOCK_TOLERANCE_S:
        raise IssuedLaterError("by this clock - at `issued_at`")
    if not valid_at(document, now):
        raise ExpiredError("by this clock - at `expires_at`")
    if not verify_document(document, hotkey):
        raise SchemaError("wrong signature - at `signature`")
    return document


def valid_at(document: Capabilities, now: datetime) -> bool:
    """Return whether the declaration counts at `now` (clock tolerance 60 s)."""
    return (now - parse_time(document.expires_at, "expires_at")).total_seconds() <= CLOCK_TOLERANCE_S
