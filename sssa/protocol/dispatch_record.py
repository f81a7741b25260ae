"""Values of a dispatch (planned, judged, failed, scored) between the rounds, the store and the pages. No I/O."""

from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from sssa.protocol.answer import Role
from sssa.protocol.reasons import OURS, Reason
from sssa.protocol.results import Packed, RawAnswer
from sssa.protocol.round import AssessedMember, MemberOutcome, RoundInput, RoundPlan
from sssa.protocol.skill_types import SkillType

DispatchState = Literal["planned", "sent", "answered", "failed", "void"]
TaskState = Literal["open", "settled", "void", "skipped"]

RUN: Final = "run_sha256"
"""The key that the stored answer to a workflow task has, and no other: it names the run."""
_ENTERS_NOTHING: Final = (Reason.VOID_NO_VERDICT, Reason.ACCEPTED_SUBMITTED, Reason.WORKFLOW_DEFERRED)


class DispatchKey(NamedTuple):
    """The key of a dispatch."""

    round_id: int
    task_id: str
    hotkey: str


class PlannedDispatch(NamedTuple):
    """A dispatch before it is sent; `rank` is its place in the group: primaries by rank, then auditors by draw."""

    round_id: int
    task_id: str
    hotkey: str
    skill_type: SkillType
    role: Role
    rank: int
    state: DispatchState = "planned"


def planned_dispatches(frozen: RoundInput, plan: RoundPlan) -> tuple[PlannedDispatch, ...]:
    """Return everyone who gets a task of the round, in plan order."""
    round_id = frozen.index
    return tuple(
        PlannedDispatch(round_id, task.task_id, hotkey, task.skill_type, role, rank)
        for task, group in zip(frozen.tasks, plan.groups, strict=True)
        for rank, (hotkey, role) in enumerate(group.members)
    )


class JudgedAnswer(NamedTuple):
    """The judgement of the gates on an answer.

    `reason` is `accepted` or `accepted_early` with a submission, whose `sssa_sha256` (`plan_sha256`) must be that of
    what was signed; else the gate's code.
    """

    key: DispatchKey
    reason: Reason
    submission: Packed | None = None
    detail: str = ""


class Failure(NamedTuple):
    """A failure: no usable response came (gate 1), or a body over its limit.

    `seconds` is None where nothing was sent, `status` without a response; `raw` is of what arrived of a body (D-28).
    """

    key: DispatchKey
    reason: Reason
    seconds: float | None = None
    status: int | None = None
    detail: str = ""
    raw: RawAnswer | None = None


class Arrival(NamedTuple):
    """A whole response, to be kept before anything is read from it.

    Attributes:
        seconds: first byte sent to last byte received; `stalled` more while the validator stood still (D-26).
        packed: the body, as `codec.compressed` makes it; `size` bytes of it.
        raw: what was made of the body's bytes as they arrived (D-28).
    """

    key: DispatchKey
    seconds: float
    status: int
    packed: bytes
    size: int
    received_at: datetime
    stalled: float = 0.0
    raw: RawAnswer | None = None


class Dispatch(msgspec.Struct, frozen=True, array_like=True):
    """A dispatch, as the table and the record of its round have it.

    Attributes:
        rank: place in the group: primaries by rank, then auditors by draw.
        reason: of the gates; None while it is not judged.
        seconds: first byte sent to last byte received; None where nothing was sent.
        body_bytes: size of the stored body; None without one. It stays when retention removes the body.
        raw: of the bytes that arrived, kept or not; None where none did.
        stalled: how many more seconds were measured while the validator stood still (D-26); None for none.
        signed_sha256: of the attestation or the plan; None where the answer did not pass.
        submission: the answer without the documents that it names by their hashes.
    """

    round_id: int
    task_id: str
    hotkey: str
    skill_type: SkillType
    role: Role
    rank: int
    state: DispatchState
    reason: Reason | None
    sent_at: datetime | None
    received_at: datetime | None
    seconds: float | None
    http_status: int | None
    detail: str | None
    body_bytes: int | None
    raw: RawAnswer | None
    stalled: float | None
    signed_sha256: str | None
    submission: dict[str, Any] | None

    @property
    def key(self) -> DispatchKey:
        """Its key."""
        return DispatchKey(self.round_id, self.task_id, self.hotkey)

    @property
    def passed(self) -> dict[str, Any] | None:
        """The answer as it is stored, without the documents that it names; None where none counts."""
        return self.submission if self.state == "answered" else None

    @property
    def run_sha256(self) -> str | None:
        """The sha256 of the result of running its plan; None where it is none, or did not pass."""
        return None if self.submission is None else self.submission.get(RUN)

    @property
    def void_alone(self) -> bool:
        """True if the dispatch enters nothing because of a fault on the validator's side (D-26), in any task state."""
        return self.state == "void" and self.reason in OURS


class ScoredDispatch(Dispatch, frozen=True):
    """A dispatch with its score: None before its round is settled, and for void tasks."""

    score: MemberOutcome | None = None

    @property
    def end(self) -> Reason | None:
        """The gates' reason, or the score's where the answer passed and yet enters nothing (D-7, quality deferred)."""
        score = self.score
        return score.reason if score is not None and score.reason in _ENTERS_NOTHING else self.reason

    @property
    def quality(self) -> float | None:
        """Q (SPEC 6)."""
        score = self.score
        return score.emission.quality if isinstance(score, AssessedMember) and score.emission else None

    @property
    def consensus(self) -> float | None:
        """SPEC 4; 1 where fewer than three answers were valid, None for a failed gate and for workflows."""
        score = self.score
        compared = isinstance(score, AssessedMember) and (score.components is not None or score.emission is not None)
        return score.consensus if score and compared else None

    @property
    def window_entry(self) -> float | None:
        """The entry in the score window: 0 for a failed gate, None where nothing did (D-7)."""
        return self.score.window_entry if self.score else None
