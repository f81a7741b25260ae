"""A small real store, and the command line as a user starts it."""

import asyncio
import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import structlog
from fork_start import ran
from state_kit import plant, plant_flag
from world import World, garbage, honest, on_virtual_time, tasks_of_all_types

from sssa.protocol.answer import Dispatch
from sssa.protocol.reasons import Reason
from sssa.protocol.round import FlagRaised, Neuron
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from validator.cli import main
from validator.miners.scripted import ScriptedReply
from validator.rounds.prepare import Prepared
from validator.store import Store, open_store
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.rows import UnpaidWindow, VectorRecord
from validator.tasks.source import MemorySource

PROGRAM = [sys.executable, "-c", "from validator.cli import main; main()"]
EVIL = "evil\x1b[31m\u202e[bold]x[/bold]"
EVIL_SHOWN = r"evil\u001b[31m\u202e[bold]x[/bold]"
FOREIGN = "naïve"
GARBAGE = Signer.from_uri("//Miner//5").hotkey
FLAGGED = Signer.from_uri("//Miner//0").hotkey
RAISED = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


class Example(NamedTuple):
    """Location of the example store; round 0 is settled, round 1 is open."""

    config: Path
    database: Path


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VALIDATOR_", "COLUMNS"))}
    return {**kept, **changes}


def validator(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in its own process; whatever it was asked, it never shows a stack trace."""
    done = ran(*arguments, cwd=cwd, env=environment(**env), timeout=120)
    assert "Traceback" not in done.stderr
    return done


def started(*arguments: str, stdin: str = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The same from the start of the interpreter, as users and scripts do: a second, most of it imports."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env=environment(**env),
    )
    assert "Traceback" not in done.stderr
    return done


def called(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, for sweeps over many commands."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with as_before(), pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", ["validator", *arguments])
        for name in set(os.environ) - set(environment()):
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    return subprocess.CompletedProcess(arguments, code if isinstance(code, int) else 0, _text(out), _text(err))


@contextmanager
def as_before() -> Iterator[None]:
    """Take back what a command changes in the process: logging and signals."""
    root, config = logging.getLogger(), structlog.get_config()
    handlers, level, excepthook = root.handlers[:], root.level, threading.excepthook
    signals = {number: signal.getsignal(number) for number in signal.valid_signals()}
    in_main_thread = threading.current_thread() is threading.main_thread()
    wakeup = signal.set_wakeup_fd(-1) if in_main_thread else -1
    try:
        yield
    finally:
        if in_main_thread:
            signal.set_wakeup_fd(wakeup)
        threading.excepthook = excepthook
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.configure(**config)
        for number, handler in signals.items():
            if signal.getsignal(number) is not handler:  # set in the main thread alone
                signal.signal(number, handler)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def answered(*arguments: str, cwd: Path | None = None) -> Any:
    """The JSON document that a command prints, alone on one line."""
    done = called(*arguments, "--json", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
    return json.loads(done.stdout)


def write_config(folder: Path, url: str, more: str = "") -> Path:
    config = folder / "my.toml"
    config.write_text(f'[validator]\nnetuid = 1\n[store]\nurl = "{url}"\n{more}')
    return config


@cache
def example_in(folder: Path, *, made_up: bool = True) -> Example:
    """The example store, for reading; made once per run of the tests.

    Args:
        folder: for it.
        made_up: with a reputation and conduct for the listings, which follow from no round.
    """
    folder.mkdir()
    database = folder / "example.sqlite"
    asyncio.run(_build(f"sqlite:///{database}", made_up=made_up))
    return Example(write_config(folder, f"sqlite:///{database}"), database)


def copied(example: Example, folder: Path) -> Example:
    """A copy of the example store, for changing."""
    for part in example.database.parent.glob("example.sqlite*"):
        shutil.copy(part, folder / part.name.replace("example", "own"))
    database = folder / "own.sqlite"
    return Example(write_config(folder, f"sqlite:///{database}"), database)


async def _build(url: str, *, made_up: bool) -> None:
    async with open_store(url, create=True) as store:
        world = World(store, script=_script, source=MemorySource(tasks_of_all_types()))
        await on_virtual_time(world, world.service.one_round())
        if made_up:
            await _lower_reputation(store)
        prepared = await world.preparer.prepare(await world.chain.snapshot())
        assert isinstance(prepared, Prepared)
        if made_up:
            await _add_conduct(store, world)


def _script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    return garbage(signer, dispatch) if signer.hotkey == GARBAGE else honest(signer, dispatch)


async def _lower_reputation(store: Store) -> None:
    """Bring one miner below what selection asks for, so that the next round leaves it out."""
    async with store.begin() as tx:
        await plant(tx, lambda change: change.update((GARBAGE, SkillType.MCP_SERVER), reputation=0.1225))


async def _add_conduct(store: Store, world: World) -> None:
    """Add records that a few rounds do not produce: flags, a hostile name, weights, valid declarations."""
    snapshot = await world.chain.snapshot()
    strangers = Neuron(EVIL, 200, 0.0, False, None), Neuron(FOREIGN, 201, 0.0, False, None)
    now = datetime.now(UTC)
    async with store.begin() as tx:
        seen = msgspec.structs.replace(snapshot, block=snapshot.block + 10, neurons=(*snapshot.neurons, *strangers))
        await tx.miners.seen(seen)
        flag = FlagRaised(FLAGGED, SkillType.DECLARATIVE, 0.953, 0.412, 0.25, 0.75, 5)
        await plant_flag(tx, flag, 0, RAISED)
        await plant_flag(tx, FlagRaised(EVIL, SkillType.MCP_SERVER, 0.99, 0.1, 0.25, 0.75, 7), 0, RAISED)
        await tx.acts.clear(EVIL, "[red]looked\x07 at it[/red]", RAISED + timedelta(days=1))
        document = world._capabilities(world.signers[FLAGGED])
        await tx.capabilities.put(FLAGGED, document, now, now + timedelta(hours=12), now)
        vector, scores = {FLAGGED: 0.15, EVIL: 0.05}, {FLAGGED: 1 / 3, EVIL: 0.25, GARBAGE: 0.0}
        number = (await tx.weights.prepare(1, 0, 7, PlannedWeights(vector, scores, 0.8, {}), RAISED)).id
        unpaid = UnpaidWindow(GARBAGE, "mcp_server", Reason.LOW_REPUTATION, "its reputation is 0.1000", 6, 0)
        vector_of_7 = VectorRecord(1, 0, 7, 0, 139, "1.0.0", positive=True, unpaid=(unpaid,), computed_at=RAISED)
        await tx.vectors.put(vector_of_7)
        await tx.weights.update(number, "confirmed", RAISED, block=140, message="[green]fine[/green]", extrinsic="0x1")
        await tx.state.copy(0, await tx.state.whole())  # from here on the state follows from the rounds
