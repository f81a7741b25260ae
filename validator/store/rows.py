"""Values that repositories return (rounds, miners, flags, weights, …) where the protocol has no struct. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from sssa.protocol.arithmetic import mean
from sssa.protocol.dispatch_record import TaskState
from sssa.protocol.reasons import Reason, meaning_of
from sssa.protocol.receipt import ProofNote
from sssa.protocol.remedies import REMEDIES
from sssa.protocol.round import (
    AssessedMember,
    FailedMember,
    FlagRaised,
    GroupOutcome,
    GroupPlan,
    MemberOutcome,
    Mode,
    RoundInput,
    RoundOutcome,
    RoundPlan,
)
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Document
from sssa.scoring import filled_entries, window_entries

RoundState = Literal["open", "settled", "void", "skipped", "abandoned"]
EndState = Literal["settled", "void", "abandoned"]
WeightsState = Literal["prepared", "submitted", "confirmed", "rejected", "unknown", "expired"]
RowState = Literal["committed", "revealed", "reveal_failed", "as_sent", "altered", "unseen", "undetermined"]


class StoreChain(NamedTuple):
    """The chain and subnet that a store belongs to; `genesis`: hash of block 0, lower-case hex without 0x."""

    genesis: str
    netuid: int
    adopted_at: datetime


class Drain(NamedTuple):
    """A request to drain: when it was made, taken by the running validator, and when that had finished its round."""

    requested_at: datetime
    taken_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class MinerRecord:
    """One line of the miners' listing: uid when last seen, usable declared types, standing flags, all dispatches."""

    hotkey: str
    uid: int
    first_seen_block: int
    last_seen_block: int
    skill_types: tuple[SkillType, ...]
    reputations: Mapping[SkillType, float]
    flags: int
    dispatches: int


@dataclass(frozen=True, slots=True)
class SaltRecord:
    """An epoch's salt (SPEC 8). The salt stays out of the repr: it is secret until its epoch has ended.

    `revealed_in` is the sequence number of the receipt that made it public.
    """

    id: int
    salt: bytes = field(repr=False)
    commitment: str
    epoch: int | None
    revealed_in: int | None = None


@dataclass(frozen=True, slots=True)
class RoundSummary:
    """Counts of answers that passed and failed, and means for listings; those are None where nothing had a value."""

    accepted_count: int
    failed_count: int
    mean_quality: float | None
    mean_consensus: float | None

    @classmethod
    def of(cls, outcome: RoundOutcome) -> "RoundSummary":
        """Return the summary of a settled round."""
        members = outcome.members
        failed = sum(isinstance(member, FailedMember) for member in members)
        assessed = [member for member in members if isinstance(member, AssessedMember)]
        qualities = [member.emission.quality for member in assessed if member.emission is not None]
        consensus = [member.consensus for member in assessed if member.components is not None]
        return cls(
            accepted_count=len(members) - failed,
            failed_count=failed,
            mean_quality=mean(qualities) if qualities else None,
            mean_consensus=mean(consensus) if consensus else None,
        )


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A round without its documents."""

    round_id: int
    epoch: int
    block: int
    block_hash: str
    state: RoundState
    reason: Reason | None
    input_sha256: str | None
    outcome_sha256: str | None
    started_at: datetime
    settled_at: datetime | None
    task_count: int
    dispatch_count: int
    accepted_count: int | None
    failed_count: int | None
    mean_quality: float | None
    mean_consensus: float | None


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round with its documents.

    `input` is None when the round was skipped or its bytes are damaged or of another form (then an open round can only
    be abandoned); `outcome` before settling, for rounds that are not settled, or when unreadable.
    """

    record: RoundRecord
    input: RoundInput | None = field(repr=False)
    outcome: RoundOutcome | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task of a round; `position` is its place in the plan, `reason` None while it is open."""

    round_id: int
    task_id: str
    position: int
    skill_type: SkillType
    slot: int
    source_sha256: str
    bundle_sha256: str
    nonce: str
    provenance: str
    mode: Mode
    state: TaskState
    reason: Reason | None


class SubmittedSkill(NamedTuple):
    """A bundle that somebody submitted; `data` None once a round had it, which is `round_id`."""

    number: int
    sha256: str
    skill_type: SkillType
    data: bytes | None
    submitted_at: datetime
    round_id: int | None


def planned_tasks(frozen: RoundInput, plan: RoundPlan) -> tuple[TaskRecord, ...]:
    """Return the tasks of a round as it is opened, in plan order; those without candidates are skipped."""
    round_id = frozen.index
    return tuple(
        TaskRecord(
            round_id=round_id,
            task_id=task.task_id,
            position=position,
            skill_type=task.skill_type,
            slot=task.slot,
            source_sha256=task.source_sha256,
            bundle_sha256=task.bundle_sha256,
            nonce=task.nonce,
            provenance=task.provenance,
            mode=group.mode,
            state="skipped" if group.mode == "skip" else "open",
            reason=Reason.SKIPPED_NO_CANDIDATES if group.mode == "skip" else None,
        )
        for position, (task, group) in enumerate(zip(frozen.tasks, plan.groups, strict=True))
    )


class TaskEnd(NamedTuple):
    """The end of a task."""

    task_id: str
    state: TaskState
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """The members of a group, and its outcome (None before settling)."""

    plan: GroupPlan
    outcome: GroupOutcome | None


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """A member's outcome with the round and type that its struct does not name."""

    round_id: int
    skill_type: SkillType
    outcome: MemberOutcome


@dataclass(frozen=True, slots=True)
class FlagRecord:
    """A flag. `standing` until the operator clears it; then `cleared_at` and `cleared_reason` are set."""

    id: int
    hotkey: str
    skill_type: SkillType
    round_id: int
    mean_with_primaries: float
    mean_with_auditors: float
    mean_own: float
    mean_witnesses: float
    samples: int
    raised_at: datetime
    standing: bool
    cleared_at: datetime | None
    cleared_reason: str | None

    @property
    def raised(self) -> FlagRaised:
        """The flag, as the outcome of its round has it."""
        means = self.mean_with_primaries, self.mean_with_auditors, self.mean_own, self.mean_witnesses
        return FlagRaised(self.hotkey, self.skill_type, *means, self.samples)


@dataclass(frozen=True, slots=True)
class AgreementRecord:
    """One round's agreements of the flagged miner with its groups, and the qualities of D-50."""

    round_id: int
    with_primaries: float | None
    with_auditors: float | None
    own: float | None
    witnesses: float | None
    counted: bool
    reason: Reason
    meaning: str | None


@dataclass(frozen=True, slots=True)
class FlagDetail:
    """A flag with the agreements that led to it, oldest first."""

    flag: FlagRecord
    agreements: tuple[AgreementRecord, ...]


@dataclass(frozen=True, slots=True)
class WindowEntry:
    """One task's value in a score window (SPEC 11). `skill_type` may be `workflow`; `round_id`: of the answer."""

    hotkey: str
    skill_type: str
    round_id: int
    task_id: str
    value: float


def entries_of(frozen: RoundInput, outcome: RoundOutcome) -> tuple[WindowEntry, ...]:
    """Return what a settled round adds to score windows, in its order."""
    late, round_id = {(one.task_id, one.hotkey): int(one.round_id) for one in frozen.filled}, frozen.index
    return (
        *(
            WindowEntry(hotkey, name, late[task_id, hotkey], task_id, value)
            for hotkey, name, task_id, value in filled_entries(frozen)
        ),
        *(
            WindowEntry(hotkey, name, round_id, task_id, value)
            for hotkey, name, task_id, value in window_entries(frozen, outcome)
        ),
    )


@dataclass(frozen=True, slots=True)
class WeightsRecord:
    """A weight submission: what was meant to be sent, and what is known of its fate.

    Attributes:
        state: `prepared`: certainly not signed; `submitted`: it may have left; `unknown`: so, and nobody waits for the
            chain's answer any more; `confirmed`: on chain; `rejected`: refused; `expired`: it can no longer arrive.
        attempts: how often it was handed over for signing.
        signed_block: the head at the last of them; it may arrive for `lifetime` blocks more.
        expiry_block: past this block it certainly does not.
        block: of inclusion.
        sent: uid to u16 as the chain should store it.
        vector, scores: by hotkey.
        link: number of the receipt of what is sent (SPEC 16, D-28).
        row_state: of a confirmed one, the result of comparing the row on chain with `sent`; None before that.
            `committed`: the chain reveals it later; `revealed`, `as_sent`: it is in force as sent; `altered`: with
            other weights; `reveal_failed`: the row before it stayed; `unseen`: a later row replaced it unseen;
            `undetermined`: an older altered row may be the one in force.
    """

    id: int
    netuid: int
    mechid: int
    epoch: int
    state: WeightsState
    attempts: int
    signed_block: int | None
    lifetime: int | None
    expiry_block: int | None
    block: int | None
    sent: Mapping[int, int] | None
    vector: Mapping[str, float]
    scores: Mapping[str, float]
    unallocated: float
    message: str | None
    extrinsic: str | None
    created_at: datetime
    updated_at: datetime
    link: int | None = None
    row_state: RowState | None = None

    @property
    def shown_state(self) -> str:
        """The state in one word, for people."""
        return self.row_state or self.state


class WeightMark(NamedTuple):
    """The last own updates for a mechanism that a validator knew: its slot, their block, the head when that was so."""

    uid: int
    last_update: int
    block: int


class WeightLock(NamedTuple):
    """Weights are locked: another program uses the hotkey."""

    id: int
    locked_at: datetime
    seen: str


class Pruned(NamedTuple):
    """Numbers of rows that retention removed."""

    answers: int
    bundles: int


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """A group's proof as stored. `document`: its canonical bytes with the signature."""

    round_id: int
    task_id: str
    document: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PackedProof:
    """A proof on its way into the store. `packed`: its document, compressed."""

    note: ProofNote
    packed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReceiptRecord:
    """A receipt as stored.

    Attributes:
        sha256: digest of its line.
        line: as exported, without the newline.
        subject: of a publishing key: its public bytes, of a revocation: what is revoked, in hex; None for others.
    """

    sequence: int
    kind: str
    round_id: int | None
    sha256: str
    line: bytes = field(repr=False)
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class LogHead:
    """The newest receipt, which an export of the log must reach: number, sha256 of its line in hex, its time."""

    sequence: int
    digest: str
    issued_at: str


class UnpaidWindow(Document, frozen=True):
    """A window with entries that did not pay, for the first reason of D-23 that held, with the numbers behind it.

    It has been so since the vector of `epoch`, when `round_id` was the newest round that was frozen.
    """

    hotkey: str
    skill_type: str
    reason: Reason
    detail: str
    epoch: int
    round_id: int | None

    @property
    def described(self) -> "DescribedUnpaid":
        """Its description in words."""
        return DescribedUnpaid(
            hotkey=self.hotkey,
            skill_type=self.skill_type,
            reason=self.reason,
            meaning=meaning_of(self.reason),
            detail=self.detail,
            remedy=REMEDIES.get(self.reason),
            since_epoch=self.epoch,
            since_round=self.round_id,
        )


class DescribedUnpaid(Document, frozen=True):
    """An unpaid window in words, as listings and `--json` show it; `remedy` brings the window back."""

    hotkey: str
    skill_type: str
    reason: Reason
    meaning: str | None
    detail: str
    remedy: str | None
    since_epoch: int
    since_round: int | None


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A mechanism's vector for an epoch, as it was computed last for that epoch; whether it was sent or not.

    Attributes:
        round_id: the newest round that was frozen by then; None where there was none.
        block: of the snapshot.
        positive: whether any miner had a score above 0.
        unpaid: by hotkey, then in the order of SPEC 1.
        link: number of its receipt.
    """

    netuid: int
    mechid: int
    epoch: int
    round_id: int | None
    block: int
    scoring_version: str
    positive: bool
    unpaid: tuple[UnpaidWindow, ...]
    computed_at: datetime
    link: int | None = None
