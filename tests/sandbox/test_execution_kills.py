"""kill -9 of the daemon among executions: each ends once, is counted once, and leaves nothing in the engine (SPEC 15).

`pytest tests/sandbox/test_execution_kills.py` takes many of them on each database and prints the figures.
"""

import asyncio
import json
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import execution_world
import pytest
from aiohttp import web
from daemon_process import PROGRAM, Miners, Site, until
from engine_kit import NOTHING, TRACED, Registry, left_behind
from execution_world import INVENTS, ran
from process_watch import gone

from validator.daemon.exits import Exit
from validator.protocol.answer import Dispatch
from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.signatures import Signer
from validator.protocol.task import Windows
from validator.sandbox.containers import OWNER
from validator.sandbox.engine import Engine
from validator.store import Store, open_store
from validator.store.waiting_work import Execution

pytestmark = pytest.mark.engine

KILLS = int(os.environ.get("EXECUTION_KILLS", "2"))
WINDOWS = Windows((0, 30), (0, 30))
EVENTS = {"rerun_pass", "rerun_fail"}
# The bundle does what `execution_world.DOES` says; without one the image shows the probes alone.
DOES = rb"""
if [ -e $SSSA_BUNDLE/a.py ]; then
  for i in 0 1 2 3 4; do echo "{\"ts\": $i, \"op\": \"read\", \"path\": \"/skill/$i\"}" >> fs.jsonl; done
  echo '{"ts": 2, "domain": "updates.example.invalid", "dst_port": 80, "proto": "tcp"}' >> network.jsonl
  echo '{"ts": 3, "cmd": "tar -x"}' >> process.jsonl
fi
sleep 1; exit 0
"""
# What a life waits for before it ends within a moment: a container of a run, or an event in the log, so often at most.
MOMENTS = (
    ("container", 1),
    ('"work_ended"', 4),
    ("container", 1),
    ('"round_settled"', 2),
    ('"daemon_started"', 1),
    ('"', 1),
)
_SOON_S = 0.7


@dataclass
class Figures:
    """Counts over all kills.

    Attributes:
        in_engine: kills that left containers or volumes behind.
        in_store: kills that left an execution running in the store.
    """

    kills: int = 0
    in_engine: int = 0
    in_store: int = 0


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    """Twelve whose traces all pass the gates; one in four invents them."""
    miners = Miners(12)
    await miners.start()
    yield miners
    await miners.close()


async def test_kills_among_executions_neither_double_nor_lose_a_result_nor_leave_a_container(
    miners: Miners, registry: Registry, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, figures = random.Random(f"{store_url.partition(':')[0]} {KILLS}"), Figures()

    invents = {signer.hotkey for signer in miners.signers[1::4]}

    async def at_their_leisure(signer: Signer, dispatch: Dispatch, _request: web.Request) -> bytes:
        await asyncio.sleep(chance.random())
        return ran(signer, dispatch, INVENTS if signer.hotkey in invents else execution_world.DOES).body or b""

    miners.answerer = at_their_leisure
    image = await registry.image("ENV MADE=here", files={"bin/tracer": "#!/bin/sh" + (TRACED + DOES).decode()})
    site = site_of(tmp_path, store_url, miners, image)
    before = await networks()
    async with open_store(store_url, create=True) as store:
        while figures.kills < KILLS:
            await one_life(site, store, figures, chance)
        await all_ended(site, store)
        assert await left_behind() == NOTHING
        assert await networks() == before
        monkeypatch.delenv("DOCKER_HOST")  # an engine would be asked for more
        await all_counted(site, store)
        await check(site, store, store_url, figures)


def site_of(folder: Path, store_url: str, miners: Miners, image: RuntimeImage) -> Site:
    """Two tasks of Python a round, every second."""
    site = Site(folder, store_url, miners, WINDOWS)
    site.log.touch()
    settings = site.config.read_text() + f'[scoring]\nruntime_images = {{ "{image.pinned}" = 0 }}\n'
    site.config.write_text(settings.replace("interval_s = 0.2", "interval_s = 1.0"))
    for task in (folder / "tasks").glob("*/task.json"):
        if json.loads(task.read_text())["skill_type"] != "executable_python":
            shutil.rmtree(task.parent)
    return site


async def one_life(site: Site, store: Store, figures: Figures, chance: random.Random) -> None:
    """Start the daemon, kill it alone at a random moment among its executions, and see all of its processes die."""
    await due_now(store)
    moment, most = MOMENTS[figures.kills % len(MOMENTS)]
    seen = site.log.read_text().count(moment) + chance.randint(1, most)

    async def its_moment() -> bool:
        if process.returncode is not None:
            return True
        if moment != "container":
            return site.log.read_text().count(moment) >= seen
        return any(one["State"] == "running" for one in await asked(lambda engine: engine.containers(OWNER)))

    async with site.daemon() as process:
        await until(its_moment, site)
        try:
            code = await asyncio.wait_for(process.wait(), chance.uniform(0, _SOON_S))
        except TimeoutError:
            process.kill()
            code = await process.wait()
    assert code in (-signal.SIGKILL, Exit.STORE_IN_USE), site.log.read_text()[-3000:]
    if code == -signal.SIGKILL:  # Postgres may hold the lock of one that was killed for a moment
        figures.kills += 1
        figures.in_engine += await left_behind() != NOTHING
        figures.in_store += any(one.state == "running" for one in await every_execution(store))
    await gone(process.pid)


async def every_execution(store: Store) -> tuple[Execution, ...]:
    async with store.read() as tx:
        return await tx.executions.listing(10_000)


async def due_now(store: Store) -> None:
    """Make postponed executions due at once, as `validator waiting retry` does."""
    async with store.begin() as tx:
        for one in await tx.executions.listing(10_000, "pending"):
            await tx.executions.retry(one.work_id, datetime.now(UTC))


async def all_ended(site: Site, store: Store) -> None:
    """Let one more round end in peace and all executions, then the daemon."""
    site.config.write_text(site.config.read_text().replace("interval_s = 1.0", "interval_s = 3600.0"))
    settled = site.log.read_text().count('"round_settled"')

    async def ended() -> bool:
        await due_now(store)
        return site.log.read_text().count('"round_settled"') > settled and not any(
            one.ended_at is None for one in await every_execution(store)
        )

    async with site.daemon() as process:
        await until(ended, site, 240)
        await terminated(site, process)


async def all_counted(site: Site, store: Store) -> None:
    """Let the results enter one more round; without an engine it asks for none."""

    async def counted() -> bool:
        async with store.read() as tx:
            return not await tx.executions.results()

    async with site.daemon() as process:
        await until(counted, site)
        await terminated(site, process)


async def terminated(site: Site, process: asyncio.subprocess.Process) -> None:
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 60) == Exit.FINE, site.log.read_text()[-3000:]


async def check(site: Site, store: Store, url: str, figures: Figures) -> None:
    found = await every_execution(store)
    assert {one.state for one in found} <= {"done", "inconclusive"}
    rounds, counted, entries = await known(store)
    results = [(one, result) for one in found for result in one.results]
    assert counted == Counter((one.entered_in, result.hotkey, one.skill_type, result.event) for one, result in results)
    for one, result in results:
        assert (result.struck is not None) == (result.event == "rerun_fail")
        assert (entries[one.round_id, one.task_id, result.hotkey] == 0.0) == (result.event == "rerun_fail")
    assert all(len(one.results) == (len(one.hotkeys) if one.state == "done" else 0) for one in found)
    events = Counter(result.event for _, result in results)
    if KILLS > 10:  # so many that chance leaves nothing out
        assert set(events) >= EVENTS
        assert figures.in_engine > 0
        assert figures.in_store > 0
    check_log(site)
    await check_audit(site)
    print(  # noqa: T201 - the figures are the point
        f"\n{url.partition(':')[0]}: {figures.kills} kills, {figures.in_store} of them with executions running,"
        f" {figures.in_engine} with containers; {len(found)} executions of {rounds} rounds ended once"
        f" ({ {str(event): many for event, many in events.items()} }), {sum(one.attempts for one in found)} tries;"
        f" every event counted once, nothing left in the engine"
    )


async def known(store: Store) -> tuple[int, Counter[Any], dict[tuple[int, str, str], float]]:
    """Return the number of rounds, the count of each event in the reputations, and the value of every entry."""
    async with store.read() as tx:
        rounds = [record.round_id for record in await tx.rounds.listing(10_000)]
        outcomes = {number: await tx.records.outcome(number) for number in rounds}
        records = [(number, one) for number, found in outcomes.items() if found for one in found.reputation]
        entries = [entry for number in rounds for entry in await tx.windows.of_round(number)]
    events = Counter(
        (number, event.hotkey, event.skill_type, event.kind) for number, event in records if event.kind in EVENTS
    )
    return len(rounds), events, {(one.round_id, one.task_id, one.hotkey): one.value for one in entries}


def check_log(site: Site) -> None:
    """No execution ended twice."""
    ends = Counter[str]()
    for line in site.log.read_text().splitlines():
        event = json.loads(line) if line.startswith("{") else {"event": ""}  # Python's own warnings are none
        if event["event"] == "work_ended":
            ends[event["work_id"]] += 1
    assert set(ends.values()) == {1}


async def check_audit(site: Site) -> None:
    """Replay and the log agree with all of it."""
    found = [json.loads(line) for line in (await site.said("replay", "--all", "--json")).splitlines()]
    assert {(one["state"], one["verdict"]) for one in found} <= {("settled", "equal"), ("void", "unscored")}
    file = site.config.with_name("log.jsonl")
    await site.said("audit", "export", "--out", str(file))
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "audit", "verify", str(file), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()


async def networks() -> list[str]:
    """The names of the engine's networks."""
    return sorted(one["Name"] for one in await asked(lambda engine: engine._docker.networks.list()))


async def asked(what: Callable[[Engine], Awaitable[list[Any]]]) -> list[Any]:
    engine = Engine(os.environ["DOCKER_HOST"])
    try:
        return await what(engine)
    finally:
        await engine.close()
