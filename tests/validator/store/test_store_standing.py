from collections.abc import Iterator, Mapping

import msgspec
from store_examples import HOTKEYS, PYTHON, RAG, a_round, answer_all, at, play_round, settle, step

from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundPlan
from sssa.protocol.skill_types import SkillType
from sssa.state.mechanism_state import Declarations, Pair, State
from validator.store import Store
from validator.store.rows import EndState, UnpaidWindow, VectorRecord
from validator.store.vector_inputs import present_state

A, B, C, D, E = HOTKEYS


async def freeze(
    store: Store,
    round_id: int,
    *,
    declared: Mapping[str, tuple[SkillType, ...]] | None = None,
    excluded: Mapping[str, str] | None = None,
    members: tuple[str, ...] = (B, C, D),
) -> RoundPlan:
    """Open a round of one python task in which these declare these types and the plan leaves these out."""
    frozen, plan = a_round(round_id, {PYTHON: members})
    if declared is not None:
        miners = tuple(
            msgspec.structs.replace(miner, skill_types=declared[miner.hotkey])
            for miner in frozen.miners
            if miner.hotkey in declared
        )
        frozen = msgspec.structs.replace(frozen, miners=miners)
    groups = tuple(msgspec.structs.replace(group, excluded=dict(excluded or {})) for group in plan.groups)
    plan = RoundPlan(plan.round_id, groups)
    async with store.begin() as tx:
        await tx.rounds.open(frozen, plan, at(round_id))
    return plan


async def end(store: Store, plan: RoundPlan, state: EndState = "settled") -> None:
    await answer_all(store, plan)
    if state == "settled":
        await settle(store, plan)
        return
    async with store.begin() as tx:
        await tx.rounds.settle(int(plan.round_id), state, Reason.VOID_OFFLINE, None, at(99))
        await step(tx, plan, state, None)


async def declared_since(store: Store, after: int | None) -> set[tuple[str, str]]:
    async with store.read() as tx:
        state = await present_state(tx)
    found = Declarations.since(state.shared, after)
    return {(hotkey, name) for hotkey, name, pair in pairs_of(state) if found.holds(pair.number)}


def pairs_of(state: State) -> Iterator[tuple[str, SkillType, Pair]]:
    return ((hotkey, name, pair) for hotkey, miner in state.miners.items() for name, pair in miner.pairs.items())


async def unproven(store: Store) -> dict[tuple[str, str], int]:
    """(hotkey, skill type) to the newest round that left it out."""
    async with store.read() as tx:
        state = await present_state(tx)
    return {(hotkey, name): pair.excluded for hotkey, name, pair in pairs_of(state) if pair.excluded is not None}


async def test_missing_in_more_than_half_of_the_rounds_is_not_declared(store: Store) -> None:
    mostly: dict[str, tuple[SkillType, ...]] = {A: (PYTHON, RAG), B: (RAG,)}
    rounds: list[dict[str, tuple[SkillType, ...]]] = [mostly, mostly, {A: (RAG,), B: (RAG,)}, {B: (RAG, PYTHON)}]
    for round_id, declared in enumerate(rounds):
        await end(store, await freeze(store, round_id, declared=declared))
    assert await declared_since(store, None) == {(A, PYTHON), (A, RAG), (B, RAG)}  # half is not more than half
    assert await declared_since(store, 0) == {(A, RAG), (B, RAG)}
    assert await declared_since(store, 2) == {(B, PYTHON), (B, RAG)}


async def test_without_a_round_since_the_last_vector_the_last_one_frozen_counts(store: Store) -> None:
    assert await declared_since(store, None) == set()
    await end(store, await freeze(store, 0, declared={A: (PYTHON,)}))
    assert await declared_since(store, 0) == {(A, PYTHON)}
    await freeze(store, 1, declared={A: (RAG,)})  # open: not yet one that counts
    assert await declared_since(store, 0) == {(A, RAG)}
    assert await declared_since(store, None) == {(A, PYTHON)}


async def test_void_rounds_count_abandoned_and_skipped_ones_do_not(store: Store) -> None:
    await end(store, await freeze(store, 0, declared={A: (RAG,)}), "void")
    for round_id in (1, 2):
        await end(store, await freeze(store, round_id, declared={A: (PYTHON,)}), "abandoned")
    async with store.begin() as tx:
        await tx.rounds.skip(3, epoch=0, block=3, block_hash="00", reason=Reason.SKIPPED_NO_TASKS, at=at(3))
    assert await declared_since(store, None) == {(A, RAG)}
    assert await declared_since(store, 0) == {(A, PYTHON)}


async def test_who_was_left_out_is_unproven_until_an_answer_of_a_later_round_passes(store: Store) -> None:
    left_out = {A: "low_reputation", E: "failure_rate", "miner-x": "collusion_flags", "miner-y": "in_flight"}
    plan = await freeze(store, 0, excluded=left_out)
    expected = {(A, "executable_python"): 0}
    expected[E, "executable_python"] = 0
    assert await unproven(store) == expected
    await end(store, plan)
    assert await unproven(store) == expected

    await end(store, await freeze(store, 1, members=(A, B, C)))
    del expected[A, "executable_python"]
    assert await unproven(store) == expected


async def test_an_answer_of_another_type_or_one_that_failed_or_is_void_proves_nothing(store: Store) -> None:
    await end(store, await freeze(store, 0, excluded={A: "low_reputation"}))
    await play_round(store, 1, {RAG: (A, B, C)})
    await play_round(store, 2, {PYTHON: (A, B, C)}, failing=frozenset({A}))
    await end(store, await freeze(store, 3, members=(A, B, C)), "void")
    assert (await unproven(store))[A, "executable_python"] == 0


async def test_an_answer_of_the_very_round_that_left_the_miner_out_proves_nothing(store: Store) -> None:
    await end(store, await freeze(store, 0, excluded={B: "low_reputation"}, members=(A, B, C)))
    assert await unproven(store) == {(B, "executable_python"): 0}


async def test_an_exclusion_of_a_round_that_is_void_stands_and_a_later_one_is_newer(store: Store) -> None:
    await end(store, await freeze(store, 0, excluded={A: "low_reputation"}), "void")
    assert await unproven(store) == {(A, "executable_python"): 0}
    await end(store, await freeze(store, 1, excluded={A: "failure_rate"}))
    assert await unproven(store) == {(A, "executable_python"): 1}


async def test_what_decides_survives_the_end_of_retention(store: Store) -> None:
    await end(store, await freeze(store, 0, declared={A: (RAG,)}, excluded={B: "low_reputation"}))
    before = await declared_since(store, None), await unproven(store)
    async with store.begin() as tx:
        assert (await tx.retention.prune(answers_before=at(1_000), bundles_before=at(1_000))).answers == 3
    assert (await declared_since(store, None), await unproven(store)) == before


async def test_the_newest_frozen_round_names_its_version(store: Store) -> None:
    async with store.read() as tx:
        assert await tx.rounds.newest_frozen() is None
    for round_id in range(3):
        await freeze(store, round_id)
    async with store.begin() as tx:
        await tx.rounds.skip(3, epoch=0, block=3_000, block_hash="00", reason=Reason.SKIPPED_NO_TASKS, at=at(3))
        first = await tx.rounds.get(1)
        assert first is not None
        newest, earlier = await tx.rounds.newest_frozen(), await tx.rounds.newest_frozen(first.record.block)
    assert newest is not None
    assert (newest.round_id, newest.scoring_version) == (2, "1.0.0")
    assert earlier == (1, 7, first.record.epoch, first.record.block, "1.0.0")


async def test_a_vector_is_written_down_once_per_epoch_and_found_by_later_ones(store: Store) -> None:
    await freeze(store, 0)
    unpaid = (
        UnpaidWindow(A, "executable_python", Reason.UNDECLARED, "0 of 1", 7, None),
        UnpaidWindow(B, "x", Reason.UNPROVEN, "", 6, 0),
    )
    first = VectorRecord(1, 0, 7, None, 140, "1.0.0", positive=False, unpaid=(), computed_at=at(1))
    again = VectorRecord(1, 0, 7, 0, 141, "1.0.0", positive=True, unpaid=unpaid, computed_at=at(2))
    async with store.begin() as tx:
        await tx.vectors.put(first)
        await tx.vectors.put(again)
    async with store.read() as tx:
        assert await tx.vectors.of_epoch(1, 0, 7) == again
        assert await tx.vectors.newest(1, 0, 8) == await tx.vectors.newest(1, 0) == again
        assert await tx.vectors.newest(1, 0, 7) is None
        assert await tx.vectors.newest(1, 1, 8) is None
