"""Who may ask a local server: btauth/1, bound to its hotkey, from callers it knows (SPEC 13)."""

from collections.abc import Container, Mapping
from typing import Final

from validator.incoming.auth import AuthRefusedError, RequestVerifier
from validator.protocol.errors import ValidatorError
from validator.sources import Clock

__all__ = ["AuthRefusedError", "CallerRefusedError", "RequestGuard"]

HOTKEY_HEADER: Final = "X-Bittensor-Hotkey"


class CallerRefusedError(ValidatorError):
    """The caller is not a validator that this miner answers to."""


class RequestGuard:
    """Checks requests to one hotkey from callers that it answers.

    Args:
        hotkey: the receiver that requests must be bound to.
        callers: the hotkeys that are answered.
        clock: for freshness (10 s back, 2 s ahead).
    """

    def __init__(self, hotkey: str, callers: Container[str], clock: Clock) -> None:
        self._verifier = RequestVerifier(hotkey, clock)
        self._callers = callers

    def admit(self, headers: Mapping[str, str]) -> None:
        """Refuse, before the body is read, who does not even claim to be one of the callers.

        Raises:
            CallerRefusedError: another hotkey, or none.
        """
        if headers.get(HOTKEY_HEADER, "") not in self._callers:
            raise CallerRefusedError

    def verify(self, headers: Mapping[str, str], body: bytes, method: str, target: str) -> str:
        """Return the caller's hotkey that signed this request.

        Args:
            headers: as received.
            body: the raw bytes.
            method: HTTP method.
            target: path and query as sent.

        Raises:
            AuthRefusedError: headers missing or malformed, another receiver, stale, replayed, or a wrong signature.
            CallerRefusedError: signed by somebody else than the callers.
        """
        caller = self._verifier.verify(headers, method, target, body)
        if caller.hotkey not in self._callers:
            raise CallerRefusedError
        return caller.hotkey
