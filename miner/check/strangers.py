"""Requests that no validator sends, sent to the miner: it refuses them or outlives them (docs/miner-protocol.md, 2)."""

import time
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

import msgspec

from miner.check.report import Fault, StrangerOutcome
from miner.check.target import Target
from miner.check.trials import Trial
from validator.miners.client import HttpMinerClient
from validator.outgoing.calls import Call, Reply
from validator.outgoing.exchange import RequestSigner
from validator.protocol.canonical import sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer

_DEADLINE_S: Final = 10.0
_ROOM: Final = 16 * 1024 * 1024
_AGE_NS: Final = 60 * 1_000_000_000
_OK: Final = 200
_CLIENT_ERRORS: Final = range(400, 500)
_SERVER_ERROR: Final = 500
Wanted = Literal["refused", "survived"]


class Stranger(NamedTuple):
    """A request that is wrong.

    Attributes:
        wanted: what a miner makes of it.
        code, todo: of the fault where it does not.
        signer: makes the headers; a second one, with the same nonce, where the request is sent twice.
        again: the second one's.
    """

    request: str
    wanted: Wanted
    code: str
    todo: str
    body: bytes
    signer: RequestSigner
    again: RequestSigner | None = None


class _Changed(RequestSigner):
    """Signs, then spoils it.

    Args:
        change: takes the body's digest and the receiver; returns those that are signed.
        sign: False leaves all headers out.
    """

    def __init__(
        self, signer: Signer, change: Callable[[str, str], tuple[str, str]] | None = None, *, sign: bool = True
    ) -> None:
        super().__init__(signer)
        self._change = change
        self._sign = sign

    def headers(self, method: str, path: str, body_sha256: str, receiver: str) -> dict[str, str]:
        """Return the headers, wrong ones or none."""
        if self._change is not None:
            body_sha256, receiver = self._change(body_sha256, receiver)
        return super().headers(method, path, body_sha256, receiver) if self._sign else {}


def strangers(trial: Trial, signer: Signer, other: Signer, time_ns: Callable[[], int] = time.time_ns) -> list[Stranger]:
    """Return wrong requests, made of a right trial; the miner answers `signer`, and has never heard of `other`."""
    return [*_unauthorised(trial.request.whole, signer, other, time_ns), *_malformed(trial.request.whole, signer)]


def _unauthorised(body: bytes, signer: Signer, other: Signer, time_ns: Callable[[], int]) -> Iterator[Stranger]:
    now = time_ns()
    todo = "check the signature over these eight lines before you read the body (section 2, 3)"
    yield Stranger("no signature", "refused", "takes_unsigned", todo, body, _Changed(signer, sign=False))
    tampered = _Changed(signer, lambda _, receiver: (sha256_hex(body + b" "), receiver))
    todo = "hash the body's bytes as received and check the signature over that (section 2, 3)"
    yield Stranger("signed for another body", "refused", "takes_tampered", todo, body, tampered)
    elsewhere = _Changed(signer, lambda digest, _: (digest, other.hotkey))
    todo = "refuse what names another receiver than your hotkey (section 2, 1)"
    yield Stranger("signed for another miner", "refused", "takes_others", todo, body, elsewhere)
    todo = "refuse nonces that are over 10 s old or over 2 s ahead (section 2, 2)"
    for name, moment in (("a nonce of a minute ago", now - _AGE_NS), ("a nonce a minute ahead", now + _AGE_NS)):
        yield Stranger(name, "refused", "takes_stale", todo, body, RequestSigner(signer, _always(moment)))
    todo = "answer only hotkeys that hold a validator permit (section 2, 5)"
    yield Stranger("signed by a stranger", "refused", "takes_anybody", todo, body, RequestSigner(other, time_ns))
    todo = "remember pairs of hotkey and nonce for as long as you take nonces (section 2, 4)"
    first, second = (RequestSigner(signer, _always(now)) for _ in range(2))
    yield Stranger("the same nonce twice", "refused", "takes_replays", todo, body, first, second)


def _malformed(body: bytes, signer: Signer) -> Iterator[Stranger]:
    fields = msgspec.json.decode(body)
    wrong = {
        "no JSON": b"{",
        "no body": b"",
        "another bundle_sha256": _with(fields, bundle_sha256=sha256_hex(b"another")),
        "a bundle that is no base64": _with(fields, bundle="*" * 64),
    }
    todo = "refuse with 400 what does not fit: nothing that is signed over it could be right"
    for name, sent in wrong.items():
        yield Stranger(name, "refused", "takes_nonsense", todo, sent, RequestSigner(signer))
    todo = "ignore the field or refuse the request, and catch your errors"
    unknown = _with(fields, shape="round")
    yield Stranger("an unknown field", "survived", "falls_over", todo, unknown, RequestSigner(signer))


def _with(fields: dict[str, object], **changed: object) -> bytes:
    return msgspec.json.encode(fields | changed)


def _always(moment: int) -> Callable[[], int]:
    return lambda: moment


async def visit(target: Target, path: str, stranger: Stranger) -> StrangerOutcome:
    """Send a wrong request, twice if it is wrong by that; return the result of it."""
    reply = await _send(target, path, stranger.body, stranger.signer)
    if stranger.again is not None and reply.reason is None:
        reply = await _send(target, path, stranger.body, stranger.again)
    return StrangerOutcome(stranger.request, stranger.wanted, _seen(reply), _fault(stranger, reply))


async def _send(target: Target, path: str, body: bytes, signer: RequestSigner) -> Reply:
    client = HttpMinerClient(signer, allow_private=True)
    try:
        reply = await client.post(Call(target.hotkey, target.axon, path, body, _DEADLINE_S, len(body) + _ROOM))
        if reply.body is not None:
            reply.body.close()
        return reply
    finally:
        await client.close()


def _seen(reply: Reply) -> str:
    return f"status {reply.status}" if reply.status is not None else f"{reply.reason}: {reply.detail}"


def _fault(stranger: Stranger, reply: Reply) -> Fault | None:
    status = reply.status
    if status is None or status >= _SERVER_ERROR or reply.reason in {Reason.DEADLINE_LATE, Reason.DEADLINE_TRANSPORT}:
        todo = "catch your errors, and refuse with a status of 4xx"
        return Fault("falls_over", None, "Such a request brings the miner down.", _seen(reply), "", todo)
    if stranger.wanted == "survived" or status in _CLIENT_ERRORS:
        return None
    meaning = "A request that no validator sends was answered." if status == _OK else "It was not refused with 4xx."
    return Fault(stranger.code, None, meaning, f"{stranger.request}: {_seen(reply)}", "", stranger.todo)
