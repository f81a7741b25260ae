"""Replay of one round: input, plan, answers, gates, outcome, rows; each compared with what is stored."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, TypeVar

import msgspec

from validator.audit.replay.differences import Difference, compared, compared_bytes, uncomputed
from validator.audit.replay.group_replay import Bodies, GroupsReplay, RawBodies
from validator.audit.replay.inputs import Past, filled_differences, input_differences
from validator.protocol import typed
from validator.protocol.canonical import canonical_bytes, digest, sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.results import VoidDispatch
from validator.protocol.round import FlagRaised, GroupPlan, RoundInput, RoundOutcome, RoundPlan
from validator.protocol.text import printable
from validator.scoring import UnknownScoringVersionError, Version, version
from validator.state.round_end import Ended
from validator.store import Transaction
from validator.store.dispatch_record import Dispatch, PlannedDispatch, planned_dispatches
from validator.store.errors import DamagedError
from validator.store.rows import (
    RoundRecord,
    RoundState,
    RoundSummary,
    TaskEnd,
    TaskRecord,
    WindowEntry,
    entries_of,
    planned_tasks,
)
from validator.store.waiting_work import Execution, QueuedWork, queued_checks, queued_executions

Rows = dict[str, Any]
_ENDS: Final = ("round_id", "task_id", "state", "reason")  # of a task: its key, and what it came to
_TASK: Final = tuple(field.name for field in fields(TaskRecord) if field.name not in _ENDS)
_SUMMARY: Final = tuple(field.name for field in fields(RoundSummary))


def opened_rows(
    tasks: Iterable[TaskRecord], groups: Iterable[GroupPlan], dispatches: Iterable[PlannedDispatch | Dispatch]
) -> Rows:
    """Return what opening a round stores, by the rows' keys."""
    return {
        "tasks": {one.task_id: {name: getattr(one, name) for name in _TASK} for one in tasks},
        "groups": {one.task_id: one for one in groups},
        "dispatches": {
            f"{one.task_id}/{one.hotkey}": {"skill_type": one.skill_type, "role": one.role, "rank": one.rank}
            for one in dispatches
        },
    }


def ended_rows(
    summary: RoundSummary | RoundRecord,
    ends: Iterable[TaskEnd],
    flags: Iterable[FlagRaised],
    entries: Iterable[WindowEntry],
) -> Rows:
    """Return what settling a round stores, by the rows' keys; a list where the order counts."""
    return {
        "summary": {name: getattr(summary, name) for name in _SUMMARY},
        "task_ends": {one.task_id: {"state": one.state, "reason": one.reason} for one in ends},
        "flags": {f"{one.hotkey}/{one.skill_type}": one for one in flags},
        "window_entries": [
            {"hotkey": one.hotkey, "skill_type": one.skill_type, "task_id": one.task_id, "value": one.value}
            for one in entries
        ],
    }


NOTHING: Final[Rows] = {"flags": {}, "window_entries": []}
"""The rows that a round leaves that was not settled: none that counts for anybody."""


def queued_rows(queued: Iterable[QueuedWork]) -> Rows:
    """Return what settling a round left to be done, by id."""
    return {one.work_id: msgspec.to_builtins(one._asdict()) for one in queued}


def as_added(entries: Iterable[WindowEntry], executions: Sequence[Execution]) -> list[WindowEntry]:
    """Return a round's window entries as it added them: what executions took is added to the 0 that they left.

    An entry that was struck and is worth something all the same does not follow from anything then.
    """
    struck = {(one.task_id, result.hotkey): result.struck or 0.0 for one in executions for result in one.results}
    return [replace(entry, value=entry.value + struck.get((entry.task_id, entry.hotkey), 0.0)) for entry in entries]


Verdict = Literal["equal", "different", "unscored"]


@dataclass(frozen=True, slots=True)
class RoundReplay:
    """One round, computed again.

    Attributes:
        verdict: `unscored` where nothing was to be scored (open, void, skipped, abandoned) and nothing differs.
        differences: the first of each part, in the order of the computation.
        digests: part to hex sha256 of what was computed here: the same on every machine, database and Python.
    """

    round_id: int
    state: RoundState
    reason: Reason | None
    scoring_version: str | None
    verdict: Verdict
    differences: tuple[Difference, ...]
    bodies: Bodies
    digests: Mapping[str, str]


T = TypeVar("T")


async def replay_round(tx: Transaction, round_id: int, past: Past | None = None) -> RoundReplay | None:
    """Return what a round comes to when it is computed again, in a read transaction; None if there is no such round.

    `past` is what the rounds before left, as far as they were replayed with it; it takes in what this one leaves.
    """
    record = await tx.rounds.record(round_id)
    if record is None:
        return None
    return await _Replay(tx, record, past or Past()).run()


@dataclass(slots=True)
class _Replay:
    tx: Transaction
    record: RoundRecord
    past: Past
    found: list[Difference] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    bodies: Bodies = field(default_factory=Bodies)
    tasks: Sequence[TaskRecord] = ()
    dispatches: Sequence[Dispatch] | None = None
    executions: tuple[Sequence[Execution], Sequence[Execution]] | None = None

    @property
    def round_id(self) -> int:
        return self.record.round_id

    async def run(self) -> RoundReplay:
        settled = self.record.state == "settled"
        self.past.begin(self.round_id)
        frozen = await self._input()
        version = self._version(frozen) if frozen else None
        self.tasks = await self.tx.tasks.of_round(self.round_id)
        self.dispatches = await self._read("dispatches", self.tx.dispatches.of_round(self.round_id))
        self.executions = await self._read("executions", self.tx.executions.about(self.round_id))
        ended: Ended | None = None
        if frozen and version:
            self._note(self._computed("input", lambda: self.past.difference(version, frozen)))
            plan = await self._plan(version, frozen)
            if settled and plan:
                ended = await self._scored(version, frozen, plan)
            elif plan and self.record.state in {"void", "abandoned"}:
                ended = Ended(frozen, plan, "void" if self.record.state == "void" else "abandoned")
        if not settled:
            await self._rows(NOTHING)
        if ended is not None and version is not None and not self.found:
            self.past.step(version, ended)
        elif self.record.state != "skipped":
            self.past.forget()
        record = self.record
        return RoundReplay(
            round_id=record.round_id,
            state=record.state,
            reason=record.reason,
            scoring_version=frozen.scoring_version if frozen else None,
            verdict="different" if self.found else "equal" if settled else "unscored",
            differences=tuple(self.found),
            bodies=self.bodies,
            digests=self.digests,
        )

    async def _input(self) -> RoundInput | None:
        record = self.record
        if record.input_sha256 is None:
            return None
        data = await self._read("input", self.tx.rounds.document_bytes(self.round_id, "input"))
        if data is None:
            return None
        if record.reason == Reason.ABANDONED_INPUT and await self._cannot_be_read():
            return None  # it was found so at the time, and the round counts for nothing
        self.digests["input"] = sha256_hex(data)
        if self.digests["input"] != record.input_sha256:
            self._note(Difference("input", f"its bytes hash to {self.digests['input']}, not to {record.input_sha256}"))
        try:
            frozen = typed.decode(data, RoundInput)
        except msgspec.MsgspecError as error:
            self._note(Difference("input", f"cannot be read: {printable(str(error))}"))
            return None
        self.found.extend(input_differences(frozen, record, await self.tx.salts.current(frozen.snapshot.epoch)))
        return frozen

    async def _cannot_be_read(self) -> bool:
        stored = await self.tx.rounds.get(self.round_id)
        return stored is None or stored.input is None

    def _version(self, frozen: RoundInput) -> Version | None:
        try:
            return version(frozen.scoring_version)
        except UnknownScoringVersionError as error:
            if self.record.reason != Reason.ABANDONED_VERSION:
                self._note(Difference("input.scoring_version", str(error)))
            return None

    async def _plan(self, scored_by: Version, frozen: RoundInput) -> RoundPlan | None:
        plan = self._computed("plan", lambda: scored_by.plan(frozen))
        if plan is None:
            return None
        self.digests["plan"] = digest(plan)
        stored = await self._read("plan", self.tx.groups.plan_of(self.round_id))
        if stored is not None and self.dispatches is not None:
            kept = opened_rows(self.tasks, stored.groups, self.dispatches)
            again = opened_rows(planned_tasks(frozen, plan), plan.groups, planned_dispatches(frozen, plan))
            for part, rows in again.items():
                self._note(compared(part, kept[part], rows))
        return plan

    async def _scored(self, scored_by: Version, frozen: RoundInput, plan: RoundPlan) -> Ended | None:
        """Compare what follows from the round's answers; return what a step takes, None if it cannot be computed."""
        dispatches = self.dispatches
        self._note(await self._listed())
        if dispatches is None:
            return None
        void = {task.task_id: task.reason for task in self.tasks if task.state == "void" and task.reason}
        alone = _alone(dispatches, void.keys())
        self._note(_void_fault(dispatches, alone))
        expected = {
            (group.task_id, hotkey) for group in plan.groups if group.task_id not in void for hotkey, _ in group.members
        } - alone.keys()
        bodies = RawBodies(self.tx, dispatches)
        groups = GroupsReplay(self.tx, scored_by, frozen, plan, void.keys(), expected, alone, bodies)
        await self._read("answers", groups.run())
        self.bodies = groups.bodies_counted
        self.found += [*groups.answers, *groups.gates[:1]]
        if groups.judged.keys() != expected:
            return None
        raw = [one.raw for one in dispatches]
        self.digests["answers"] = digest([[*groups.judged.values()], void, [*alone.values()], raw])
        self.found += groups.outcome[:1]
        if groups.outcome:
            return None
        outcome = self._computed("outcome", lambda: scored_by.round_outcome(frozen, plan, void, groups.scored))
        if outcome is None:
            return None
        await self._outcome(canonical_bytes(outcome))
        await self._entered(scored_by, frozen)
        await self._checks(scored_by, frozen, plan, outcome)
        await self._executions(scored_by, frozen, plan, outcome)
        self.digests["proofs"] = digest(groups.proven)
        self.found += groups.proofs
        ends = [TaskEnd(one.task_id, one.task_state, one.reason) for one in outcome.groups]
        entries = entries_of(scored_by, frozen, outcome)
        await self._rows(ended_rows(RoundSummary.of(outcome), ends, outcome.flags, entries))
        return Ended(frozen, plan, "settled", outcome, groups.measured)

    async def _listed(self) -> Difference | None:
        """Compare the rows that listings and histories rest on with the round's record."""
        head = await self._read("dispatches", self.tx.records.head(self.round_id))
        listed = await self.tx.dispatches.listed(self.round_id)
        if head is None or listed == head.listed():
            return None
        told = [{f"{task}/{hotkey}": end for (task, hotkey), end in one.items()} for one in (listed, head.listed())]
        return compared("dispatches", *told)

    async def _outcome(self, outcome: bytes) -> None:
        """Hold the stored outcome against the canonical bytes of the one that was computed."""
        self.digests["outcome"] = sha256_hex(outcome)
        data = await self._read("outcome", self.tx.rounds.document_bytes(self.round_id, "outcome"))
        if data is None:
            told = any(difference.path == "outcome" for difference in self.found)
            self._note(None if told else Difference("outcome", "missing in the store"))
            return
        difference = compared_bytes("outcome", data, outcome)
        expected = self.record.outcome_sha256
        if difference is None and expected != self.digests["outcome"]:
            difference = Difference("outcome", f"its bytes hash to {self.digests['outcome']}, not to {expected}")
        self._note(difference)

    async def _executions(self, scored_by: Version, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> None:
        """Compare what the round had executed with what follows from it."""
        again = self._computed("executions", lambda: queued_executions(scored_by, frozen, plan, outcome))
        if self.executions is not None and again is not None:
            left, _ = self.executions
            self._note(compared("executions", queued_rows(one.queued for one in left), queued_rows(again)))

    async def _entered(self, scored_by: Version, frozen: RoundInput) -> None:
        """Hold the results that the round counted, and the entries that they took, against its input."""
        if self.executions is None:
            return
        _, entered = self.executions
        counted = [result for one in entered for result in one.counted]
        self._note(compared("input.executions", counted, frozen.executions))
        took = [(o.task_id, r.hotkey) for o in entered for r in o.results if r.struck is not None]
        struck = [(one.task_id, one.hotkey) for one in scored_by.struck_entries(frozen)]
        self._note(compared("input.executions.struck", sorted(took), sorted(struck)))
        head = await self.tx.records.head(self.round_id)
        if head is not None and head.reports != tuple(one.written for one in entered):
            self._note(Difference("executions.reports", "are not those that the round's record has"))

    async def _checks(self, scored_by: Version, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> None:
        """Hold what the round left to be judged: everything that follows from it, or nothing; and what it filled in."""
        await self._filled(frozen)
        stored = await self._read("code_checks", self.tx.code_checks.about(self.round_id))
        if stored is None:
            return
        left, entered = stored
        self._note(compared("input.filled", [one.filled for one in entered], frozen.filled))
        again = self._computed("code_checks", lambda: queued_checks(scored_by, frozen, plan, outcome))
        if left and again is not None:
            self._note(compared("code_checks", queued_rows(one.queued for one in left), queued_rows(again)))

    async def _filled(self, frozen: RoundInput) -> None:
        """Hold the late qualities that the round entered against the rounds of their answers."""
        try:
            self.found.extend([difference async for difference in filled_differences(self.tx, frozen)][:1])
        except Exception as error:  # noqa: BLE001 - altered inputs may break any rule that honest ones keep
            self._note(uncomputed("input.filled", error))

    async def _rows(self, derived: Mapping[str, Any]) -> None:
        if "outcome" in self.digests:
            self.digests["rows"] = digest(derived)
        flags = [one.raised for one in await self.tx.flags.of_round(self.round_id)]
        entries = as_added(await self.tx.windows.of_round(self.round_id), self.executions[0] if self.executions else ())
        ends = [TaskEnd(task.task_id, task.state, task.reason) for task in self.tasks]
        stored = ended_rows(self.record, ends, flags, entries)
        for part, rows in derived.items():
            self._note(compared(part, stored[part], rows))

    async def _read(self, part: str, load: Awaitable[T]) -> T | None:
        """Return what is stored; None, and a difference, if it cannot be read."""
        try:
            return await load
        except (DamagedError, ValueError) as error:
            self._note(Difference(part, f"cannot be read: {printable(str(error))}"))
            return None

    def _computed(self, part: str, compute: Callable[[], T]) -> T | None:
        """Return what is computed; None, and a difference, if the stored values make no sense to the computation."""
        try:
            return compute()
        except Exception as error:  # noqa: BLE001 - altered inputs may break any rule that honest ones keep
            self._note(uncomputed(part, error))
            return None

    def _note(self, difference: Difference | None) -> None:
        if difference is not None:
            self.found.append(difference)


def _alone(records: Sequence[Dispatch], void: AbstractSet[str]) -> dict[tuple[str, str], VoidDispatch]:
    """Return the dispatches that the record has as void alone; that cannot be computed again (D-26)."""
    return {
        (record.task_id, record.hotkey): VoidDispatch(record.task_id, record.hotkey, record.reason)
        for record in records
        if record.state == "void" and record.reason is not None and record.task_id not in void
    }


def _void_fault(records: Sequence[Dispatch], alone: Mapping[tuple[str, str], VoidDispatch]) -> Difference | None:
    """Return the first dispatch that is void alone without a fault of the validator."""
    wrong = next((one for one in records if (one.task_id, one.hotkey) in alone and not one.void_alone), None)
    if wrong is None:
        return None
    path = f"dispatches[{wrong.task_id}/{wrong.hotkey}].reason"
    return Difference(path, f"{printable(str(wrong.reason))} is no reason for which a dispatch alone is void")
