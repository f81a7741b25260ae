"""kill -9 at random moments of whole rounds: nothing is counted twice or lost, nothing lives on (SPEC 5, D-6).

`pytest tests/acceptance/test_kills.py` takes many of them on each database and prints the figures.
"""

import asyncio
import json
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from daemon_process import Miners, Site, honest, until
from fork_start import ran
from process_watch import gone
from state_kit import windows_of

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.daemon.exits import Exit
from validator.store import Store, open_store
from validator.store.rows import RoundRecord

pytestmark = pytest.mark.attack

KILLS = int(os.environ.get("KILLS", "2"))
DEADLINE_S = 15.0
# What a life waits for in the log, how often, before it ends within a moment: while it starts, while it resumes, among
# the sixty dispatches of a round or of a second one, at the last of them, at the settling.
MOMENTS = (
    ('"', (0, 0)),
    ('"daemon_started"', (1, 1)),
    ('"round_started"', (1, 2)),
    ('"dispatch"', (1, 59)),
    ('"dispatch"', (60, 60)),
    ('"dispatch"', (61, 119)),
    ('"round_settled"', (1, 2)),
)
_SOON_S = 0.7


@dataclass
class Figures:
    """Counts over all kills.

    Attributes:
        found_open: kills that left a round open.
        orphans_s: how long a part of a killed daemon lived on at most.
    """

    kills: int = 0
    open_rounds: int = 0
    orphans_s: float = 0.0
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners(12)
    await miners.start()
    yield miners
    await miners.close()


async def test_kills_at_random_moments_neither_double_nor_lose_anything(
    miners: Miners, store_url: str, tmp_path: Path
) -> None:
    chance, figures = random.Random(f"{store_url.partition(':')[0]} {KILLS}"), Figures()

    async def at_their_leisure(signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes:
        figures.asked[dispatch.task_id, signer.hotkey] += 1
        await asyncio.sleep(chance.random())
        return await honest(signer, dispatch, request)

    miners.answerer = at_their_leisure
    site = Site(tmp_path, store_url, miners, Windows((0, DEADLINE_S), (0, DEADLINE_S)))
    site.log.touch()
    async with open_store(store_url, create=True) as store:
        while figures.kills < KILLS:
            await one_life(site, store, figures, chance)
        await calm_end(site, store)
        await check(site, store, store_url, figures)


async def one_life(site: Site, store: Store, figures: Figures, chance: random.Random) -> None:
    """Start the daemon, kill it alone at a random moment, and see all of it die."""
    event, times = chance.choice(MOMENTS)
    moment = site.log.read_text().count(event) + chance.randint(*times)

    async def its_moment() -> bool:
        return process.returncode is not None or site.log.read_text().count(event) >= moment

    async with site.forked() as process:
        await until(its_moment, site)
        try:
            code = await asyncio.wait_for(process.wait(), chance.uniform(0, _SOON_S))
        except TimeoutError:
            process.kill()
            code = await process.wait()
    assert code in (-signal.SIGKILL, Exit.STORE_IN_USE), site.log.read_text()[-3000:]
    if code == -signal.SIGKILL:  # Postgres may hold the lock of one that was killed for a moment
        figures.kills += 1
        figures.open_rounds += any(record.state == "open" for record in await listing(store))
    figures.orphans_s = max(figures.orphans_s, await gone(process.pid))


async def calm_end(site: Site, store: Store) -> None:
    """Let two more rounds end in peace, then the daemon."""
    before = len(await listing(store))
    async with site.forked() as process:
        await until(lambda: settled_since(store, before + 1), site)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), DEADLINE_S + 30) == 0, site.log.read_text()[-3000:]


async def listing(store: Store) -> list[RoundRecord]:
    async with store.read() as tx:
        return list(await tx.rounds.listing(1000))


async def settled_since(store: Store, round_id: int) -> bool:
    return any(record.state == "settled" and record.round_id >= round_id for record in await listing(store))


async def check(site: Site, store: Store, url: str, figures: Figures) -> None:
    records = await listing(store)
    states = Counter(record.state for record in records)
    assert set(states) <= {"settled", "void"}
    assert sorted(record.round_id for record in records) == list(range(len(records)))
    counted = Counter[str]()
    for record in records:
        counted += await check_round(store, record)
    async with store.read() as tx:
        windows = await windows_of(tx)
    assert sum(len(values) for of_types in windows.values() for values in of_types.values()) == counted["entries"]
    assert set(figures.asked.values()) == {1}
    check_log(site)
    assert await replayed(site) == {"settled": {"equal"}} | ({"void": {"unscored"}} if states["void"] else {})
    await check_audit(site)
    print(  # noqa: T201 - the figures are the point
        f"\n{url.partition(':')[0]}: {figures.kills} kills, {figures.open_rounds} of them within a round;"
        f" {len(records)} rounds ({dict(states)}), {counted['dispatches']} dispatches, {counted['entries']} counted,"
        f" {counted['void']} void; nothing twice, nothing lost, all replayed equal;"
        f" the last process was gone {figures.orphans_s:.2f} s after its daemon at most"
    )


async def check_round(store: Store, record: RoundRecord) -> Counter[str]:
    """Check that answers and failures are in the windows once, open dispatches are void, and nothing else is left."""
    async with store.read() as tx:
        dispatches = await tx.dispatches.of_round(record.round_id)
        entries = [(entry.hotkey, entry.task_id) for entry in await tx.windows.of_round(record.round_id)]
    states = Counter(dispatch.state for dispatch in dispatches)
    assert set(states) <= {"answered", "failed", "void"}
    assert len(dispatches) == record.dispatch_count
    judged = [(d.key.hotkey, d.key.task_id) for d in dispatches if d.state in ("answered", "failed")]
    assert sorted(entries) == sorted(judged)
    assert all(d.reason == "accepted" for d in dispatches if d.state == "answered")
    return Counter(dispatches=len(dispatches), entries=len(entries), void=states["void"])


def check_log(site: Site) -> None:
    """No round was ended twice."""
    ends = Counter[str]()
    for line in site.log.read_text().splitlines():
        event = json.loads(line) if line.startswith("{") else {"event": ""}  # Python's own warnings are none
        if event["event"] in ("round_settled", "round_ended", "round_resumed"):
            ends[event["round_id"]] += 1
    assert set(ends.values()) == {1}


async def replayed(site: Site) -> dict[str, set[str]]:
    """Return the result of `replay` for the rounds, by their state."""
    verdicts: dict[str, set[str]] = {}
    for line in (await site.output_of("replay", "--all", "--json")).splitlines():
        found = json.loads(line)
        verdicts.setdefault(found["state"], set()).add(found["verdict"])
    return verdicts


async def check_audit(site: Site) -> None:
    file = site.config.with_name("log.jsonl")
    await site.output_of("audit", "export", "--out", str(file))
    done = await asyncio.to_thread(ran, "audit", "verify", str(file))
    assert done.returncode == 0, done.stdout
