"""Who may ask a local miner: btauth/1, bound to its hotkey, from validators it knows (SPEC 13)."""

import inspect
import time
from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from validator.protocol.errors import ValidatorError

HOTKEY_HEADER: Final = "X-Bittensor-Hotkey"
_SR25519: Final = 1


class CallerRefusedError(ValidatorError):
    """The caller is not a validator that this miner answers to."""


class AuthRefusedError(ValidatorError):
    """The request's btauth headers are refused."""


class RequestGuard:
    """Checks requests to one hotkey; every accepted nonce is remembered, so none counts twice.

    Args:
        hotkey: the receiver that requests must be bound to.
        validators: the hotkeys that are answered.
        time_ns: nanoseconds since the Unix epoch, for freshness (10 s back, 2 s ahead).
    """

    def __init__(self, hotkey: str, validators: Container[str], time_ns: Callable[[], int] = time.time_ns) -> None:
        from bittensor import http_auth  # noqa: PLC0415 - takes a second: pay it when a miner starts

        self._auth = http_auth
        self._hotkey = hotkey
        self._validators = validators
        self._time_ns = time_ns
        self._nonces = http_auth.InMemoryNonceStore()
        # Newer releases of the SDK refuse to verify unless they are told the scheme.
        known = inspect.signature(http_auth.verify).parameters
        self._more: dict[str, Any] = {"expected_crypto_type": _SR25519} if "expected_crypto_type" in known else {}

    def admit(self, headers: Mapping[str, str]) -> None:
        """Refuse, before the body is read, who does not even claim to be one of the validators.

        Raises:
            CallerRefusedError: another hotkey, or none.
        """
        if headers.get(HOTKEY_HEADER, "") not in self._validators:
            raise CallerRefusedError

    def verify(self, headers: Mapping[str, str], body: bytes, method: str, target: str) -> str:
        """Return the validator's hotkey that signed this request.

        Args:
            headers: as received.
            body: the raw bytes.
            method: HTTP method.
            target: path and query as sent.

        Raises:
            AuthRefusedError: headers missing or malformed, another receiver, stale, replayed, or a wrong signature.
            CallerRefusedError: signed by somebody else than the validators.
        """
        try:
            caller = self._auth.verify(
                headers,
                body,
                method=method,
                path=target,
                self_hotkey_ss58=self._hotkey,
                nonce_store=self._nonces,
                now_ns=self._time_ns(),
                **self._more,
            )
        except self._auth.AuthError as error:
            raise AuthRefusedError(str(error)) from None
        except ValueError:  # headers or a target with bytes that are no text
            raise AuthRefusedError("malformed") from None
        if caller.hotkey_ss58 not in self._validators:
            raise CallerRefusedError
        return caller.hotkey_ss58
