"""Settling: results to outcome by the pure core, then one transaction that stores it all (SPEC 4 to 11, D-6)."""

import asyncio
import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

import msgspec

from validator.kinds.judging import Judged, Key
from validator.kinds.registry import facts_of
from validator.protocol.canonical import canonical_bytes
from validator.protocol.reasons import Reason
from validator.protocol.receipt import (
    RoundEnd,
    RoundLines,
    answers_line,
    input_line,
    line_digest,
    outcome_line,
    plan_line,
)
from validator.protocol.round import (
    RawAnswers,
    Rejection,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundResults,
    VoidDispatch,
    VoidTask,
)
from validator.protocol.round.forms import outcome_form
from validator.protocol.round.telling import as_told, outcome_as_told
from validator.protocol.signatures import Signer
from validator.rounds.proving import notes_of, sealed_proofs
from validator.rounds.receipts import write_receipt
from validator.scoring import FindingKeys, Version, version
from validator.sources import Clock
from validator.store import Store, Transaction
from validator.store.dispatch import DispatchKey, JudgedAnswer
from validator.store.outcome_rows import OutcomeRows, rows_of
from validator.store.record import Record, RoundEnding, recorded
from validator.store.records import EndState
from validator.store.signed import PackedProof
from validator.store.waiting import QueuedWork, queued_checks, queued_executions


@dataclass(frozen=True, slots=True)
class Returned:
    """What came back of a round.

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
        """Yield what every dispatch came to that is not void with its task for another's sake."""
        yield from (judged.reason for judged in self.judged.values())
        yield from self.alone.values()

    def with_void_tasks(self, plan: RoundPlan) -> "Returned":
        """Return it with every task as void all of whose dispatches are, for the first one's reason (D-26)."""
        found = dict(self.void)
        for group in plan.groups:
            reasons = [self.alone.get((group.task_id, hotkey)) for hotkey, _ in group.members]
            if group.task_id not in found and reasons and reasons[0] is not None and None not in reasons:
                found[group.task_id] = reasons[0]
        return replace(self, void={g.task_id: found[g.task_id] for g in plan.groups if g.task_id in found})


def round_results(scored_by: Version, frozen: RoundInput, plan: RoundPlan, returned: Returned) -> RoundResults:
    """Return the results in plan order, completed by what only a whole round tells; what is void brings nothing."""
    counted = {
        (group.task_id, hotkey): returned.judged[group.task_id, hotkey]
        for group in plan.groups
        if group.task_id not in returned.void
        for hotkey, _ in group.members
        if (group.task_id, hotkey) not in returned.alone
    }
    rejections = [judged.result for judged in counted.values() if isinstance(judged.result, Rejection)]
    return RoundResults.of(
        (*facts_of(scored_by, frozen, counted), *rejections),
        tuple(
            VoidTask(group.task_id, returned.void[group.task_id])
            for group in plan.groups
            if group.task_id in returned.void
        ),
        tuple(
            VoidDispatch(group.task_id, hotkey, returned.alone[group.task_id, hotkey])
            for group in plan.groups
            if group.task_id not in returned.void
            for hotkey, _ in group.members
            if (group.task_id, hotkey) in returned.alone
        ),
    )


class Scored(NamedTuple):
    """What a round comes to, its bytes, its rows, what waits to be run, its proofs, and the digests for its receipt."""

    results: RoundResults
    outcome: RoundOutcome
    document: bytes
    rows: OutcomeRows
    executions: tuple[QueuedWork, ...]
    checks: tuple[QueuedWork, ...]
    proofs: tuple[PackedProof, ...]
    lines: RoundLines


async def settle_round(  # noqa: PLR0913, PLR0917 - the round, and what ends it
    store: Store,
    clock: Clock,
    signer: Signer,
    frozen: RoundInput,
    plan: RoundPlan,
    returned: Returned,
) -> RoundOutcome | None:
    """Score the round and store everything in one transaction; return the outcome, None when every task is void.

    Args:
        store: where the round is open.
        clock: for the time of its end.
        signer: the validator's hotkey, for proofs and the receipt.
        frozen: the round's input.
        plan: its groups.
        returned: what came back.

    Raises:
        UnknownScoringVersionError: the input is of a version that this program does not score.
        AlreadySettledError: the round was settled before; nothing was changed.
    """
    if all(group.task_id in returned.void for group in plan.groups):
        await void_round(store, clock, signer, frozen, plan, next(iter(returned.void.values())))
        return None
    scored_by = version(frozen.scoring_version)
    async with store.read() as tx:
        raw = await tx.submissions.raw(frozen.index)
    # A thread: hostile answers can be so long that scoring them takes a second for each group.
    with _no_collection():
        scored = await asyncio.to_thread(_score, scored_by, signer, frozen, plan, returned, raw)
    outcome, now = scored.outcome, clock.now()
    await store.lasting(lambda tx: _write_judgements(tx, frozen, scored.results, returned))
    proofs = {proof.note.task_id: proof.packed for proof in scored.proofs}
    async with store.read() as tx:
        reports = await tx.executions.reports(frozen.executions)
    end = RoundEnding(Reason.SETTLED, scored.document, outcome.groups, proofs, reports)
    record = await _recorded(store, frozen, end)

    async def write(tx: Transaction) -> None:
        await tx.rounds.settle(frozen.index, "settled", Reason.SETTLED, outcome, now, scored.rows.summary, record)
        await _write_rows(tx, frozen.index, scored.rows, scored_by.rules.reputation.start, now)
        await tx.executions.enter(frozen.index, frozen.executions, scored_by.struck_entries(frozen))
        await tx.executions.expire(frozen.index, now)
        await tx.executions.queue(scored.executions, now)
        await tx.code_checks.enter(frozen.index, frozen.filled)
        await tx.code_checks.queue(scored.checks, now)
        await write_receipt(tx, signer, now, round_end(frozen, "settled", Reason.SETTLED, scored.lines))

    await store.lasting(write)
    return outcome


async def void_round(  # noqa: PLR0913, PLR0917 - the round, and what its receipt needs
    store: Store, clock: Clock, signer: Signer, frozen: RoundInput, plan: RoundPlan, reason: Reason
) -> None:
    """End a round that enters nothing for anyone (D-6)."""
    lines = await asyncio.to_thread(planned_lines, frozen, plan)
    now = clock.now()
    record = await _recorded(store, frozen, RoundEnding(reason))

    async def write(tx: Transaction) -> None:
        await tx.rounds.settle(frozen.index, "void", reason, None, now, record=record)
        await write_receipt(tx, signer, now, round_end(frozen, "void", reason, lines))

    await store.lasting(write)


async def _recorded(store: Store, frozen: RoundInput, end: RoundEnding) -> Record:
    """Return the record of a round that is about to end: made in a thread, before the transaction that writes it."""
    async with store.read() as tx:
        rows = await tx.rounds.open_rows(frozen.index)
    return await asyncio.to_thread(recorded, rows, end)


def round_end(frozen: RoundInput, state: EndState, reason: Reason, lines: RoundLines) -> RoundEnd:
    """Return what a receipt says of a round whose input is known."""
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
    """Return the digests of a round that was planned and came to nothing."""
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


def _score(  # noqa: PLR0913, PLR0917 - everything that a round comes to
    scored_by: Version,
    signer: Signer,
    frozen: RoundInput,
    plan: RoundPlan,
    returned: Returned,
    raw: RawAnswers,
) -> Scored:
    results = msgspec.structs.replace(round_results(scored_by, frozen, plan, returned), raw=raw)
    keys = FindingKeys()
    outcome = scored_by.score(frozen, plan, results, keys)
    executions = queued_executions(scored_by, frozen, plan, outcome)
    proofs = tuple(sealed_proofs(signer, frozen, plan, results, outcome, keys))
    lines = msgspec.structs.replace(
        planned_lines(frozen, plan),
        answers=line_digest(answers_line(as_told(frozen, results))),
        outcome=line_digest(outcome_line(outcome_as_told(frozen, outcome))),
        proofs=notes_of(proofs),
    )
    checks = queued_checks(scored_by, frozen, plan, outcome)
    document = canonical_bytes(outcome_form(outcome))
    return Scored(results, outcome, document, rows_of(scored_by, frozen, outcome), executions, checks, proofs, lines)


async def _write_judgements(tx: Transaction, frozen: RoundInput, results: RoundResults, returned: Returned) -> None:
    """Store what the gates said of each answer, but for what was stored when it happened; what is void once more."""
    for (task_id, hotkey), reason in returned.alone.items():
        await tx.dispatches.void(DispatchKey(frozen.index, task_id, hotkey), reason)
    submissions = {(answer.task_id, answer.hotkey): answer for answer in results.passed}
    judged = [
        JudgedAnswer(DispatchKey(frozen.index, *key), one.reason, submissions.get(key), one.detail)
        for key, one in returned.judged.items()
        if not one.stored and key[0] not in returned.void
    ]
    if judged:
        await tx.arrivals.judged(judged)


async def _write_rows(tx: Transaction, round_id: int, rows: OutcomeRows, start: float, now: datetime) -> None:
    """Store what the round left behind; `start` is the reputation of who had none."""
    await tx.agreements.put_all(round_id, rows.agreements)
    for flag in rows.flags:
        flag_id = await tx.flags.raise_(flag, round_id, now)
        await tx.agreements.consume(flag.hotkey, flag.skill_type, flag_id)
    await tx.reputations.apply(rows.reputation_events, start)
    await tx.windows.add(rows.window_entries)
