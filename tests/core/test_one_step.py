"""One step for everybody: settling, replay and the verification of a log compute the state by the same function."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from audit_file import export
from sqlalchemy import event
from sqlalchemy.engine import Engine
from weights_world import PayWorld
from world import World, frozen_of, one_round

import validator
from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.scoring.v1 import step
from validator.audit.replay import Past, replay_round
from validator.store import Store, open_store
from validator.store.repositories.miners import Flags
from validator.store.repositories.state import States

TABLES = ("state_miners", "state_shared", "state_rounds", "state_late", "state_copies", "flags")


async def known_roles(store: Store, round_id: int) -> int:
    """Return the number of roles in a round's input; without the constant's change they grow with every round."""
    frozen = await frozen_of(store, round_id)
    return sum(len(of.recent_roles) for miner in frozen.miners for of in miner.history.values())


async def test_one_constant_of_step_changes_the_next_input_the_replay_and_the_verification(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(sqlite_url) as store:
        world = World(store)
        for _ in range(3):
            await one_round(world)
        log = await export(store, tmp_path / "log.jsonl")
        assert verify_file(log).rounds == {"settled": 3}

        monkeypatch.setattr(step, "ROLES", 1)
        for _ in range(2):
            await one_round(world)
        assert await known_roles(store, 2) < await known_roles(store, 3) > await known_roles(store, 4)
        with pytest.raises(FaultError, match="does not follow from the rounds before") as fault:
            verify_file(log)
        assert fault.value.round_id == "2"
        past = Past()
        async with store.read() as tx:
            replays = [await replay_round(tx, round_id, past) for round_id in range(3)]
        assert [replay and replay.verdict for replay in replays] == ["equal", "equal", "different"]


async def test_nothing_but_the_writer_of_the_delta_writes_the_state(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[str] = []
    written: dict[str, set[bool]] = {}

    def through(name: str) -> None:
        of = getattr(States, name)

        async def wrapped(*given: Any, **named: Any) -> Any:
            inside.append(name)
            try:
                return await of(*given, **named)
            finally:
                inside.pop()

        monkeypatch.setattr(States, name, wrapped)

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        words = statement.split()
        if words[0] in {"INSERT", "UPDATE", "DELETE"}:
            table = words[1] if words[0] == "UPDATE" else words[2]
            if table in TABLES:
                written.setdefault(table, set()).add(bool(inside))

    through("step")
    through("write")
    event.listen(Engine, "before_cursor_execute", note)
    try:
        world = PayWorld(store)
        await world.rounds(2)
        await world.reason(world.hotkeys[0])  # computes a vector
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert written == {name: {True} for name in ("state_miners", "state_shared", "state_rounds")}


def test_no_other_module_knows_a_table_of_the_state() -> None:
    """A module that does not name the tables cannot write them; listings of flags read `Flags`."""
    places = {
        path.relative_to(Path(validator.__file__).parent).as_posix(): path.read_text()
        for path in Path(validator.__file__).parent.rglob("*.py")
    }
    allowed = {"store/repositories/state.py", "store/tables.py"}
    found = {place for place, source in places.items() if any(name in source for name in TABLES[:-1])}
    assert found == allowed
    assert not [word for word in ("insert(", "update(", "delete(") if word in inspect.getsource(Flags)]
