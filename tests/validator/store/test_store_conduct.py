import msgspec
import pytest
from state_kit import plant, plant_flag
from store_examples import HOTKEYS, PYTHON, RAG, answer_all, at, open_round, settle, snapshot

from sssa.protocol.capabilities import Capabilities
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AgreementSample, FlagRaised
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from validator.store import Store
from validator.store.errors import EmptyReasonError

A, B = HOTKEYS[:2]


def _counted(hotkey: str, with_primaries: float, skill_type: SkillType = PYTHON) -> AgreementSample:
    return AgreementSample(hotkey, skill_type, with_primaries, 0.5, 0.25, 0.75, True, Reason.SAMPLE_COUNTED)


def _uncounted(hotkey: str) -> AgreementSample:
    return AgreementSample(hotkey, PYTHON, 1.0, None, 0.25, 0.75, False, Reason.SAMPLE_NO_WITNESSES)


async def _skipped_rounds(store: Store, first: int, number: int) -> None:
    """Rounds that samples and entries can refer to."""
    async with store.begin() as tx:
        await tx.miners.seen(snapshot())
        for round_id in range(first, first + number):
            await tx.rounds.skip(round_id, epoch=0, block=1, block_hash="", reason=Reason.SKIPPED_NO_TASKS, at=at(0))


async def test_a_flag_shows_the_samples_that_led_to_it(store: Store) -> None:
    for round_id in range(7):
        _, plan = await open_round(store, round_id, {PYTHON: (A, B, HOTKEYS[2])})
        await answer_all(store, plan)
        samples = (_counted(A, 0.9 + round_id / 100),) if round_id != 3 else (_uncounted(A), _counted(B, 0.95))
        flags = (FlagRaised(A, PYTHON, 0.95, 0.5, 0.25, 0.75, 3),) if round_id == 5 else ()
        await settle(store, plan, samples=samples, flags=flags)
    async with store.read() as tx:
        (detail,) = await tx.flags.get(A)
        assert [(one.round_id, one.with_primaries, one.counted) for one in detail.agreements] == [
            (number, 0.9 + number / 100, True) for number in (2, 4, 5)
        ]
        assert detail.flag.raised == FlagRaised(A, PYTHON, 0.95, 0.5, 0.25, 0.75, 3)
        assert (detail.flag.round_id, detail.flag.raised_at) == (5, at(65))
        assert await tx.flags.get(detail.flag.id) == (detail,)
        assert await tx.flags.get(B) == await tx.flags.get(9999) == ()
        state = (await tx.state.of([A, B])).miners
    assert [pair.with_primaries for pair in state[A].pairs[PYTHON].agreements] == [0.9 + 6 / 100]  # D-9
    assert len(state[B].pairs[PYTHON].agreements) == 1


async def test_flags_stand_until_they_are_cleared_with_a_reason(store: Store) -> None:
    await _skipped_rounds(store, 0, 4)
    async with store.begin() as tx:
        for round_id, hotkey in enumerate([A, A, B]):
            await plant_flag(tx, FlagRaised(hotkey, PYTHON, 0.95, 0.5, 0.25, 0.75, 5), round_id, at(round_id))
        assert await tx.flags.standing() == {A: 2, B: 1}
        for nothing in ("", "  \n"):
            with pytest.raises(EmptyReasonError):
                await tx.acts.clear(A, nothing, at(9))
        assert await tx.acts.clear(A, " their node was\nshared by mistake ", at(9)) == 2
        assert await tx.acts.clear(A, "again", at(10)) == 0
    async with store.read() as tx:
        assert await tx.flags.standing() == {B: 1}
        assert [flag.hotkey for flag in await tx.flags.listing()] == [B]
        kept = await tx.flags.listing(include_cleared=True)
        assert [flag.hotkey for flag in kept] == [A, A, B]
        assert (kept[0].cleared_at, kept[0].cleared_reason) == (at(9), r"their node was\u000ashared by mistake")
        assert (kept[2].cleared_at, kept[2].cleared_reason) == (None, None)


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
    async with store.begin() as tx:
        await plant_flag(tx, FlagRaised(A, PYTHON, 0.95, 0.5, 0.25, 0.75, 5), 0, at(0))
        await tx.capabilities.put(A, msgspec.json.encode(declared), at(0), at(3600), at(0))
        await tx.capabilities.put(B, b"of another form", at(0), at(3600), at(0))
        await plant(tx, lambda change: change.update((A, PYTHON), reputation=0.52))
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
