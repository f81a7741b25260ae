"""Every end of a round is one signed receipt in the same transaction; salts keep their order (SPEC 8)."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from audit_file import export, receipts
from sqlalchemy import text
from state_kit import windows_of
from world import VALIDATOR, World, on_virtual_time, online, prepared, tasks_of_all_types

from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.proofs.document import verify_document as verify_proof
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.draws import salt_commitment
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import wrapped
from sssa.protocol.signatures import verify_document
from validator.chain.interface import BehindError
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.rounds.receipts import close_epoch
from validator.rounds.resume import resume_rounds
from validator.rounds.service import RoundService
from validator.store import Store
from validator.store.errors import DamagedError, MismatchError
from validator.tasks.source import MemorySource

TEMPO = 5_000  # long: virtual time runs on while threads work
EPOCH_S = TEMPO + 1.0


def small_world(store: Store, *, miners: int = 4) -> World:
    return World(store, miners=miners, source=MemorySource(tasks_of_all_types()[3:5]), tempo=TEMPO)


async def play(world: World) -> EndedRound:
    return await on_virtual_time(world, world.service.one_round())


async def offline() -> bool:
    return False


async def test_an_opening_receipt_stands_before_the_first_round_and_commits_to_its_salt(store: Store) -> None:
    world = small_world(store)
    round_ = await prepared(world)
    (opening,) = await receipts(store)
    assert (opening.sequence, opening.kind, opening.first_round, opening.previous) == (0, "opening", "0", None)
    assert opening.next_commitment == round_.frozen.salt_commitment
    assert verify_document(opening, VALIDATOR.hotkey)


async def test_salts_are_announced_an_epoch_ahead_and_public_when_the_next_epoch_has_settled(
    store: Store, tmp_path: Path
) -> None:
    world = small_world(store)
    await play(world)
    await play(world)
    await world.clock.advance(2 * EPOCH_S)  # an epoch passes without a round
    await play(world)
    opening, first, second, third = await receipts(store)
    assert first.epoch == second.epoch
    assert third.epoch is not None
    assert first.epoch is not None
    assert third.epoch >= first.epoch + 2
    assert first.commitment == opening.next_commitment
    assert third.commitment == first.next_commitment == second.next_commitment
    assert third.next_commitment not in {first.commitment, third.commitment}
    assert first.salts == second.salts == ()
    (salt,) = third.salts
    assert (salt.epoch, salt_commitment(bytes.fromhex(salt.salt))) == (first.epoch, first.commitment)

    found = verify_file(await export(store, tmp_path / "log.jsonl"))
    assert found.hotkey == VALIDATOR.hotkey
    assert (found.first, found.last, found.rounds, found.pending) == (0, 3, {"settled": 3}, 1)
    assert (found.tasks, found.answers, found.proofs) == (6, 24, 6)
    since = verify_file(await export(store, tmp_path / "since.jsonl", since=1), VALIDATOR.hotkey)
    assert (since.first, since.last, since.first_round, since.head) == (2, 3, 1, found.head)


async def test_no_line_of_an_export_holds_a_secret_of_the_running_epoch(store: Store, tmp_path: Path) -> None:
    world = small_world(store)
    round_ = await prepared(world)
    await on_virtual_time(world, world.service.dispatcher.dispatch(round_))
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    async with store.read() as tx:
        running, pending = await tx.salts.newest(), await tx.salts.pending()
    exported = (await export(store, tmp_path / "log.jsonl")).read_bytes()
    assert round_.frozen.salt_commitment.encode() in exported
    assert running is not None
    assert pending is not None
    for secret in (round_.frozen.seed, running.salt.hex(), pending.salt.hex()):
        assert secret.encode() not in exported


async def test_what_was_written_once_stays_as_it_is_when_the_log_grows(store: Store, tmp_path: Path) -> None:
    world = small_world(store)
    await play(world)
    before = (await export(store, tmp_path / "before.jsonl")).read_bytes()
    await world.clock.advance(EPOCH_S)
    await play(world)
    after = (await export(store, tmp_path / "after.jsonl")).read_bytes()
    assert after.startswith(before)


async def test_skipped_void_and_abandoned_rounds_get_receipts_too(store: Store, tmp_path: Path) -> None:
    world = small_world(store)
    await play(world)
    nothing = World(store, source=MemorySource([]))
    nothing.clock, nothing.chain = world.clock, world.chain
    skipped = await nothing.preparer.prepare(await world.chain.snapshot())
    assert not isinstance(skipped, Prepared)
    await prepared(world)  # never dispatched, nobody can be reached
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, offline) == ["2"]
    await prepared(world)
    async with store.begin() as tx:
        await tx.connection.execute(text("UPDATE rounds SET input = NULL WHERE round_id = 3"))
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    ends = [receipt.round for receipt in await receipts(store) if receipt.round is not None]
    assert [(end.round_id, end.state) for end in ends] == [
        ("0", "settled"),
        ("1", "skipped"),
        ("2", "void"),
        ("3", "abandoned"),
    ]
    assert [end.reason for end in ends[1:]] == [Reason.SKIPPED_NO_TASKS, Reason.VOID_OFFLINE, Reason.ABANDONED_INPUT]
    found = verify_file(await export(store, tmp_path / "log.jsonl"))
    assert found.rounds == {"settled": 1, "skipped": 1, "void": 1, "abandoned": 1}


async def test_a_round_and_its_receipt_are_settled_together_or_not_at_all(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = small_world(store)

    async def power_cut(*_: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr("validator.rounds.settle.write_receipt", power_cut)
        with pytest.raises(RuntimeError, match="power cut"):
            await play(world)
    async with store.read() as tx:
        unsettled = await tx.rounds.get(0)
        assert unsettled is not None
        assert unsettled.record.state == "open"
        assert await windows_of(tx) == {}
    assert [receipt.kind for receipt in await receipts(store)] == ["opening"]
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    assert [receipt.kind for receipt in await receipts(store)] == ["opening", "round"]
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 1}


async def test_an_epoch_that_is_over_before_a_round_of_it_is_stored_has_used_no_salt(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = small_world(store)
    await play(world)

    async def power_cut(*_: object) -> None:
        raise RuntimeError("power cut")

    for broken in ("validator.kinds.assessment.supply.Bundles.fill", "validator.rounds.prepare.Preparer._freeze"):
        await world.clock.advance(EPOCH_S)
        with monkeypatch.context() as patch:
            patch.setattr(broken, power_cut)
            with pytest.raises(RuntimeError, match="power cut"):
                await play(world)
    await world.clock.advance(EPOCH_S)
    await play(world)
    _, first, second = await receipts(store)
    assert second.commitment == first.next_commitment
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 2}


async def test_a_round_left_open_over_epochs_keeps_its_salt_secret_until_it_has_settled(
    store: Store, tmp_path: Path
) -> None:
    world = small_world(store)
    round_ = await prepared(world)
    await on_virtual_time(world, world.service.dispatcher.dispatch(round_))
    await world.clock.advance(3 * EPOCH_S)
    assert not await close_epoch(store, VALIDATOR, world.clock)  # it is open
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    assert (await receipts(store))[-1].salts == ()
    await play(world)
    assert [salt.epoch for salt in (await receipts(store))[-1].salts] == [round_.frozen.snapshot.epoch]
    assert verify_file(await export(store, tmp_path / "log.jsonl")).pending == 1


async def test_no_round_is_drawn_in_an_epoch_whose_salt_is_public(store: Store, tmp_path: Path) -> None:
    world = small_world(store)
    await play(world)
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert not await close_epoch(store, VALIDATOR, world.clock)
    end = await play(world)
    assert end.reason is Reason.SKIPPED_EPOCH_OVER
    await world.clock.advance(EPOCH_S)
    assert (await play(world)).reason is Reason.SETTLED
    found = verify_file(await export(store, tmp_path / "log.jsonl"))
    assert (found.rounds, found.pending) == ({"settled": 2, "skipped": 1}, 1)


async def test_a_chain_that_goes_back_an_epoch_gets_no_second_draw_from_its_salt(store: Store, tmp_path: Path) -> None:
    world = small_world(store)
    before = await world.chain.snapshot()
    await world.clock.advance(EPOCH_S)
    await play(world)
    with pytest.raises(BehindError):
        await world.preparer.prepare(before)
    now = await world.chain.snapshot()
    skipped = await world.preparer.prepare(msgspec.structs.replace(before, block=now.block))
    assert not isinstance(skipped, Prepared)
    assert skipped.reason is Reason.SKIPPED_EPOCH_OVER
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 1, "skipped": 1}


async def test_a_log_of_two_hotkeys_does_not_verify(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = small_world(store)
    await play(world)
    other = next(iter(world.signers.values()))
    service: RoundService = world.service
    service.signer = other
    monkeypatch.setattr("validator.store.log.require_same", lambda _before, _now: None)  # ours refuses to write one
    await play(world)
    with pytest.raises(FaultError, match="validator_hotkey"):
        verify_file(await export(store, tmp_path / "log.jsonl"))


async def test_every_group_has_a_sealed_proof_that_its_receipt_names(store: Store) -> None:
    world = small_world(store)
    end = await play(world)
    assert end.outcome is not None
    receipt = (await receipts(store))[-1]
    assert receipt.round is not None
    assert [note.task_id for note in receipt.round.lines.proofs] == [group.task_id for group in end.outcome.groups]
    for note, group in zip(receipt.round.lines.proofs, end.outcome.groups, strict=True):
        async with store.read() as tx:
            stored = await tx.proofs.of_task(note.task_id)
        assert stored is not None
        proven = verify_proof(stored.document, VALIDATOR.hotkey)
        assert proven.proof.checksum == note.checksum
        assert proven.proof.final_claim == group.verdict
        assert sha256_hex(wrapped("proof", stored.document)) == note.sha256
    async with store.read() as tx:
        assert await tx.proofs.of_task("none") is None


async def test_the_log_is_only_ever_appended_to(store: Store) -> None:
    await prepared(small_world(store))
    async with store.read() as tx:
        opening = await tx.receipts.last()
    assert opening is not None
    for sequence in (0, 2):
        with pytest.raises(MismatchError, match=f"receipt {sequence} where 1 is the next"):
            async with store.begin() as tx:
                await tx.receipts.add(replace(opening, sequence=sequence))


async def test_a_receipt_that_was_changed_in_the_store_is_damage(store: Store, tmp_path: Path) -> None:
    await prepared(small_world(store))
    async with store.begin() as tx:
        await tx.connection.execute(text("UPDATE receipts SET sha256 = 'other'"))
    with pytest.raises(DamagedError):
        await export(store, tmp_path / "log.jsonl")
