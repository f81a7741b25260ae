"""btauth/1 as the task server and its clients use it: always bound to the receiver, never with a body (SPEC 13)."""

import inspect
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from validator.protocol.errors import ValidatorError
from validator.protocol.signatures import Signer
from validator.sources import Clock

NONCE_HEADER: Final = "X-Bittensor-Nonce"
_SR25519 = 1


class AuthRefusedError(ValidatorError):
    """The request's btauth headers are refused."""


class Caller(NamedTuple):
    """Who signed a request, and its nonce in nanoseconds."""

    hotkey: str
    nonce_ns: int


class RequestSigner:
    """Makes headers for bodiless requests, each with a nonce that was never used before.

    Args:
        signer: the hotkey that asks.
        receiver: the hotkey that is asked.
        clock: nonces are its nanoseconds.
    """

    def __init__(self, signer: Signer, receiver: str, clock: Clock) -> None:
        # The SDK takes a second to import: pay it when a client is made, and only where one is.
        from bittensor import http_auth  # noqa: PLC0415 - see above

        self._sign = http_auth.sign
        self._signer = signer
        self._receiver = receiver
        self._clock = clock
        self._last = 0

    def headers(self, method: str, target: str) -> dict[str, str]:
        """Return the headers for one try."""
        self._last = nonce = max(_nanoseconds(self._clock), self._last + 1)
        return self._sign(
            self._signer.keypair, method=method, path=target, receiver_ss58=self._receiver, nonce_ns=nonce
        )


class RequestVerifier:
    """Checks headers of bodiless requests to one hotkey; remembers nonces, so that none counts twice.

    Args:
        hotkey: the receiver the requests must be bound to.
        clock: for their freshness (10 s back, 2 s ahead).
    """

    def __init__(self, hotkey: str, clock: Clock) -> None:
        from bittensor import http_auth  # noqa: PLC0415 - takes a second: pay it when a server is made

        self._auth = http_auth
        self._hotkey = hotkey
        self._clock = clock
        self._nonces = http_auth.InMemoryNonceStore()
        # Newer releases of the SDK refuse to verify unless they are told the scheme.
        known = inspect.signature(http_auth.verify).parameters
        self._more: dict[str, Any] = {"expected_crypto_type": _SR25519} if "expected_crypto_type" in known else {}

    def verify(self, headers: Mapping[str, str], method: str, target: str) -> Caller:
        """Return who signed this request.

        Raises:
            AuthRefusedError: headers missing or malformed, another receiver, stale, replayed, or a wrong signature.
        """
        try:
            caller = self._auth.verify(
                headers,
                b"",
                method=method,
                path=target,
                self_hotkey_ss58=self._hotkey,
                nonce_store=self._nonces,
                now_ns=_nanoseconds(self._clock),
                **self._more,
            )
        except self._auth.AuthError as error:
            raise AuthRefusedError(str(error)) from None
        except ValueError:  # headers or a target with bytes that are no text
            raise AuthRefusedError("malformed") from None
        return Caller(caller.hotkey_ss58, caller.nonce_ns)


def _nanoseconds(clock: Clock) -> int:
    return int(clock.now().timestamp() * 1_000_000) * 1_000
