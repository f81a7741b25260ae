"""Column types that hold the same values on SQLite and Postgres and refuse what either could not give back.

Values that feed decisions, and that nothing else names by a digest, are stored with their own behind them.
"""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from sqlalchemy import DateTime, Dialect, Double, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from sssa.protocol import typed
from sssa.protocol.canonical import NotCanonicalError, canonical_bytes, sha256_hex
from sssa.protocol.text import printable
from validator.store.errors import DamagedError, UnstorableError

T = TypeVar("T")
MESSAGE_LIMIT = 2_000  # code points
_DIGEST = 16  # hex digits of the sha256 that are stored behind a value


def sealed(data: bytes) -> bytes:
    """Return bytes with their digest behind them."""
    return b"%b %b" % (data, sha256_hex(data)[:_DIGEST].encode())


def unsealed(stored: bytes) -> bytes:
    """Return the bytes that were sealed (DamagedError: these are not what was stored)."""
    data = stored[: -_DIGEST - 1]
    if stored != sealed(data):
        raise DamagedError("the digest behind a value is not its own")
    return data


class Name(TypeDecorator[str]):
    """Text that must come back as it went in: hotkeys, ids, hashes, codes.

    Postgres has no NUL in text and neither database a lone surrogate: both are refused on both.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse what cannot be stored everywhere."""
        if value is not None and ("\0" in value or not _encodable(value)):
            raise UnstorableError(f"text with a NUL or a lone surrogate: {printable(value, 60)}")
        return None if value is None else str(value)  # an enum's member as its plain value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Word(TypeDecorator[T]):
    """A value that is an instance of its class, stored as that string: a skill type, or any reason's code."""

    impl = Name
    cache_ok = True

    def __init__(self, kind: Callable[[str], T]) -> None:
        super().__init__()
        self.kind = kind

    def process_result_value(self, value: str | None, dialect: Dialect) -> T | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return the value."""
        try:
            return None if value is None else self.kind(value)
        except ValueError as error:
            raise DamagedError(printable(str(error))) from None


class Message(TypeDecorator[str]):
    """Text for people, which may come from strangers: stored as one printable line of at most 2,000 code points."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Escape what is not printable, cut what is too long."""
        return None if value is None else printable(value, MESSAGE_LIMIT)


class Moment(TypeDecorator[datetime]):
    """An aware UTC datetime: timestamptz on Postgres, ISO text in UTC on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive datetimes; SQLite's text form carries no offset, so it always gets UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise UnstorableError("a datetime without a time zone; use an aware UTC one")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return the moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Real(TypeDecorator[float]):
    """A finite IEEE double. SQLite would turn NaN into NULL without a word."""

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse NaN and infinities."""
        if value is not None and not math.isfinite(value):
            raise UnstorableError(f"{value} where a finite number belongs")
        return None if value is None else float(value)


class Json(TypeDecorator[T]):
    """A value as canonical JSON text (RFC 8785), sealed, read back as a `kind` that msgspec decodes to.

    Text, not JSONB: Postgres' JSONB refuses the escape of NUL, which a miner's strings may hold.
    """

    impl = Text
    cache_ok = True

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: T | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return the canonical text."""
        if value is None:
            return None
        try:
            return sealed(canonical_bytes(value)).decode()
        except NotCanonicalError as error:
            raise UnstorableError(error.detail) from None

    def process_result_value(self, value: str | None, dialect: Dialect) -> T | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return the value."""
        if value is None:
            return None
        try:
            decoded: T = typed.decode(unsealed(value.encode()), self.kind)
        except msgspec.MsgspecError as error:
            raise DamagedError(printable(str(error))) from None
        return decoded


class Sealed(TypeDecorator[bytes]):
    """Bytes with their digest behind them."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return what is stored."""
        return None if value is None else sealed(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return the bytes."""
        return None if value is None else unsealed(bytes(value))
