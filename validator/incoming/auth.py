"""btauth/1 for the task server and reference miner: finds a request's signer; none counts twice (SPEC 13). No I/O."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from sssa.protocol.errors import ValidatorError
from sssa.sources import Clock

_SR25519 = 1


class AuthRefusedError(ValidatorError):
    """The request's btauth headers are refused."""


class Caller(NamedTuple):
    """Signer of a request, and the request's nonce in nanoseconds."""

    hotkey: str
    nonce_ns: int


class RequestVerifier:
    """Checks of requests to one hotkey; it remembers nonces, so that none counts twice (10 s back, 2 s ahead)."""

    def __init__(self, hotkey: str, clock: Clock) -> None:
        from bittensor import http_auth  # noqa: PLC0415 - takes a second: pay it when a server is made

        self._auth = http_auth
        self._hotkey = hotkey
        self._clock = clock
        self._nonces = http_auth.InMemoryNonceStore()
        # Newer releases of the SDK refuse to verify unless they are told the scheme.
        known = inspect.signature(http_auth.verify).parameters
        self._more: dict[str, Any] = {"expected_crypto_type": _SR25519} if "expected_crypto_type" in known else {}

    def verify(self, headers: Mapping[str, str], method: str, target: str, body: bytes = b"") -> Caller:
        """Return who signed this request with this path and query and these raw bytes.

        Raises:
            AuthRefusedError: headers missing or malformed, another receiver, stale, replayed, or a wrong signature.
        """
        try:
            caller = self._auth.verify(
                headers,
                body,
                method=method,
                path=target,
                self_hotkey_ss58=self._hotkey,
                nonce_store=self._nonces,
                now_ns=nanoseconds(self._clock),
                **self._more,
            )
        except self._auth.AuthError as error:
            raise AuthRefusedError(str(error)) from None
        except ValueError:  # headers or a target with bytes that are no text
            raise AuthRefusedError("malformed") from None
        return Caller(caller.hotkey_ss58, caller.nonce_ns)


def nanoseconds(clock: Clock) -> int:
    """Return the clock's time in nanoseconds since the Unix epoch, as nonces are counted."""
    return int(clock.now().timestamp() * 1_000_000) * 1_000
