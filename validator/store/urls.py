"""Store urls: what is accepted, and how they are shown without their secrets."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from sssa.protocol.text import printable
from validator.settings.urls import SecretUrl, check_store_url, shown_url
from validator.store.errors import StoreUrlError

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_SCHEME = re.compile(r"[a-z+]{1,20}")
_FORMS = "use sqlite:///path/to/file or postgresql://user:password@host/database"


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """A parsed url: for the engine, which may need its password; as messages show it.

    The SQLite file, None for Postgres.
    """

    url: URL = field(repr=False)
    shown: str
    path: Path | None


def parse_url(text: str) -> StoreUrl:
    """Return the store that `text` names; messages never repeat what could be a password (StoreUrlError)."""
    scheme, colon, rest = text.partition("://")
    if not colon:
        raise StoreUrlError(f"no scheme; {_FORMS}")
    if scheme not in _DRIVERS:
        named = f"`{scheme}`" if _SCHEME.fullmatch(scheme) else "that"
        raise StoreUrlError(f"{named} is no supported database; {_FORMS}")
    try:
        check_store_url(SecretUrl(text))
    except ValueError as error:
        raise StoreUrlError(f"{error}; {_FORMS}") from None
    try:
        url = make_url(text).set(drivername=_DRIVERS[scheme])
    except (ArgumentError, ValueError):
        raise StoreUrlError(f"the part after `{scheme}://` cannot be read; {_FORMS}") from None
    return _sqlite(url) if url.get_backend_name() == "sqlite" else _postgres(url, shown_url(f"postgresql://{rest}"))


def url_of(path: Path) -> str:
    """Return the url of a SQLite file (StoreUrlError: no url can name it)."""
    resolved = path.resolve()
    text = f"sqlite:///{resolved}"
    if parse_url(text).path != resolved:
        raise StoreUrlError(f"the name {printable(str(path))} has characters with a special meaning; use another")
    return text


def file_next_to_store(url: SecretUrl, name: str) -> Path:
    """Return FILE.NAME next to the SQLite file of a store, validator.NAME in the working folder for Postgres."""
    database = parse_url(url.get_secret_value()).path
    return Path(f"validator.{name}") if database is None else database.with_name(f"{database.name}.{name}")


def _sqlite(url: URL) -> StoreUrl:
    if url.host or url.query or not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise StoreUrlError(
            "SQLite needs the path of a file and nothing else: sqlite:///relative or sqlite:////absolute"
        )
    path = Path(url.database).resolve()
    return StoreUrl(url.set(database=str(path)), f"sqlite:///{printable(str(path))}", path)


def _postgres(url: URL, shown: str) -> StoreUrl:
    if not url.database:
        raise StoreUrlError("Postgres needs a database name: postgresql://user:password@host/database")
    return StoreUrl(url, shown, None)
