"""Settling of rounds that a crash or a lost store left open, before each new round; unanswered tasks are void (D-6)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from sssa.kinds.judging import Judged, Key, expected_of, reject
from sssa.kinds.registry import kind_of
from sssa.protocol.dispatch_record import Dispatch
from sssa.protocol.reasons import OURS, Reason
from sssa.protocol.receipt import RoundEnd, RoundLines
from sssa.protocol.results import Packed
from sssa.protocol.round import RoundInput
from sssa.protocol.signatures import Signer
from sssa.scoring import UnknownScoringVersionError, plan_round, version
from sssa.sources import Clock
from validator.cancellation import complete, together
from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.receipts import write_receipt
from validator.rounds.settle import Returned, settle_round, void_round
from validator.store import Store, Transaction
from validator.store.errors import DamagedError, StoreError
from validator.store.repositories.records import unpacked
from validator.store.rows import StoredRound
from validator.workers.interface import WorkerKilledError

_AT_A_TIME: Final = 4  # stored answers in memory
_log = structlog.get_logger()


Reachable = Callable[[], Awaitable[bool]]


async def resume_rounds(  # noqa: PLR0913, PLR0917 - the rounds, and what ends them
    store: Store,
    clock: Clock,
    signer: Signer,
    gates: Gatekeeper,
    reachable: Reachable,
    why: Reason = Reason.BUG_CRASH,
) -> list[str]:
    """Bring every unfinished round to an end; return their ids.

    A round whose input cannot be read again, or is of a scoring version that this program does not score, is abandoned
    whole; one of another version that it does score is settled by that version. In those that are not abandoned every
    task whose dispatches all ended is settled from the stored answers; a task with a dispatch that was planned or sent
    is void for the reason `why`. A round without any HTTP response is void when the validator is offline now: that is
    the best that can be known of then (D-6).
    """
    async with store.read() as tx:
        unfinished = await tx.rounds.unfinished()
    for stored in unfinished:
        await _resume(store, clock, signer, gates, reachable, stored, why)
    return [str(stored.record.round_id) for stored in unfinished]


async def _resume(  # noqa: PLR0913, PLR0917 - the round, and what ends it
    store: Store,
    clock: Clock,
    signer: Signer,
    gates: Gatekeeper,
    reachable: Reachable,
    stored: StoredRound,
    why: Reason,
) -> None:
    if stored.input is None:
        await _abandon(store, clock, signer, stored, Reason.ABANDONED_INPUT)
        return
    try:
        plan = plan_round(version(stored.input.scoring_version), stored.input)
    except UnknownScoringVersionError:
        await _abandon(store, clock, signer, stored, Reason.ABANDONED_VERSION)
        return
    returned = (await _returned(store, gates, stored.input, why)).with_void_tasks(plan)
    offline = not returned.any_response and not await reachable()
    frozen = stored.input

    async def end() -> None:
        if offline:
            await void_round(store, clock, signer, frozen, plan, Reason.VOID_OFFLINE)
            outcome = None
        else:
            outcome = await settle_round(store, clock, signer, frozen, plan, returned)
        _log.warning(
            "round_resumed",
            round_id=frozen.round_id,
            settled=outcome is not None,
            void_tasks=len(returned.void),
            tasks=len(plan.groups),
        )

    await complete(end())


async def _abandon(store: Store, clock: Clock, signer: Signer, stored: StoredRound, reason: Reason) -> None:
    record, frozen = stored.record, stored.input
    round_id = record.round_id
    if frozen is not None:
        async with store.read() as tx:
            plan = await tx.groups.plan_of(round_id)
        await void_round(store, clock, signer, frozen, plan, reason, "abandoned")
    else:
        now = clock.now()
        end = RoundEnd(
            str(round_id), record.epoch, record.block, record.block_hash, "abandoned", reason, None, RoundLines()
        )

        async def write(tx: Transaction) -> None:
            await tx.rounds.settle(round_id, "abandoned", reason, None, now)
            await tx.acts.take_back(round_id)  # the log does not show this input: the next one has its acts
            await tx.state.cloud(round_id)
            await write_receipt(tx, signer, now, end)

        await store.lasting(write)
    _log.error("round_abandoned", round_id=str(round_id), reason=reason)


async def _returned(store: Store, gates: Gatekeeper, frozen: RoundInput, why: Reason) -> Returned:
    async with store.read() as tx:
        records = await tx.dispatches.of_round(frozen.index)
    ran = await _runs(store, frozen)
    void = {record.task_id: why for record in records if record.state in ("planned", "sent")}
    alone = {_key(record): record.reason for record in records if record.void_alone and record.reason}
    turns = asyncio.Semaphore(_AT_A_TIME)

    async def ended(record: Dispatch) -> Judged | Reason:
        kept = ran.get((record.task_id, record.hotkey))
        if kept is not None:
            return kept
        async with turns:
            return await _judge_again(store, gates, frozen, record)

    counted = [record for record in records if record.task_id not in void and _key(record) not in alone]
    judged: dict[Key, Judged] = {}
    for record, end in zip(counted, await together(map(ended, counted)), strict=True):
        if not isinstance(end, Reason):
            judged[_key(record)] = end
        elif end in OURS:
            alone[_key(record)] = end
        else:
            void[record.task_id] = end
    return Returned(judged, void, alone, any_response=any(record.http_status is not None for record in records))


def _key(dispatch: Dispatch) -> Key:
    return dispatch.task_id, dispatch.hotkey


async def _runs(store: Store, frozen: RoundInput) -> dict[Key, Judged]:
    """Return the runs that were kept before the crash; none if one of them cannot be read."""
    windows = {task.task_id: task.windows for task in frozen.tasks if kind_of(task).runs}
    ran: dict[Key, Judged] = {}
    async with store.read() as tx:
        async for dispatch, kept in tx.submissions.each(frozen.index, windows):
            if isinstance(kept, DamagedError):
                return {}
            if isinstance(kept, Packed):
                try:
                    reason = unpacked(dispatch, kept).reason(windows[kept.task_id])
                except DamagedError:
                    return {}
                ran[kept.task_id, kept.hotkey] = Judged(kept, reason)
    return ran


async def _judge_again(store: Store, gates: Gatekeeper, frozen: RoundInput, record: Dispatch) -> Judged | Reason:
    """Return what the gates say of the stored answer, or why it (one of `OURS`) or its task is void.

    An answer that was stored cannot be read any more, or its run was cut off: running it again would cost again, and
    what happened would happen twice.
    """
    task = next(task for task in frozen.tasks if task.task_id == record.task_id)
    expected = expected_of(frozen, task, record.hotkey, record.role)
    if record.state == "failed" and record.reason is not None:
        known = record.reason.gate  # another version may have stored the code of a gate that this one does not have
        return reject(expected, record.reason, record.seconds, record.detail or "") if known else Reason.BUG_INTERNAL
    async with store.read() as tx:
        body = await tx.dispatches.answer_body(record.key)
    if body is None or record.seconds is None:
        return Reason.BUG_INTERNAL
    try:
        judged = await gates.judge(record.key, expected, lambda: body, record.seconds)
    except StoreError:
        raise
    except WorkerKilledError:
        return Reason.LOCAL_RESOURCES
    except Exception:  # noqa: BLE001 - a fault of ours over one answer must not keep the round open for ever
        _log.exception("dispatch_failed", round_id=frozen.round_id, task_id=task.task_id, hotkey=record.hotkey)
        return Reason.BUG_INTERNAL
    return judged if isinstance(judged, Judged) else Reason.BUG_CRASH
