"""A verification that continues from a checkpoint finds what one from the first line finds (docs/auditors.md)."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from audit_file import export, lines_of
from execution_world import end_all
from explained import HOTKEYS
from pay_world import BROKEN, FAILING, PayWorld
from world import World, on_virtual_time, tasks_of_all_types

from validator.audit.log.checkpoint import CheckpointError, GoneOn, Key, own_key, verify_on, write_checkpoint
from validator.audit.log.lines import FaultError
from validator.audit.log.verify import Reading, verify_file
from validator.audit.log.verify_report import Verified
from validator.protocol.skill_types import SkillType
from validator.scoring import Schedule
from validator.store import open_store
from validator.tasks.source import MemorySource

KEY = Key(b"k" * 32)
TEMPO = 5_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Rounds in three epochs, two vectors; the salt of the last epoch is not public."""
    return asyncio.run(_weights(tmp_path_factory.mktemp("weights")))


@pytest.fixture(scope="module")
def with_executions(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Rounds in three epochs, and results of executions that earlier ones chose."""
    return asyncio.run(_executions(tmp_path_factory.mktemp("executions")))


async def _weights(folder: Path) -> bytes:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        pay = PayWorld(store, "1.1.0")
        for _ in range(2):
            await pay.rounds(2)
            await pay.vector()
            pay.odd[HOTKEYS[FAILING]] = BROKEN
        await pay.rounds(1)
        return (await export(store, folder / "log.jsonl")).read_bytes()


async def _executions(folder: Path) -> bytes:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        python = [one for one in tasks_of_all_types() if one.task.skill_type is SkillType.EXECUTABLE_PYTHON]
        world = World(store, miners=4, source=MemorySource(python[:1]), tempo=TEMPO)
        preparer = replace(world.preparer, schedule=Schedule({"1.1.0": 0}), executes=True)
        world.preparer = world.service.preparer = preparer
        for pause in (0, 0, TEMPO + 1, TEMPO + 1):
            await world.clock.advance(pause)
            await on_virtual_time(world, world.service.one_round())
            await end_all(world)
        return (await export(store, folder / "log.jsonl")).read_bytes()


class Desk:
    """A verifier's folder with a log and its checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.log, self.checkpoint = folder / "log.jsonl", folder / "log.checkpoint"

    def full(self, data: bytes) -> Verified:
        self.log.write_bytes(data)
        return verify_file(self.log)

    def on(self, data: bytes, key: Key = KEY) -> GoneOn:
        self.log.write_bytes(data)
        gone = verify_on(self.log, self.checkpoint, key)
        if gone.kept is not None:
            write_checkpoint(self.checkpoint, gone.kept, key)
        return gone

    def fault(self, verify: Callable[[bytes], object], data: bytes) -> tuple[object, ...]:
        with pytest.raises(FaultError) as caught:
            verify(data)
        return str(caught.value), caught.value.line, caught.value.path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def parts(log: bytes) -> list[bytes]:
    """The log as it was after each of its receipts."""
    lines = lines_of(log)
    starts = [i for i, line in enumerate(lines) if line.startswith(b'{"receipt":')]
    return [b"".join(lines[:end]) for end in (*starts[1:], len(lines))]


@pytest.mark.parametrize("name", ["log", "with_executions"])
def test_a_log_verified_in_two_parts_is_the_log_verified_at_once(
    name: str, request: pytest.FixtureRequest, desk: Desk
) -> None:
    log: bytes = request.getfixturevalue(name)
    whole = desk.full(log)
    assert (whole.pending, whole.vectors > 0, whole.executions > 0) == (1, name == "log", name == "with_executions")
    begun = None
    for part in parts(log):
        desk.checkpoint.unlink(missing_ok=True)
        first = desk.on(part)
        second = desk.on(log)
        assert second.found == whole
        assert second.begun == (first.kept and first.kept.position)
        begun = second.begun
    assert begun is not None
    assert begun.offset == len(parts(log)[-2])  # the last round waits for its salt


def test_a_log_verified_as_it_grows_is_the_log_verified_at_once(log: bytes, desk: Desk) -> None:
    for part in parts(log):
        assert desk.on(part).found == desk.full(part)


def test_a_fault_behind_a_checkpoint_is_the_one_that_a_full_verification_finds(log: bytes, desk: Desk) -> None:
    middle = parts(log)[3]
    desk.on(middle)
    kept = desk.checkpoint.read_bytes()
    for at in range(len(middle) + 40, len(log), (len(log) - len(middle)) // 12):
        damaged = log[:at] + bytes([log[at] ^ 1]) + log[at + 1 :]
        assert desk.fault(desk.on, damaged) == desk.fault(desk.full, damaged)
        assert desk.checkpoint.read_bytes() == kept


def test_a_round_that_waited_for_its_salt_is_drawn_when_it_comes(log: bytes, desk: Desk) -> None:
    early = parts(log)[1]  # round 0, whose salt comes with the second epoch
    first = desk.on(early)
    assert first.found.pending == 1
    assert desk.on(log).found.pending == 1
    other = log.replace(*_swapped_primaries(early))
    desk.checkpoint.unlink()
    assert desk.fault(desk.on, other) == desk.fault(desk.full, other)


def _swapped_primaries(part: bytes) -> tuple[bytes, bytes]:
    plan = next(line for line in lines_of(part) if line.startswith(b'{"plan":'))
    primaries = json.loads(plan)["plan"]["groups"][0]["primaries"]
    one, two = (json.dumps(name).encode() for name in primaries[:2])
    return plan, plan.replace(one, b"?").replace(two, one).replace(b"?", two)


def test_bytes_before_a_checkpoint_must_be_those_that_were_verified(log: bytes, desk: Desk) -> None:
    desk.on(log)
    kept = desk.checkpoint.read_bytes()
    for other in (log[:100] + b"x" + log[101:], parts(log)[1]):
        with pytest.raises(CheckpointError, match="not of this file"):
            desk.on(other)
    assert desk.checkpoint.read_bytes() == kept


def test_a_changed_checkpoint_is_refused_wherever_it_was_changed(log: bytes, desk: Desk) -> None:
    desk.on(parts(log)[2])
    kept = desk.checkpoint.read_bytes()
    for at in (*range(0, 400, 7), *range(400, len(kept), len(kept) // 40), len(kept) - 1):
        desk.checkpoint.write_bytes(kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :])
        with pytest.raises(CheckpointError):
            desk.on(log)
    desk.checkpoint.write_bytes(kept[:-1])
    with pytest.raises(CheckpointError, match="was changed"):
        desk.on(log)
    desk.checkpoint.write_bytes(kept)
    with pytest.raises(CheckpointError, match="not made with this user's key"):
        desk.on(log, Key(b"o" * 32))
    assert desk.on(log).begun is not None


def test_another_program_begins_again(log: bytes, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.on(log)
    monkeypatch.setattr("validator.__version__", "9.0.0")
    assert desk.on(log).begun is None
    assert desk.on(log).begun is not None


def test_key_and_checkpoint_are_for_their_owner_alone(log: bytes, desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "config" / "validator" / "checkpoint.key"
    key = own_key(file)
    assert own_key(file).name == key.name
    desk.on(log, key)
    assert {path.stat().st_mode & 0o777 for path in (file, desk.checkpoint)} == {0o600}
    file.chmod(0o644)
    with pytest.raises(CheckpointError, match="others may read"):
        own_key(file)


def test_a_checkpoint_is_everything_that_is_known_and_nothing_else_can_be_one(log: bytes, desk: Desk) -> None:
    gone = desk.on(log)
    assert gone.kept is not None
    reading = Reading.decoded(gone.kept.reading)
    assert Reading.decoded(reading.encoded()) == reading
    assert reading.state.whole
    assert HOTKEYS[FAILING] in reading.state.miners
    with pytest.raises(msgspec.MsgspecError):
        Reading.decoded(gone.kept.reading[:-1])
