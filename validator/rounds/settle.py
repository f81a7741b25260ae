"""Settling: results to outcome by the pure core, then everything in one transaction (SPEC 4 to 11)."""

import asyncio
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import msgspec

from sssa.kinds.interface import ProvenTask
from sssa.kinds.judging import Judged, Key
from sssa.kinds.registry import kind_of
from sssa.proofs.document import Unsealed, signed
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.dispatch_record import DispatchKey, JudgedAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import (
    ProofNote,
    RoundEnd,
    RoundLines,
    input_line,
    line_digest,
    outcome_line,
    plan_line,
    wrapped,
)
from sssa.protocol.results import Packed, Rejection, RoundResults, VoidDispatch
from sssa.protocol.round import (
    GroupPlan,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundTask,
    committed_tasks,
    expected_commands,
    published_outcome,
)
from sssa.protocol.signatures import Signer
from sssa.protocol.waiting_work import QueuedWork
from sssa.protocol.workflow_run import WorkflowRun
from sssa.scoring import FindingKeys, ScoredTask, Version, measured_runs, round_outcome, struck_entries, version
from sssa.sources import Clock
from sssa.state.round_end import Ended, step_unscored
from validator.rounds.receipts import write_receipt
from validator.store import Store, Transaction
from validator.store.codec import compressed
from validator.store.record import Record, RoundEnding, recorded
from validator.store.repositories.waiting_work import queued_checks, queued_executions
from validator.store.rows import EndState, PackedProof, WindowEntry, entries_of


@dataclass(frozen=True, slots=True)
class Returned:
    """The judged answers and failures of a round.

    Attributes:
        judged: (task_id, hotkey) to judgement, of every dispatch that is not void.
        void: task_id to the reason why it enters nothing; see `with_void_tasks`.
        alone: (task_id, hotkey) to the reason why that dispatch enters nothing (D-26).
        any_response: whether any dispatch got any HTTP response (D-6).
        most_open: how many requests were open at the same time.
    """

    judged: Mapping[Key, Judged]
    void: Mapping[str, Reason] = field(default_factory=dict)
    alone: Mapping[Key, Reason] = field(default_factory=dict)
    any_response: bool = True
    most_open: int = 0

    @property
    def reasons(self) -> Iterator[Reason]:
        """Yield the result of every dispatch that is not void because of another one."""
        yield from (judged.reason for judged in self.judged.values())
        yield from self.alone.values()

    def with_void_tasks(self, plan: RoundPlan) -> "Returned":
        """Return it with every task as void all of whose dispatches are, for the first one's reason (D-26)."""
        void = dict(self.void)
        for group in plan.groups:
            reasons = [self.alone.get((group.task_id, hotkey)) for hotkey, _ in group.members]
            if group.task_id not in void and reasons and reasons[0] is not None and None not in reasons:
                void[group.task_id] = reasons[0]
        return replace(self, void={g.task_id: void[g.task_id] for g in plan.groups if g.task_id in void})


class Scored(NamedTuple):
    """The result of a round: its outcome, the outcome's canonical bytes, what a step takes, and what the store gets.

    `judged` has the judgements of answers that are not stored yet; `proofs` are sealed, in plan
    order; `lines` are the digests for the receipt, but that of the answers.
    """

    outcome: RoundOutcome
    document: bytes
    ended: Ended
    judged: Sequence[JudgedAnswer]
    entries: tuple[WindowEntry, ...]
    executions: tuple[QueuedWork, ...]
    checks: tuple[QueuedWork, ...]
    proofs: Sequence[PackedProof]
    lines: RoundLines


class SettledGroup(NamedTuple):
    """The result of one task; the answers are bytes again.

    Attributes:
        answers: those that passed, by hotkey, completed by what the whole group tells.
        measured: as in `Ended`.
        proof: None for a task without a group.
    """

    scored: ScoredTask
    answers: Mapping[str, Packed]
    measured: Mapping[Key, WorkflowRun]
    proof: PackedProof | None


async def settle_round(  # noqa: PLR0913, PLR0917 - the round, and what ends it
    store: Store,
    clock: Clock,
    signer: Signer,
    frozen: RoundInput,
    plan: RoundPlan,
    returned: Returned,
) -> RoundOutcome | None:
    """Score the round and store the result in one transaction; return the outcome, None if all is void.

    Raises:
        UnknownScoringVersionError: the input is of a version that this program does not score.
        AlreadySettledError: the round was settled before; nothing was changed.
    """
    if all(group.task_id in returned.void for group in plan.groups):
        await void_round(store, clock, signer, frozen, plan, next(iter(returned.void.values())))
        return None
    scored_by = version(frozen.scoring_version)
    # A thread: hostile answers can be so long that scoring them takes a second for each group.
    with _no_collection():
        scored = await asyncio.to_thread(_score, scored_by, signer, frozen, plan, returned)
    outcome, now = scored.outcome, clock.now()
    proofs = {proof.note.task_id: proof.packed for proof in scored.proofs}
    async with store.read() as tx:
        reports = await tx.executions.reports(frozen.executions)
    commands = expected_commands(frozen)
    judged, alone = scored.judged, returned.alone
    end = RoundEnding(Reason.SETTLED, scored.document, outcome.groups, proofs, reports, commands, judged, alone)
    record = await _recorded(store, frozen, end)
    lines = msgspec.structs.replace(scored.lines, answers=record.answers)

    async def write(tx: Transaction) -> None:
        await tx.rounds.settle(frozen.index, "settled", Reason.SETTLED, outcome, now, record, scored.entries)
        await tx.state.step(scored.ended, scored_by.step, now)
        struck = await tx.windows.strike(struck_entries(frozen))
        await tx.executions.enter(frozen.index, frozen.executions, struck)
        await tx.executions.expire(frozen.index, now)
        await tx.executions.queue(scored.executions, now)
        await tx.code_checks.enter(frozen.index, frozen.filled)
        await tx.code_checks.queue(scored.checks, now)
        await write_receipt(tx, signer, now, round_end(frozen, "settled", Reason.SETTLED, lines))

    await store.lasting(write)
    return outcome


async def void_round(  # noqa: PLR0913, PLR0917 - the round, and what its receipt needs
    store: Store,
    clock: Clock,
    signer: Signer,
    frozen: RoundInput,
    plan: RoundPlan,
    reason: Reason,
    state: Literal["void", "abandoned"] = "void",
) -> None:
    """End a round that enters nothing for anyone (D-6); the log has the end of each dispatch."""
    now = clock.now()
    record = await _recorded(store, frozen, RoundEnding(reason))
    lines = msgspec.structs.replace(await asyncio.to_thread(planned_lines, frozen, plan), answers=record.answers)

    async def write(tx: Transaction) -> None:
        await tx.rounds.settle(frozen.index, state, reason, None, now, record)
        await tx.state.step(Ended(frozen, plan, state), step_unscored, now)
        await write_receipt(tx, signer, now, round_end(frozen, state, reason, lines))

    await store.lasting(write)


async def _recorded(store: Store, frozen: RoundInput, end: RoundEnding) -> Record:
    """Return the record of a round that is about to end: made in a thread, before the transaction that writes it."""
    async with store.read() as tx:
        rows = await tx.rounds.open_rows(frozen.index)
    return await asyncio.to_thread(recorded, rows, end)


def round_end(frozen: RoundInput, state: EndState, reason: Reason, lines: RoundLines) -> RoundEnd:
    """Return the part of a receipt about a round with a readable input."""
    snapshot = frozen.snapshot
    return RoundEnd(
        round_id=frozen.round_id,
        epoch=snapshot.epoch,
        block=snapshot.block,
        block_hash=snapshot.block_hash,
        state=state,
        reason=reason,
        scoring_version=frozen.scoring_version,
        lines=lines,
    )


def planned_lines(frozen: RoundInput, plan: RoundPlan) -> RoundLines:
    """Return the digests of what a round began with."""
    return RoundLines(input=line_digest(input_line(frozen)), plan=line_digest(plan_line(plan)))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Leave cyclic garbage for a while: among so many values each search stops every thread for up to 0.1 s."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _score(
    scored_by: Version,
    signer: Signer,
    frozen: RoundInput,
    plan: RoundPlan,
    returned: Returned,
) -> Scored:
    """Return the result of a round; the answers of one group at a time are decoded."""
    groups = {
        task.task_id: _settled_group(scored_by, signer, frozen, task, group, returned)
        for task, group in zip(frozen.tasks, plan.groups, strict=True)
        if task.task_id not in returned.void
    }
    outcome = round_outcome(
        scored_by, frozen, plan, returned.void, {task_id: group.scored for task_id, group in groups.items()}
    )
    proofs = [group.proof for group in groups.values() if group.proof is not None]
    lines = msgspec.structs.replace(
        planned_lines(frozen, plan),
        outcome=line_digest(outcome_line(published_outcome(outcome, committed_tasks(frozen)))),
        proofs=tuple(proof.note for proof in proofs),
    )
    measured = {key: run for group in groups.values() for key, run in group.measured.items()}
    return Scored(
        outcome,
        canonical_bytes(outcome),
        Ended(frozen, plan, "settled", outcome, measured),
        _judged(frozen, returned, groups),
        entries_of(frozen, outcome),
        queued_executions(frozen, plan, outcome),
        queued_checks(frozen, plan, outcome),
        proofs,
        lines,
    )


def _settled_group(  # noqa: PLR0913, PLR0917 - a task of a round, and what came back
    scored_by: Version, signer: Signer, frozen: RoundInput, task: RoundTask, group: GroupPlan, returned: Returned
) -> SettledGroup:
    judged = {
        hotkey: returned.judged[task.task_id, hotkey]
        for hotkey, _ in group.members
        if (task.task_id, hotkey) not in returned.alone
    }
    completed = kind_of(task).completed(scored_by, judged)
    answers = [one.unpacked() for one in completed.values()]
    rejections = [one.result for one in judged.values() if isinstance(one.result, Rejection)]
    alone = tuple(VoidDispatch(*key, reason) for key, reason in returned.alone.items() if key[0] == task.task_id)
    keys = FindingKeys()
    results = RoundResults.of((*answers, *rejections), alone=alone)
    scored = scored_by.score_group(frozen, task, group, results, keys)
    return SettledGroup(
        scored,
        completed,
        measured_runs(task, answers, scored),
        _sealed_proof(signer, ProvenTask(frozen, task, answers, scored, keys)),
    )


def _sealed_proof(signer: Signer, settled: ProvenTask[RoundTask]) -> PackedProof | None:
    """Return a task's proof, sealed and packed: hostile answers make proofs of megabytes, which shrink to little."""
    proof = kind_of(settled.task).prove(settled)
    if proof is None:
        return None
    made = Unsealed.of(proof)
    data = made.under(signed(made, signer))
    note = ProofNote(settled.task.task_id, made.checksum, line_digest(wrapped("proof", data)))
    return PackedProof(note, compressed(data))


def _judged(frozen: RoundInput, returned: Returned, groups: Mapping[str, SettledGroup]) -> list[JudgedAnswer]:
    return [
        JudgedAnswer(
            DispatchKey(frozen.index, task_id, hotkey), one.reason, groups[task_id].answers.get(hotkey), one.detail
        )
        for (task_id, hotkey), one in returned.judged.items()
        if not one.stored and task_id in groups
    ]
