from collections.abc import Sequence

import msgspec
import pytest
from builders import V1
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_examples import HOTKEYS, PYTHON, RAG, at, open_round, snapshot

from validator.protocol.capabilities import Capabilities
from validator.protocol.reasons import Reason
from validator.protocol.round import AgreementPair, AgreementSample, FlagRaised, ReputationEvent
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Signature
from validator.scoring import VERSIONS as RELEASED
from validator.store import Store, open_store
from validator.store.errors import EmptyReasonError, MismatchError, ReputationConflictError
from validator.store.repositories.agreements import MAX_SAMPLES

A, B = HOTKEYS[:2]


def _counted(hotkey: str, with_primaries: float, skill_type: SkillType = PYTHON) -> AgreementSample:
    return AgreementSample(hotkey, skill_type, with_primaries, 0.5, True, Reason.SAMPLE_COUNTED)


def _uncounted(hotkey: str) -> AgreementSample:
    return AgreementSample(hotkey, PYTHON, 1.0, None, False, Reason.SAMPLE_NO_AUDITORS)


async def _skipped_rounds(store: Store, first: int, number: int) -> None:
    """Rounds that samples and entries can refer to."""
    async with store.begin() as tx:
        await tx.miners.seen(snapshot())
        for round_id in range(first, first + number):
            await tx.rounds.skip(round_id, epoch=0, block=1, block_hash="", reason=Reason.SKIPPED_NO_TASKS, at=at(0))


async def _samples(store: Store, values: Sequence[float], first: int = 0, hotkey: str = A) -> None:
    async with store.begin() as tx:
        for round_id, value in enumerate(values, first):
            await tx.agreements.put_all(round_id, [_counted(hotkey, value)])


async def _flag(store: Store, round_id: int, samples: int, hotkey: str = A) -> int:
    async with store.begin() as tx:
        flag_id = await tx.flags.raise_(FlagRaised(hotkey, PYTHON, 0.95, 0.5, samples), round_id, at(round_id))
        await tx.agreements.consume(hotkey, PYTHON, flag_id)
    return flag_id


async def test_the_window_holds_counted_samples_oldest_first(store: Store) -> None:
    await _skipped_rounds(store, 0, 3)
    async with store.begin() as tx:
        await tx.agreements.put_all(2, [_counted(A, 0.3), _counted(A, 0.9, RAG)])
        await tx.agreements.put_all(0, [_counted(A, 0.1), _uncounted(B)])
        await tx.agreements.put_all(1, [_uncounted(A)])
    async with store.read() as tx:
        assert await tx.agreements.windows(V1.rules.collusion.window) == {
            (A, PYTHON): (AgreementPair(0.1, 0.5), AgreementPair(0.3, 0.5)),
            (A, RAG): (AgreementPair(0.9, 0.5),),
        }
        assert set(await tx.agreements.windows(V1.rules.collusion.window, {B})) == set()
        assert await tx.agreements.kept() == await tx.agreements.computed()
        assert set(await tx.agreements.of_round(2)) == {_counted(A, 0.3), _counted(A, 0.9, RAG)}
        assert set(await tx.agreements.of_round(0)) == {_counted(A, 0.1), _uncounted(B)}


async def test_the_window_holds_the_newest_30(store: Store) -> None:
    values = [n / 100 for n in range(V1.rules.collusion.window + 1)]
    await _skipped_rounds(store, 0, len(values))
    await _samples(store, values)
    async with store.read() as tx:
        window = (await tx.agreements.windows(V1.rules.collusion.window))[A, PYTHON]
        assert (await tx.agreements.windows(2))[A, PYTHON] == window[-2:]
        assert await tx.agreements.kept() == await tx.agreements.computed()
        with pytest.raises(MismatchError, match="31 samples"):
            await tx.agreements.windows(31)
    assert [pair.with_primaries for pair in window] == values[1:]


@pytest.mark.parametrize("version", RELEASED)
def test_no_version_has_a_longer_window_than_is_kept(version: str) -> None:
    assert RELEASED[version].rules.collusion.window <= MAX_SAMPLES


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.floats(0, 1), max_size=V1.rules.collusion.window + 10), flagged_after=st.integers(0, 40))
async def test_a_flag_consumes_everything_before_it(sqlite_url: str, values: list[float], flagged_after: int) -> None:
    async with open_store(sqlite_url) as store:
        async with store.read() as tx:
            first = await tx.rounds.next_id()
        hotkey = f"miner-{first}"
        async with store.begin() as tx:
            await tx.miners.seen(snapshot(0, [hotkey]))
        await _skipped_rounds(store, first, len(values) + 1)
        await _samples(store, values[:flagged_after], first, hotkey)
        await _flag(store, first, min(V1.rules.collusion.window, flagged_after), hotkey)
        await _samples(store, values[flagged_after:], first + flagged_after, hotkey)
        async with store.read() as tx:
            window = (await tx.agreements.windows(V1.rules.collusion.window)).get((hotkey, PYTHON), ())
            assert await tx.agreements.kept() == await tx.agreements.computed()
    assert [pair.with_primaries for pair in window] == values[flagged_after:][-V1.rules.collusion.window :]


async def test_consuming_leaves_other_types_miners_and_uncounted_samples_alone(store: Store) -> None:
    await _skipped_rounds(store, 0, 2)
    async with store.begin() as tx:
        await tx.agreements.put_all(0, [_counted(A, 0.95), _counted(A, 0.9, RAG), _counted(B, 0.8)])
        await tx.agreements.put_all(1, [_uncounted(A)])
        flag_id = await tx.flags.raise_(FlagRaised(A, PYTHON, 0.95, 0.5, 1), 1, at(1))
        assert await tx.agreements.consume(A, PYTHON, flag_id) == 1
        assert await tx.agreements.consume(A, PYTHON, flag_id) == 0
    async with store.read() as tx:
        assert set(await tx.agreements.windows(V1.rules.collusion.window)) == {(A, RAG), (B, PYTHON)}


async def test_a_flag_shows_the_samples_that_led_to_it(store: Store) -> None:
    await _skipped_rounds(store, 0, 40)
    await _samples(store, [0.91 + n / 1000 for n in range(33)])
    first = await _flag(store, 32, V1.rules.collusion.window)
    await _samples(store, [0.99] * 5, 33)
    second = await _flag(store, 37, 5)
    async with store.read() as tx:
        (detail,) = await tx.flags.get(first)
        assert [s.round_id for s in detail.samples] == list(range(3, 33))
        assert detail.samples[0].sample == _counted(A, 0.91 + 3 / 1000)
        assert detail.record.flag == FlagRaised(A, PYTHON, 0.95, 0.5, V1.rules.collusion.window)
        assert (detail.record.id, detail.record.round_id, detail.record.raised_at) == (first, 32, at(32))
        both = await tx.flags.get(A)
        assert [(d.record.id, len(d.samples)) for d in both] == [(first, 30), (second, 5)]
        assert await tx.flags.get(B) == await tx.flags.get(9999) == ()


async def test_flags_stand_until_they_are_cleared_with_a_reason(store: Store) -> None:
    await _skipped_rounds(store, 0, 4)
    for round_id, hotkey in enumerate([A, A, B]):
        await _flag(store, round_id, 5, hotkey)
    async with store.begin() as tx:
        assert await tx.flags.standing() == {A: 2, B: 1}
        for nothing in ("", "  \n"):
            with pytest.raises(EmptyReasonError):
                await tx.flags.clear(A, nothing, at(9))
        assert await tx.flags.clear(A, " their node was\nshared by mistake ", at(9)) == 2
        assert await tx.flags.clear(A, "again", at(10)) == 0
    async with store.read() as tx:
        assert await tx.flags.standing() == {B: 1}
        assert [record.flag.hotkey for record in await tx.flags.listing()] == [B]
        kept = await tx.flags.listing(include_cleared=True)
        assert [record.flag.hotkey for record in kept] == [A, A, B]
        assert (kept[0].cleared_at, kept[0].cleared_reason) == (at(9), r"their node was\u000ashared by mistake")
        assert (kept[2].cleared_at, kept[2].cleared_reason) == (None, None)


def _event(before: float, after: float, hotkey: str = A, skill_type: SkillType = PYTHON) -> ReputationEvent:
    return ReputationEvent(hotkey, skill_type, "consensus_high", "task", before, after)


async def test_events_move_reputations_in_their_order(store: Store) -> None:
    await open_round(store, 0)
    await open_round(store, 1)
    first = [_event(0.5, 0.1 + 0.2), _event(0.5, 0.52, B), _event(0.1 + 0.2, 0.32), _event(0.5, 0.25, A, RAG)]
    async with store.begin() as tx:
        await tx.reputations.apply(first, V1.rules.reputation.start)
        await tx.reputations.apply([], V1.rules.reputation.start)
    async with store.begin() as tx:
        await tx.reputations.apply([_event(0.32, 0.34)], V1.rules.reputation.start)
    async with store.read() as tx:
        assert await tx.reputations.all() == {(A, PYTHON): 0.34, (A, RAG): 0.25, (B, PYTHON): 0.52}


@pytest.mark.parametrize(
    "events", [[_event(0.4, 0.42)], [_event(0.5, 0.52), _event(0.5, 0.54)], [_event(0.5, 0.52, B), _event(0.1, 0.2)]]
)
async def test_an_event_that_does_not_follow_is_refused_with_all_the_others(
    store: Store, events: list[ReputationEvent]
) -> None:
    await open_round(store)
    with pytest.raises(ReputationConflictError, match="miner-a, executable_python: consensus_high starts from"):
        async with store.begin() as tx:
            await tx.reputations.apply(events, V1.rules.reputation.start)
    async with store.read() as tx:
        assert await tx.reputations.all() == {}


probabilities = st.floats(0, 1)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(HOTKEYS), probabilities), max_size=20))
async def test_replaying_the_events_gives_the_reputations(sqlite_url: str, steps: list[tuple[str, float]]) -> None:
    async with open_store(sqlite_url) as store:
        async with store.read() as tx:
            round_id, standing = await tx.rounds.next_id(), await tx.reputations.all()
        await _skipped_rounds(store, round_id, 1)
        events = []
        for hotkey, after in steps:
            events.append(_event(standing.get((hotkey, PYTHON), 0.5), after, hotkey))
            standing[hotkey, PYTHON] = after
        async with store.begin() as tx:
            await tx.reputations.apply(events, V1.rules.reputation.start)
        async with store.read() as tx:
            assert await tx.reputations.all() == standing


async def test_the_listing_brings_together_what_is_known_of_a_miner(store: Store) -> None:
    declared = Capabilities(
        document_version="1.0",
        hotkey=A,
        skill_types=(PYTHON, RAG, SkillType.MCP_SERVER),
        software="s",
        issued_at="2026-01-01T00:00:00Z",
        expires_at="2026-01-01T01:00:00Z",
        signature=Signature(A, "sr25519", "0x" + "ab" * 64),
    )
    await open_round(store, 0, {PYTHON: HOTKEYS, RAG: (A,)})
    await _flag(store, 0, 5)
    async with store.begin() as tx:
        await tx.capabilities.put(A, msgspec.json.encode(declared), at(0), at(3600), at(0))
        await tx.capabilities.put(B, b"of another form", at(0), at(3600), at(0))
        await tx.reputations.apply([_event(0.5, 0.52)], V1.rules.reputation.start)
    async with store.read() as tx:
        first, second, *_ = await tx.miners.listing(at(3660))
        late = await tx.miners.listing(at(3661))
    assert (first.hotkey, first.uid, first.flags, first.dispatches) == (A, 0, 1, 2)
    assert first.skill_types == (RAG, PYTHON, SkillType.MCP_SERVER)
    assert (first.first_seen_block, first.last_seen_block, first.reputations) == (1000, 1000, {PYTHON: 0.52})
    assert (second.hotkey, second.skill_types, second.flags, second.dispatches) == (B, (), 0, 1)
    assert late[0].skill_types == ()


async def test_a_hotkey_that_moves_keeps_everything_but_its_uid(store: Store) -> None:
    async with store.begin() as tx:
        await tx.miners.seen(snapshot(0, [A, B], block=100))
        await tx.miners.seen(snapshot(0, [B, A], block=200))
        await tx.miners.seen(snapshot(0, ["x", B], block=150))
        listed = {m.hotkey: (m.uid, m.first_seen_block, m.last_seen_block) for m in await tx.miners.listing(at(0))}
    assert listed == {A: (1, 100, 200), B: (0, 100, 200), "x": (0, 150, 150)}


async def test_the_declaration_fetched_last_counts_until_it_expires(store: Store) -> None:
    async with store.begin() as tx:
        await tx.capabilities.put(A, b"newer", at(10), at(100), at(10))
        await tx.capabilities.put(A, b"older", at(0), at(900), at(5))
        assert await tx.capabilities.valid(at(160)) == {A: b"newer"}
        assert await tx.capabilities.valid(at(161)) == {}
