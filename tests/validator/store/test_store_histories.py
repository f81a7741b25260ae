from collections.abc import Mapping, Sequence

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from state_kit import histories_of
from store_examples import HOTKEYS, PYTHON, RAG, a_round, answer_all, at, open_round, play_round, settle, step, task_id

from sssa.protocol.answer import Role
from sssa.protocol.dispatch_record import DispatchKey, Failure
from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundPlan, TypeHistory
from sssa.protocol.skill_types import SkillType
from sssa.state.mechanism_state import ROLES
from validator.store import Store, open_store

LOOKBACK = 30
A, B, C, D, E = HOTKEYS


async def test_nobody_has_a_history_at_first(store: Store) -> None:
    async with store.read() as tx:
        assert await histories_of(tx, 0, LOOKBACK) == {}


async def test_roles_are_listed_newest_first_and_failures_counted(store: Store) -> None:
    await play_round(store, 0, {PYTHON: (A, B, C, D, E), RAG: (E, D, C, B, A)}, failing=frozenset({A}))
    await play_round(store, 1, {PYTHON: (D, E, C, A, B)})
    async with store.read() as tx:
        history = await histories_of(tx, 2, LOOKBACK)
        assert history[A, PYTHON] == TypeHistory(("auditor", "primary"), 2, 1, 0)
        assert history[A, RAG] == TypeHistory(("auditor",), 1, 1, 0)
        assert history[D, PYTHON] == TypeHistory(("primary", "auditor"), 2, 0, 0)
        assert history[C, PYTHON].recent_roles == ("primary", "primary")


async def test_a_round_counts_once_and_as_primary_if_any_task_did(store: Store) -> None:
    frozen, plan = a_round(0, {PYTHON: (A, B, C, D, E)})
    other_frozen, other_plan = a_round(100, {PYTHON: (D, E, B, A, C)})
    both = msgspec.structs.replace(frozen, tasks=frozen.tasks + other_frozen.tasks)
    groups = RoundPlan("0", plan.groups + other_plan.groups)
    async with store.begin() as tx:
        await tx.rounds.open(both, groups, at(0))
        for group in groups.groups:
            for hotkey, _ in group.members:
                key = DispatchKey(0, group.task_id, hotkey)
                await tx.arrivals.failed([Failure(key, Reason.DEADLINE_CONNECT)])
    await settle(store, groups, failing=frozenset(HOTKEYS))
    async with store.read() as tx:
        history = await histories_of(tx, 1, LOOKBACK)
    assert {hotkey: history[hotkey, PYTHON] for hotkey in HOTKEYS} == dict.fromkeys(
        HOTKEYS, TypeHistory(("primary",), 2, 2, 0)
    )


async def test_void_skipped_and_open_tasks_never_happened(store: Store) -> None:
    await play_round(store, 0, {PYTHON: HOTKEYS}, reasons={task_id(0, PYTHON): Reason.BUG_CRASH})
    await play_round(store, 1, {RAG: ()}, reasons={task_id(1, RAG): Reason.SKIPPED_NO_CANDIDATES})
    _, void = await open_round(store, 2, {PYTHON: HOTKEYS})
    async with store.begin() as tx:
        await tx.rounds.settle(2, "void", Reason.VOID_OFFLINE, None, at(2))
        await step(tx, void, "void", None)
    _, plan = await open_round(store, 3, {PYTHON: HOTKEYS})
    await answer_all(store, plan, failing=frozenset({A}))
    async with store.read() as tx:
        assert await histories_of(tx, 4, LOOKBACK) == {}


async def test_a_task_without_any_verdict_did_happen(store: Store) -> None:
    reasons = {task_id(0, PYTHON): Reason.VOID_NO_VERDICT}
    await play_round(store, 0, {PYTHON: (A, B)}, failing=frozenset({B}), reasons=reasons)
    async with store.read() as tx:
        history = await histories_of(tx, 1, LOOKBACK)
    assert history[A, PYTHON] == TypeHistory(("primary",), 1, 0, 0)
    assert history[B, PYTHON] == TypeHistory(("primary",), 1, 1, 0)


async def test_dispatches_are_counted_over_30_rounds_and_roles_over_100(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        for round_id in range(ROLES + 3):
            await play_round(store, round_id, {PYTHON: (A,) if round_id % 3 else (B, C, D, A)}, failing=frozenset({A}))
        async with store.read() as tx:
            history = await histories_of(tx, ROLES + 3, LOOKBACK)
            roles = history[A, PYTHON].recent_roles
            assert roles == tuple("primary" if n % 3 else "auditor" for n in range(ROLES + 2, 2, -1))
            assert (history[A, PYTHON].dispatches, history[A, PYTHON].failures) == (30, 30)
            assert (history[B, PYTHON].dispatches, history[B, PYTHON].failures) == (10, 0)
            assert (await histories_of(tx, ROLES + 3, history_rounds=5))[A, PYTHON].dispatches == 5
            # A miner that was not asked for long keeps its roles, but has no dispatches to be judged by.
            assert (await histories_of(tx, ROLES + 300, LOOKBACK))[A, PYTHON] == TypeHistory(roles, 0, 0, 0)


Rounds = Sequence[Mapping[SkillType, tuple[Sequence[str], bool]]]
one_round = st.dictionaries(
    st.sampled_from([PYTHON, RAG]),
    st.tuples(st.lists(st.sampled_from(HOTKEYS), min_size=1, unique=True), st.booleans()),
    min_size=1,
)


def _expected(rounds: Rounds, failing: frozenset[str]) -> dict[tuple[str, SkillType], TypeHistory]:
    roles: dict[tuple[str, SkillType], list[Role]] = {}
    for played in rounds:
        for skill_type, (members, void) in played.items():
            for rank, hotkey in enumerate(() if void else members):
                roles.setdefault((hotkey, skill_type), []).insert(0, "primary" if rank < 3 else "auditor")
    return {
        pair: TypeHistory(tuple(its), len(its), len(its) if pair[0] in failing else 0) for pair, its in roles.items()
    }


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds=st.lists(one_round, max_size=4), failing=st.frozensets(st.sampled_from(HOTKEYS)))
async def test_histories_are_what_a_plain_count_gives(
    request: pytest.FixtureRequest, database: str, rounds: Rounds, failing: frozenset[str]
) -> None:
    url: str = request.getfixturevalue(f"{database}_url")
    async with open_store(url, create=True) as store:
        async with store.read() as tx:
            first = await tx.rounds.next_id()
        for round_id, played in enumerate(rounds, first):
            groups = {skill_type: members for skill_type, (members, _) in played.items()}
            reasons = {task_id(round_id, t): Reason.BUG_CRASH for t, (_, void) in played.items() if void}
            await play_round(store, round_id, groups, failing=failing, reasons=reasons)
        async with store.read() as tx:
            found = await histories_of(tx, first + len(rounds), history_rounds=len(rounds))
    expected = _expected(rounds, failing)
    for pair, history in found.items():
        mine = expected.get(pair, TypeHistory())
        assert history.recent_roles[: len(mine.recent_roles)] == mine.recent_roles
        assert (history.dispatches, history.failures) == (mine.dispatches, mine.failures)
    assert set(expected) <= set(found)
