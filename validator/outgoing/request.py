"""Requests as bytes, and the btauth/1 headers of every request to a miner (SPEC 13)."""

import re
import threading
from collections.abc import Callable, Mapping
from typing import Final

from yarl import URL

from validator.protocol.canonical import sha256_hex
from validator.protocol.signatures import Signer
from validator.sources import system_ns

_FIELDS: Final = (
    "Accept: application/json",
    "Accept-Encoding: identity",  # nothing is inflated (SPEC 13)
    "User-Agent: sssa-validator",
)
_TARGET: Final = re.compile(r"/[!-~]*")
_HOST: Final = re.compile(r"[!-~]+")


def head_of(method: str, url: URL, path: str, size: int, signed: Mapping[str, str]) -> bytes:
    """Return the head of a request.

    Args:
        method: POST or GET.
        url: names the host.
        path: request target with query, as signed.
        size: bytes of the body; a GET has none.
        signed: further fields.

    Raises:
        ValueError: host or path do not fit into a line.
    """
    host = url.host_port_subcomponent or ""
    if not _TARGET.fullmatch(path) or not _HOST.fullmatch(host):
        raise ValueError("host or path of the request cannot be sent")
    body = ("Content-Type: application/json", f"Content-Length: {size}") if method == "POST" else ()
    own = (f"{name}: {value}" for name, value in signed.items())
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host}", *_FIELDS, *body, *own, "Connection: close", "", "")
    return "\r\n".join(lines).encode("ascii")


EMPTY_SHA256: Final = sha256_hex(b"")
"""Of the body of a GET."""
_CLOCK_STEP_NS: Final = 1_000_000_000
_PROTOCOL: Final = "btauth/1"
_VERSION: Final = "1"
_DEFAULT: Final = "sr25519"


class Nonces:
    """Nanosecond nonces, unique and increasing even when the clock stands still within a tick.

    After the clock was set back by more than a second the nonces follow it: miners refuse what is dated more than
    two seconds ahead.

    Args:
        time_ns: nanoseconds since the Unix epoch.
    """

    def __init__(self, time_ns: Callable[[], int] = system_ns) -> None:
        self._time_ns = time_ns
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        """Return a nonce that was not given out before."""
        with self._lock:
            now = self._time_ns()
            behind = self._last - now
            self._last = self._last + 1 if 0 <= behind <= _CLOCK_STEP_NS else now
            return self._last


class RequestSigner:
    """Signs requests with the validator's hotkey, always bound to the receiver.

    Args:
        signer: the validator's hotkey.
        time_ns: nanoseconds since the Unix epoch, for nonces.
    """

    def __init__(self, signer: Signer, time_ns: Callable[[], int] = system_ns) -> None:
        self._signer = signer
        self._nonces = Nonces(time_ns)
        self._crypto = {} if signer.crypto == _DEFAULT else {"X-Bittensor-Crypto": signer.crypto}

    def headers(self, method: str, path: str, body_sha256: str, receiver: str) -> dict[str, str]:
        """Return the headers for one try of one request; takes some 40 µs, all of which hold the interpreter's lock.

        Args:
            method: in capitals.
            path: request target with query, as sent.
            body_sha256: hex digest of the body.
            receiver: the hotkey that it is for.
        """
        nonce = str(self._nonces.next())
        signed = (_PROTOCOL, self._signer.crypto, method, path, body_sha256, nonce, self._signer.hotkey, receiver)
        signature = self._signer.sign("\n".join(signed).encode())
        return {
            "X-Bittensor-Version": _VERSION,
            "X-Bittensor-Hotkey": self._signer.hotkey,
            "X-Bittensor-Nonce": nonce,
            "X-Bittensor-Signature": signature,
            **self._crypto,
            "X-Bittensor-Receiver": receiver,
        }
