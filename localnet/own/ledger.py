"""Record of all answers to an owner's tasks, which a listener writes as rounds end; in memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from localnet.own.own_tasks import Key
from sssa.protocol.answer import Role
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessedMember, MemberOutcome, RanMember
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared

_LATENESS: Final = "eta"
"""The axis of quality that tells when an answer came, not what it says."""


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """One dispatch of one of the owner's tasks.

    Attributes:
        round_id, hotkey, role: which one.
        reason: code of its result.
        seconds: of the network, from the first byte sent to the last received; None where nothing was sent.
        quality: Q of an assessment, S of a plan (SPEC 6, 12); None of what failed a gate or has no value yet.
        consensus: with the group (SPEC 4); None of what failed a gate.
        score: quality times consensus; None where there is no quality.
        entry: what entered the score window.
        parts: what the score is made of, each in [0, 1]: `epsilon`, `consensus` and the axes of quality but for the one
            that tells when the answer came; of a plan the parts of S.
    """

    round_id: int
    hotkey: str
    role: Role
    reason: Reason
    seconds: float | None
    quality: float | None
    consensus: float | None
    score: float | None
    entry: float | None
    parts: Mapping[str, float]


@dataclass(slots=True)
class Ledger:
    """Notes the answers to known tasks.

    Args:
        known: the tasks; what the validator makes itself is not among them.

    Attributes:
        answers: by task, in the order of the rounds.
        given: by task, in how many rounds that ended it was given to miners.
        skipped: by task, in how many nobody could take it.
    """

    known: Collection[Key]
    answers: dict[Key, list[OwnAnswer]] = field(default_factory=dict)
    given: dict[Key, int] = field(default_factory=dict)
    skipped: dict[Key, int] = field(default_factory=dict)
    _open: dict[str, Key] = field(default_factory=dict)

    def started(self, prepared: Prepared) -> None:
        """Note which tasks the round has."""
        keys = {task.task_id: (task.skill_type, task.source_sha256) for task in prepared.frozen.tasks}
        self._open = {task_id: key for task_id, key in keys.items() if key in self.known}

    def ended(self, end: EndedRound) -> None:
        """Note the results of its dispatches; a round that was not settled has none."""
        if end.outcome is None or end.returned is None:
            return
        for group in end.outcome.groups:
            key = self._open.get(group.task_id)
            if key is not None:
                noted = self.skipped if group.mode == "skip" else self.given
                noted[key] = noted.get(key, 0) + 1
        for member in end.outcome.members:
            key = self._open.get(member.task_id)
            if key is not None:
                judged = end.returned.judged.get((member.task_id, member.hotkey))
                seconds = None if judged is None else judged.result.seconds
                self.answers.setdefault(key, []).append(_answer(int(end.round_id), member, seconds))

    def of(self, key: Key) -> Sequence[OwnAnswer]:
        """Return the answers to a task."""
        return self.answers.get(key, ())


def _answer(round_id: int, member: MemberOutcome, seconds: float | None) -> OwnAnswer:
    quality, parts = _quality(member)
    return OwnAnswer(
        round_id=round_id,
        hotkey=member.hotkey,
        role=member.role,
        reason=member.reason,
        seconds=seconds,
        quality=quality,
        consensus=None if member.reason.gate else member.consensus,
        score=None if quality is None else quality * member.consensus,
        entry=member.window_entry,
        parts=parts,
    )


def _quality(member: MemberOutcome) -> tuple[float | None, Mapping[str, float]]:
    if isinstance(member, AssessedMember) and member.emission is not None:
        worth = member.emission
        axes = {name: value for name, value in worth.axes.items() if name != _LATENESS}
        return worth.quality, {**axes, "epsilon": worth.epsilon, "consensus": member.consensus}
    if isinstance(member, RanMember) and member.workflow is not None:
        score = member.workflow.score
        parts = {"success": score.success, "cost": score.cost, "reliability": score.reliability}
        return score.score, {**parts, "latency": score.latency}
    return None, {}
