"""Results of reruns in a log: each names an answer that an earlier round of it chose, and is counted once (SPEC 15)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec import UNSET

from validator.audit.log.documents import Planned
from validator.protocol.canonical import sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.round import AssessedMember, RerunResult, RoundOutcome
from validator.scoring import ChosenRerun, Version

_KEPT: Final = 200_000  # of each; a bound on what a log can make us keep, and what is older is forgotten


class _Chosen(NamedTuple):
    """An answer that may come back: its round, a digest of what its result must say, and whose place it takes."""

    round_index: int
    digest: str
    instead_of: tuple[str, ...]


@dataclass(slots=True)
class RerunResults:
    """What may still come back, and what did.

    Attributes:
        since: the first round of the log; what earlier ones chose is the validator's word.
        held: counted results that name an answer which the log shows to have been chosen.
        before: those that name an answer from before `since`.
        forgotten: how many were chosen, did not come back, and are not looked for any more.
    """

    since: int | None = None
    held: int = 0
    before: int = 0
    forgotten: int = 0
    _chosen: dict[str, _Chosen] = field(default_factory=dict)
    _counted: dict[str, None] = field(default_factory=dict)

    def fault(self, results: tuple[RerunResult, ...]) -> str | None:
        """Return the first place among a round's results, `[i]`, that does not follow from the rounds before it."""
        last = ""
        taken: set[str] = set()
        for i, result in enumerate(results):
            chosen = self._chosen.get(result.rerun_id)
            if result.rerun_id <= last or result.rerun_id in self._counted or result.rerun_id in taken:
                return f"[{i}]"
            if chosen is None and not self._before(result):
                return f"[{i}]"
            if chosen is not None:
                if chosen.digest != _digest(result.hotkey, result.skill_type, result.round_id, result.task_id):
                    return f"[{i}]"
                taken.update(chosen.instead_of)
            last = result.rerun_id
        return None

    def add(self, scored_by: Version, planned: Planned, outcome: RoundOutcome) -> None:
        """Take in what a settled round counted and what it chose."""
        for result in planned.frozen.reruns:
            chosen = self._chosen.pop(result.rerun_id, None)
            self.held += chosen is not None
            self.before += chosen is None
            for other in () if chosen is None else chosen.instead_of:
                self._chosen.pop(other, None)
            self._counted[result.rerun_id] = None
        while len(self._counted) > _KEPT:
            del self._counted[next(iter(self._counted))]
        for one, others in _may_come_back(scored_by, planned, outcome):
            digest = _digest(one.hotkey, one.skill_type, planned.frozen.round_id, one.task_id)
            self._chosen[one.rerun_id] = _Chosen(planned.frozen.index, digest, others)
        while len(self._chosen) > _KEPT:
            oldest = self._chosen.pop(next(iter(self._chosen)))
            self.since = max(self.since or 0, oldest.round_index + 1)
            self.forgotten += 1

    @property
    def missing(self) -> int:
        """How many answers were chosen and did not come back; of those that may be one or another, one."""
        left = sum(rerun_id <= min(one.instead_of, default=rerun_id) for rerun_id, one in self._chosen.items())
        return left + self.forgotten

    def _before(self, result: RerunResult) -> bool:
        return self.since is not None and result.round_id is not UNSET and int(result.round_id) < self.since


def _may_come_back(
    scored_by: Version, planned: Planned, outcome: RoundOutcome
) -> Iterator[tuple[ChosenRerun, tuple[str, ...]]]:
    """Yield what the round chose, each with the ids in whose place it stands.

    While the salt is not public, one of a task's valid primaries was drawn and nobody knows which: each of them is
    yielded, and once one of them came back the others cannot.
    """
    for one in scored_by.chosen_reruns(planned.frozen, planned.plan, outcome):
        if planned.drawn or one.reason is not Reason.RERUN_DRAWN:
            yield one, ()
            continue
        position = next(i for i, task in enumerate(planned.frozen.tasks) if task.task_id == one.task_id)
        valid = {m.hotkey for m in outcome.members if m.task_id == one.task_id and isinstance(m, AssessedMember)}
        primaries = [
            (scored_by.rerun_id(planned.frozen.round_id, position, rank), hotkey)
            for rank, (hotkey, role) in enumerate(planned.plan.groups[position].members)
            if role == "primary" and hotkey in valid
        ]
        ids = {rerun_id for rerun_id, _ in primaries}
        for rerun_id, hotkey in primaries:
            yield one._replace(rerun_id=rerun_id, hotkey=hotkey), tuple(ids - {rerun_id})


def _digest(*says: object) -> str:
    """Return what is kept of a result's fields: few bytes, however long a log makes them."""
    return sha256_hex("\n".join(map(str, says)).encode())[:32]
