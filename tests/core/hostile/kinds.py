"""The interface of a kind of hostility, and the registry to which each subject's file adds its own."""

import base64
import random
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import msgspec
from aiohttp import web
from world import answer_to

from sssa.protocol.answer import Answer, Dispatch, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import is_runtime
from sssa.protocol.sssa import Analysis
from sssa.protocol.traces import read_traces

Channel = Literal["answer", "plan", "service", "capabilities"]
Made = bytes | web.StreamResponse
Maker = Callable[[Any], Awaitable[Made]]
PLACEHOLDER: Final = "traces-go-here"


@dataclass(frozen=True)
class Kind:
    """One kind of hostility.

    Attributes:
        subject: whose turn it is in the table.
        channel: what it comes as.
        make: makes it for one request.
        outcomes: reason codes it may end in; of a capability document `kept` or `refused`.
        dear: whether it is made to cost far more than its bytes: quadratic somewhere once, or legal and heavy.
        traced: whether it makes sense for runtime primaries alone, whose traces are looked at.
        waits: whether it takes until the deadline.
    """

    subject: str
    channel: Channel
    make: Maker
    outcomes: frozenset[str]
    dear: bool = False
    traced: bool = False
    waits: bool = False

    @property
    def name(self) -> str:
        return self.make.__name__.replace("_", " ")

    @property
    def what(self) -> str:
        """One line: the maker's docstring."""
        return re.sub(r"\s+", " ", (self.make.__doc__ or "").strip())


KINDS: Final[list[Kind]] = []


def kind(
    subject: str,
    channel: Channel,
    *outcomes: str,
    dear: bool = False,
    traced: bool = False,
    waits: bool = False,
) -> Callable[[Maker], Maker]:
    """Add the decorated maker to the list."""

    def add(make: Maker) -> Maker:
        KINDS.append(Kind(subject, channel, make, frozenset(map(str, outcomes)), dear, traced, waits))
        return make

    return add


def of_channel(channel: Channel) -> list[Kind]:
    return [each for each in KINDS if each.channel == channel]


class Case:
    """One dispatch of an assessment to be answered with hostility."""

    def __init__(self, rng: random.Random, signer: Signer, dispatch: Dispatch, request: web.Request) -> None:
        self.rng = rng
        self.signer = signer
        self.dispatch = dispatch
        self.request = request
        self.runtime_primary = is_runtime_primary(dispatch)

    @cached_property
    def answer(self) -> Answer:
        return answer_to(self.signer, self.dispatch)

    @cached_property
    def body(self) -> bytes:
        return msgspec.json.encode(self.answer)

    def plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self.answer)
        return plain

    def changed(self, part: Literal["skill", "analysis", "evidence", "policy"], **fields: Any) -> Answer:
        """The honest answer with a part of its attestation changed, and signed again."""
        sssa = self.answer.sssa
        replaced: dict[str, Any] = {part: msgspec.structs.replace(getattr(sssa, part), **fields)}
        signed = self.signer.sign_document(msgspec.structs.replace(sssa, **replaced))
        return msgspec.structs.replace(self.answer, sssa=signed)

    def signed(self, **fields: Any) -> bytes:
        """The honest answer with another analysis."""
        return msgspec.json.encode(self.changed("analysis", **fields))

    def findings(self, many: Iterable[dict[str, Any]]) -> bytes:
        """The honest answer with these findings, each the honest one but for the fields named."""
        honest: Analysis = self.answer.sssa.analysis
        return self.signed(findings=tuple(msgspec.structs.replace(honest.findings[0], **each) for each in many))

    def traced(self, bundle: bytes) -> bytes:
        """The honest answer with another trace bundle, as the base64 that is in the body."""
        answer = msgspec.structs.replace(self.answer, trace_bundle=PLACEHOLDER)
        return msgspec.json.encode(answer).replace(PLACEHOLDER.encode(), bundle)

    def traced_honestly(self, files: Mapping[str, bytes]) -> bytes:
        """The honest answer about other traces, rightly hashed and signed."""
        packed = pack({f"{name}.jsonl": content for name, content in files.items()})
        hashes = read_traces(packed, self.dispatch.skill_type, probe_values(self.dispatch.nonce)).hashes
        changed = self.changed("evidence", trace_hashes=hashes)
        bundle = base64.b64encode(packed).decode()
        return msgspec.json.encode(msgspec.structs.replace(changed, trace_bundle=bundle))

    def opened(self, at: bytes, filling: bytes) -> bytes:
        """The honest answer's body with `filling` before the first `at`."""
        return self.body.replace(at, filling + at, 1)


def is_runtime_primary(dispatch: Dispatch) -> bool:
    return dispatch.role == "primary" and is_runtime(dispatch.skill_type)


SCHEMA: Final = Reason.PARSE_SCHEMA
ACCEPTED: Final = Reason.ACCEPTED
