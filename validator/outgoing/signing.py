"""The btauth/1 headers of every request to a miner (SPEC 13)."""

import threading
import time
from collections.abc import Callable
from typing import Final

from validator.protocol.signatures import Signer

_CLOCK_STEP_NS: Final = 1_000_000_000


class Nonces:
    """Nanosecond nonces, unique and increasing even when the clock stands still within a tick.

    After the clock was set back by more than a second the nonces follow it: miners refuse what is dated more than
    two seconds ahead.

    Args:
        time_ns: nanoseconds since the Unix epoch.
    """

    def __init__(self, time_ns: Callable[[], int] = time.time_ns) -> None:
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

    def __init__(self, signer: Signer, time_ns: Callable[[], int] = time.time_ns) -> None:
        self._signer = signer
        self._nonces = Nonces(time_ns)

    def headers(self, method: str, path: str, body: bytes, receiver: str) -> dict[str, str]:
        """Return the headers for one try of one request. Hashes the body: not for the event loop when it is large."""
        from bittensor import http_auth  # noqa: PLC0415 - costs almost a second, which commands that send nothing save

        return http_auth.sign(
            self._signer.keypair,
            method=method,
            path=path,
            body=body,
            receiver_ss58=receiver,
            nonce_ns=self._nonces.next(),
        )
