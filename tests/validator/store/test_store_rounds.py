import pytest
from msgspec.structs import replace
from store_examples import (
    HOTKEYS,
    MCP,
    PYTHON,
    RAG,
    a_rejected,
    a_round,
    an_outcome,
    answer_all,
    at,
    open_round,
    task_id,
)

from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundPlan
from validator.store import Store
from validator.store.errors import (
    AlreadyOpenedError,
    MismatchError,
)
from validator.store.rows import RoundSummary


async def test_a_whole_round_comes_back_as_it_went_in(store: Store) -> None:
    frozen, plan = await open_round(store, 0, {PYTHON: HOTKEYS, RAG: HOTKEYS[1:4], MCP: ()})
    await answer_all(store, plan, failing=frozenset({"miner-e"}))
    outcome = an_outcome(0, plan, {task_id(0, MCP): Reason.SKIPPED_NO_CANDIDATES})
    python_task = plan.groups[0].task_id
    late = a_rejected(python_task, "miner-e", "auditor")
    members = tuple(late if (m.task_id, m.hotkey) == (python_task, "miner-e") else m for m in outcome.members)
    outcome = replace(outcome, members=members)
    async with store.begin() as tx:
        await tx.rounds.settle(0, "settled", Reason.SETTLED, outcome, at(60))

    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        assert stored is not None
        assert stored.input == frozen
        assert stored.outcome == outcome
        assert stored.record.input_sha256 == sha256_hex(canonical_bytes(frozen))
        assert stored.record.outcome_sha256 == sha256_hex(canonical_bytes(outcome))
        assert (stored.record.state, stored.record.reason) == ("settled", "settled")
        assert (stored.record.started_at, stored.record.settled_at) == (at(0), at(60))
        assert (stored.record.task_count, stored.record.dispatch_count) == (3, 8)
        assert (stored.record.accepted_count, stored.record.failed_count) == (7, 1)
        means = stored.record.mean_quality, stored.record.mean_consensus
        assert RoundSummary(7, 1, *means) == RoundSummary.of(outcome)
        assert await tx.groups.plan_of(0) == plan
        assert tuple(group.outcome for group in await tx.groups.of_round(0)) == outcome.groups
        tasks = await tx.tasks.of_round(0)
        assert [(task.skill_type, task.state, task.mode) for task in tasks] == [
            (PYTHON, "settled", "full"),
            (RAG, "settled", "degraded_3"),
            (MCP, "skipped", "skip"),
        ]
        assert [task.nonce for task in tasks] == [task.nonce for task in frozen.tasks]
        assert await tx.scores.of_round(0) == members
        newest = await tx.scores.of_miner("miner-e", 5)
        assert [(score.round_id, score.skill_type) for score in newest] == [(0, PYTHON)]
        assert newest[0].outcome == a_rejected(python_task, "miner-e", "auditor")
        assert await tx.rounds.unfinished() == ()


async def test_a_dispatch_has_its_place_in_the_group(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS})
    async with store.read() as tx:
        stored = {(one.key.hotkey, one.role): one.rank for one in await tx.submissions.open_dispatches(0)}
    assert stored == {member: place for place, member in enumerate(plan.groups[0].members)}


async def test_ids_count_up_without_gaps(store: Store) -> None:
    async with store.read() as tx:
        assert await tx.rounds.next_id() == 0
    await open_round(store, 0)
    async with store.begin() as tx:
        assert await tx.rounds.next_id() == 1
        await tx.rounds.skip(1, epoch=4, block=9, block_hash="ff", reason=Reason.SKIPPED_NO_TASKS, at=at(1))
        assert await tx.rounds.next_id() == 2


async def test_a_skipped_round_has_facts_and_no_documents(store: Store) -> None:
    async with store.begin() as tx:
        await tx.rounds.skip(0, epoch=4, block=9, block_hash="ff", reason=Reason.SKIPPED_NO_TASKS, at=at(1))
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        assert stored is not None
        assert (stored.input, stored.outcome, stored.record.input_sha256) == (None, None, None)
        assert (stored.record.state, stored.record.reason, stored.record.epoch) == ("skipped", "skipped_no_tasks", 4)
        assert await tx.rounds.get(1) is None


async def test_rounds_are_listed_newest_first_and_page_by_page(store: Store) -> None:
    for round_id in range(5):
        async with store.begin() as tx:
            await tx.rounds.skip(round_id, epoch=0, block=1, block_hash="", reason=Reason.SKIPPED_NO_TASKS, at=at(1))
    async with store.read() as tx:
        first = await tx.rounds.listing(2)
        assert [record.round_id for record in first] == [4, 3]
        assert [record.round_id for record in await tx.rounds.listing(9, before=3)] == [2, 1, 0]


async def test_a_round_id_is_used_once(store: Store) -> None:
    await open_round(store, 0)
    frozen, plan = a_round(0)
    async with store.begin() as tx:
        with pytest.raises(AlreadyOpenedError, match="round 0"):
            await tx.rounds.open(frozen, plan, at(0))
        with pytest.raises(AlreadyOpenedError):
            await tx.rounds.skip(0, epoch=0, block=1, block_hash="", reason=Reason.SKIPPED_NO_TASKS, at=at(1))


async def test_input_and_plan_must_be_of_one_round(store: Store) -> None:
    frozen, plan = a_round(0, {PYTHON: HOTKEYS, RAG: HOTKEYS})
    wrong = [RoundPlan("1", plan.groups), RoundPlan("0", plan.groups[::-1]), RoundPlan("0", plan.groups[:1])]
    for other in wrong:
        with pytest.raises(MismatchError):
            async with store.begin() as tx:
                await tx.rounds.open(frozen, other, at(0))
    async with store.read() as tx:
        assert await tx.rounds.next_id() == 0


async def test_opening_notes_the_neurons(store: Store) -> None:
    for round_id in (0, 1):
        frozen, plan = a_round(round_id)
        async with store.begin() as tx:
            await tx.rounds.open(frozen, plan, at(0))
    async with store.read() as tx:
        assert [(m.hotkey, m.last_seen_block) for m in await tx.miners.listing(at(0))] == [(h, 1001) for h in HOTKEYS]
