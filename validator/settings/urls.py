"""Urls that may carry passwords, and how to show them without."""

import re
from typing import Final

from pydantic import Secret

from validator.protocol.text import printable

_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_NETWORK: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
_STORE: Final = re.compile(r"(sqlite|postgresql)(\+[a-z0-9_]+)?://[^\x00-\x1f\x7f]+")
_SERVER: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?")
_WEBSOCKET: Final = re.compile(r"wss?://[^\x00-\x20\x7f]+")


class SecretUrl(Secret[str]):
    """A url that shows without what may be secret in it; `reveal` gives it whole."""

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


def without_password(url: str) -> str:
    """Return `url` with its user and without the password; as it is where there is none."""
    match = _URL.fullmatch(url)
    if match is None:
        return url
    user, at, place = match["rest"].rpartition("@")
    return f"{match['scheme']}://{user.partition(':')[0]}{at}{place}"


def check_store_url(url: SecretUrl) -> SecretUrl:
    """Refuse what is no SQLite or Postgres url."""
    return _matching(url, _STORE)


def check_endpoint(url: SecretUrl) -> SecretUrl:
    """Refuse what is neither a network's name nor a websocket url."""
    return url if _NETWORK.fullmatch(url.reveal()) else _matching(url, _WEBSOCKET)


def check_server_url(url: str) -> str:
    """Refuse what is no plain http url: no user, no password, no query."""
    if not _SERVER.fullmatch(url):
        raise ValueError("not a plain http url")
    return url


def _matching(url: SecretUrl, form: re.Pattern[str]) -> SecretUrl:
    if not form.fullmatch(url.reveal()):
        raise ValueError("not a url of this kind")
    return url
