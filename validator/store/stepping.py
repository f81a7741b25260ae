"""States computed again from records, for `db check`."""

from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from sqlalchemy import and_, func, select

from sssa.protocol import typed
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask, RoundInput
from sssa.protocol.text import printable
from sssa.protocol.workflow_run import WorkflowRun
from sssa.scoring import UnknownScoringVersionError, deferred_runs, measure, version
from sssa.state.mechanism_state import Delta, State
from sssa.state.round_end import Ended, UnknownFlagError, apply, mark_unknown_plan, record_vector, step_unscored
from validator.store.codec import expanded
from validator.store.errors import DamagedError
from validator.store.tables import receipts, rounds, weight_links
from validator.store.transaction import Transaction


class _Vector(msgspec.Struct):
    round_id: str | None


_EVENTS: Final = (
    select(
        receipts.c.round_id,
        rounds.c.state,
        weight_links.c.netuid,
        weight_links.c.mechid,
        weight_links.c.epoch,
        weight_links.c.line,
    )
    .outerjoin_from(receipts, rounds, rounds.c.round_id == receipts.c.round_id)
    .outerjoin(weight_links, weight_links.c.sequence == receipts.c.sequence)
    .order_by(receipts.c.sequence)
)


async def steps(
    tx: Transaction, base: int | None, state: State, through: int | None = None
) -> AsyncIterator[tuple[int | None, State]]:
    """Yield (round, state after it) for each receipt behind that of a round; None: the receipt is of a vector.

    `state` is what the round `base` left, None: before all receipts; `through` is the last round, None: the newest that
    has ended (DamagedError: a round does not follow from those before it).
    """
    after = -1 if base is None else await _sequence(tx, base)
    last = receipts.c.sequence <= await _sequence(tx, through) if through is not None else receipts.c.sequence > after
    events = _EVENTS.where(and_(receipts.c.sequence > after, last), receipts.c.kind.in_(("round", "weights")))
    for row in (await tx.connection.execute(events)).all():
        if row.line is not None:
            vector = typed.decode(expanded(row.line), dict[str, _Vector])["weights"]
            state = record_vector(state, (row.netuid, row.mechid), row.epoch, vector.round_id)
        elif row.round_id is not None:
            state = await _stepped(tx, state, row)
        yield row.round_id, state


async def _sequence(tx: Transaction, round_id: int) -> int:
    of_round = select(func.max(receipts.c.sequence)).where(receipts.c.round_id == round_id)
    sequence = await tx.connection.scalar(of_round)
    return -1 if sequence is None else int(sequence)


async def _stepped(tx: Transaction, state: State, row: Any) -> State:
    head = await tx.records.head(row.round_id)
    plan = await tx.records.plan(row.round_id)
    if head is None or head.input is None or plan is None:
        return mark_unknown_plan(state, row.round_id) if row.state == "abandoned" else state
    try:
        frozen = typed.decode(head.input, RoundInput)
        outcome = await tx.records.outcome(row.round_id)
        if outcome is None:
            return apply(
                state, step_unscored(state, Ended(frozen, plan, "void" if row.state == "void" else "abandoned"))
            )
        scored_by = version(frozen.scoring_version)
        measured = await _measured(tx, Ended(frozen, plan, "settled", outcome))
        delta: Delta = scored_by.step(state, Ended(frozen, plan, "settled", outcome, measured))
    except msgspec.MsgspecError as error:
        raise DamagedError(f"the record of round {row.round_id} cannot be read: {printable(str(error))}") from None
    except (UnknownFlagError, UnknownScoringVersionError, KeyError, ValueError) as error:
        raise DamagedError(f"round {row.round_id} does not follow from those before it: {error}") from None
    return apply(state, delta)


async def _measured(tx: Transaction, ended: Ended) -> dict[tuple[str, str], WorkflowRun]:
    """Return the measurements of a settled round's runs whose quality was deferred (see `Ended`)."""
    frozen, measured = ended.frozen, dict[tuple[str, str], WorkflowRun]()
    deferred = deferred_runs(frozen, ended.plan, ended.outcome) if ended.outcome is not None else ()
    if not deferred:
        return measured
    goals = {task.task_id: task.goal for task in frozen.tasks if isinstance(task, GoalTask)}
    results = await tx.submissions.results(frozen.index, {one.task_id for one in deferred})
    runs = {(one.task_id, one.hotkey): one for one in results.passed if isinstance(one, WorkflowSubmission)}
    for one in deferred:
        run = runs[one.task_id, one.hotkey]
        measured[one.task_id, one.hotkey] = measure(goals[one.task_id], run.plan, run.run, 0.0)
    return measured
