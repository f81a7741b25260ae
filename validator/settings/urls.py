"""Urls of databases and endpoints that may carry passwords, and how they are shown without."""

import re
from typing import Any, Final
from urllib.parse import parse_qsl

from pydantic import Secret

from sssa.protocol.text import printable
from sssa.redaction import remember_secret

_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_NETWORK: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
NETWORKS: Final = ("archive", "devnet", "finney", "local", "test")
"""Names that the bittensor SDK resolves to an endpoint; another name would end every start in the same way."""
_STORE: Final = re.compile(r"(sqlite|postgresql)(\+[a-z0-9_]+)?://[^\x00-\x1f\x7f]+")
# What is before the host in a Postgres url, if every parser is to read it alike.
_USER: Final = re.compile(r"[^:@/?#\[\]]*(:[^:@/?#\[\]]*)?")
_KEY: Final = 8  # characters: a piece of a websocket's path or query that may be a provider's key
_SERVER: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?")
_WEBSOCKET: Final = re.compile(r"wss?://[^\x00-\x20\x7f]+")


class SecretUrl(Secret[str]):
    """A url that is shown without its secrets; `reveal` returns it whole, `redact` knows its secrets."""

    def __init__(self, secret_value: str, *rest: Any) -> None:
        for secret in secrets_of(secret_value):
            remember_secret(secret)
        super().__init__(secret_value, *rest)

    def reveal(self) -> str:
        """Return the url with everything in it: for connecting, never for showing."""
        return self.get_secret_value()

    def _display(self) -> str:
        return shown_url(self.get_secret_value())


def shown_url(url: str) -> str:
    """Return `url` without user, password, query and, for websockets, path: providers put keys there.

    What is no url and no network name shows as `***`: when in doubt, nothing is shown.
    """
    if _NETWORK.fullmatch(url):
        return url
    match = _URL.fullmatch(url)
    if match is None:
        return "***"
    # The last @ ends the user's part: a password may hold an unescaped @, / or ?, and then more is hidden, not less.
    user, at, place = match["rest"].rpartition("@")
    place, question, _ = place.partition("?")
    if match["scheme"].lower() in ("ws", "wss"):
        host, slash, path = place.partition("/")
        place = host + slash + ("***" if path else "")
    shown = f"{match['scheme']}://{'***' if user else ''}{at}{place}{'?***' if question else ''}"
    return printable(shown)


def secrets_of(url: str) -> tuple[str, ...]:
    """Return the secrets in a url: its password, passwords in its query, keys in a websocket's path."""
    match = _URL.fullmatch(url)
    if match is None:
        return (url,) if "@" in url else ()
    user, _, place = match["rest"].rpartition("@")
    path, _, query = place.partition("?")
    values = tuple(value for name, value in parse_qsl(query) if "password" in name)
    if match["scheme"].lower() in ("ws", "wss"):
        parts = (*path.split("/")[1:], *(value for _, value in parse_qsl(query)))
        values = tuple(part for part in parts if len(part) >= _KEY)
    return tuple(filter(None, (user.partition(":")[2], *values)))


def without_password(url: str) -> str:
    """Return `url` with its user and without the password; as it is where there is none."""
    match = _URL.fullmatch(url)
    if match is None:
        return url
    user, at, place = match["rest"].rpartition("@")
    return f"{match['scheme']}://{user.partition(':')[0]}{at}{place}"


def check_store_url(url: SecretUrl) -> SecretUrl:
    """Refuse what is no SQLite or Postgres url, and one that parsers would read in two ways."""
    _matching(url, _STORE)
    if url.reveal() != url.reveal().strip():
        raise ValueError("it ends with a blank, which would be a part of the name; remove it")
    scheme, _, rest = url.reveal().partition("://")
    user, at, _ = rest.rpartition("@")
    if at and scheme.startswith("postgresql") and not _USER.fullmatch(user):
        raise ValueError("its user or password holds one of : / ? # [ ] @; write %3A %2F %3F %23 %5B %5D %40 for them")
    return url


def check_endpoint(url: SecretUrl) -> SecretUrl:
    """Refuse what is neither the name of a network that the SDK knows nor a websocket url."""
    return url if url.reveal() in NETWORKS else _matching(url, _WEBSOCKET)


def check_server_url(url: str) -> str:
    """Refuse what is no plain http url: no user, no password, no query."""
    if not _SERVER.fullmatch(url):
        raise ValueError("not a plain http url")
    return url


def _matching(url: SecretUrl, form: re.Pattern[str]) -> SecretUrl:
    if not form.fullmatch(url.reveal()):
        raise ValueError("not a url of this kind")
    return url
