"""Hostility of every kind against the daemon as a process: it lives, it stays small and quick, and honest miners
never notice (SPEC 5, D-27).

HOSTILE_ROUNDS runs many rounds and holds memory, lateness and lag to their bounds; the suite runs every kind once.
"""

import asyncio
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from daemon_process import Site, until
from hostile import KINDS, archives, of_channel, traces
from hostile.declarations import KEPT, REFUSED
from hostile.kinds import Kind
from hostile.population import Journal, Plan, Population, goal_documents
from hostile.shown import unescaped
from process_watch import Lag, Memory, lag_of, memory_group, memory_watched, metrics_of

from sssa.protocol.dispatch_record import Dispatch
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.task import Windows
from sssa.protocol.workflow_plan import goal_sha256
from sssa.protocol.workflow_run import run_id_of
from sssa.protocol.workflow_task import WorkflowTask
from validator.store import Store, open_store
from validator.store.rows import RoundRecord

pytestmark = pytest.mark.attack

ROUNDS = int(os.environ.get("HOSTILE_ROUNDS", "0"))  # 0: until every kind had its turn
LONG = ROUNDS > 0
DEADLINE_S = 20.0 if LONG else 12.0
PLAN_S, RUN_S = DEADLINE_S / 2, DEADLINE_S / 3  # a run may take 1.5 times its latency: both end by the deadline
MOST_LATE_S = 10.0
MOST_MIB = 600.0
LIMIT_MIB = 1024  # of the whole daemon, where this user may set one
EARLY_S = 0.5
SHOWN = {"injections everywhere", "unknown fields", "injected headers", "service that is not offered"}


@dataclass
class Watched:
    """A run of the daemon that is over."""

    store: Store
    site: Site
    journal: Journal
    memory: Memory
    limit: str
    lag: Lag
    metrics: str
    exit_code: int


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
async def watched(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Watched]:
    """Rounds among hostile and honest miners, until there were enough; the daemon then stops in peace."""
    archives.warm_up()
    traces.warm_up()
    short = Plan(("dear", "cheap", "cheap", "dear", "cheap", "honest"), plans=0.7, waiting_every=1000)
    async with Population(max(60, min(240, ROUNDS * 6)), Plan() if LONG else short) as population:
        goals = goal_documents(population.url, PLAN_S, RUN_S)
        for goal in goals:
            task = msgspec.convert(goal, WorkflowTask)
            population.goals[goal_sha256(task)] = task
        windows, refresh_s = Windows((EARLY_S, DEADLINE_S), (EARLY_S, DEADLINE_S)), 15.0 if LONG else 900.0
        site = Site(tmp_path, sqlite_url, population, windows, free_port(), refresh_s=refresh_s, goals=goals)
        over = await watched_to_its_end(site, sqlite_url, population.journal)
    yield over
    await over.store.close()


async def watched_to_its_end(site: Site, url: str, journal: Journal) -> Watched:
    with memory_group(LIMIT_MIB) as group:
        async with site.daemon() as process:
            if group is not None:
                group.add(process.pid)
            over = await watched_until_enough(site, url, journal, process)
        if group is None:
            return over
        assert group.killed == 0
        return replace(over, limit=f"{group.peak:.0f} MiB with the cache of files; no process was killed")


async def watched_until_enough(site: Site, url: str, journal: Journal, process: asyncio.subprocess.Process) -> Watched:
    store = await open_store(url)

    async def enough() -> bool:
        assert process.returncode is None, site.log.read_text()[-3000:]
        rounds = [record for record in await all_rounds(store) if record.state != "open"]
        return len(rounds) >= ROUNDS if LONG else not unused(journal)

    async with memory_watched(process.pid) as memory:
        await until(enough, site, seconds=100 + 40 * ROUNDS)
        metrics = await metrics_of(site.health_port)
        process.send_signal(signal.SIGTERM)
        exit_code = await asyncio.wait_for(process.wait(), DEADLINE_S + 60)
    return Watched(store, site, journal, memory, "none was set", lag_of(metrics), metrics, exit_code)


async def test_no_hostility_stops_the_daemon_or_costs_an_honest_miner(watched: Watched) -> None:
    records = await all_rounds(watched.store)
    sys.stdout.write(table(watched, records))
    assert watched.exit_code == 0, watched.site.log.read_text()[-3000:]
    assert {record.state for record in records} == {"settled"}
    await check_answers(watched.store, watched.journal, records)
    await check_steps(watched.store, watched.journal, records)
    await check_declarations(watched.store, watched.journal)
    assert unused(watched.journal) == []
    assert unescaped(watched.site.log.read_text()) == set()
    assert unescaped(watched.metrics) == set()
    assert '"round_failed"' not in watched.site.log.read_text()
    assert await unescaped_by_commands(watched) == {}
    if LONG:
        check_bounds(watched, records)


def check_bounds(watched: Watched, records: list[RoundRecord]) -> None:
    assert watched.memory.peak < MOST_MIB
    assert max(map(late_s, records)) <= MOST_LATE_S
    assert watched.lag.share_within(0.05) >= 0.99
    assert watched.lag.share_within(0.25) >= 0.999
    for done in watched.journal.rounds.values():
        assert done["dear"] * 3 >= done.total() - 2


async def unescaped_by_commands(watched: Watched) -> dict[str, set[str]]:
    """Return the unescaped hostile text on pages that show answers, by command."""
    evil: dict[str, tuple[int, str]] = {}
    async with watched.store.read() as tx:
        for record in await tx.rounds.listing(1000):
            for dispatch in await tx.dispatches.of_round(record.round_id):
                kind = watched.journal.answers.get((dispatch.key.task_id, dispatch.key.hotkey))
                if kind is not None and kind.name in SHOWN:
                    evil[kind.name] = record.round_id, dispatch.key.hotkey
    assert set(evil) == SHOWN
    commands: list[tuple[str, ...]] = [
        ("explain", hotkey, "--round", str(round_id)) for round_id, hotkey in evil.values()
    ]
    commands.append(("rounds", "show", str(next(iter(evil.values()))[0])))
    return {" ".join(one): found for one in commands if (found := unescaped(await watched.site.output_of(*one)))}


async def all_rounds(store: Store) -> list[RoundRecord]:
    async with store.read() as tx:
        return list(await tx.rounds.listing(1000))


def unused(journal: Journal) -> list[str]:
    used = journal.used()
    return [kind.name for kind in KINDS if not used[kind.name]]


def late_s(record: RoundRecord) -> float:
    """Return the seconds from a round's deadline to its settlement."""
    if record.settled_at is None:
        raise ValueError(f"round {record.round_id} is open")
    return (record.settled_at - record.started_at).total_seconds() - DEADLINE_S


async def check_answers(store: Store, journal: Journal, records: list[RoundRecord]) -> None:
    """Every honest answer was accepted, every hostile one ended in a reason of its kind."""
    wrong = []
    async with store.read() as tx:
        for record in records:
            for dispatch in await tx.dispatches.of_round(record.round_id):
                kind = journal.answers.get((dispatch.key.task_id, dispatch.key.hotkey), "never asked")
                expected = kind.outcomes if isinstance(kind, Kind) else {str(Reason.ACCEPTED)}
                if kind == "never asked" or dispatch.reason not in expected:
                    wrong.append((record.round_id, kind.name if isinstance(kind, Kind) else kind, shown(dispatch)))
    assert not wrong, "\n".join(map(str, wrong))


def shown(dispatch: Dispatch) -> str:
    return f"{dispatch.state} {dispatch.reason} {dispatch.role} {dispatch.skill_type} {dispatch.detail}"


async def check_steps(store: Store, journal: Journal, records: list[RoundRecord]) -> None:
    """Compare the journal of the step services with the runs' records."""
    wrong = []
    async with store.read() as tx:
        for record in records:
            results = await tx.submissions.results(record.round_id)
            for ran in (one for one in results.passed if isinstance(one, WorkflowSubmission)):
                for step in ran.run.steps:
                    for number, attempt in enumerate(step.attempts, start=1):
                        kind = journal.steps.get((run_id_of(ran.task_id, ran.hotkey), step.node_id, number))
                        if kind is not None and str(attempt.outcome) not in kind.outcomes:
                            wrong.append((kind.name, str(attempt.outcome), attempt.detail))
    assert not wrong, "\n".join(map(str, wrong))


async def check_declarations(store: Store, journal: Journal) -> None:
    async with store.read() as tx:
        kept = await tx.capabilities.valid(datetime.now(UTC))
    wrong = [
        kind.name
        for hotkey, kind in journal.declarers.items()
        if (KEPT if hotkey in kept else REFUSED) not in kind.outcomes
    ]
    assert not wrong, "\n".join(map(str, wrong))
    assert len(kept) > len(of_channel("capabilities"))


def table(watched: Watched, records: list[RoundRecord]) -> str:
    """The figures, one a line."""
    classes: Counter[str] = sum(watched.journal.rounds.values(), Counter())
    lag, memory = watched.lag, watched.memory
    used = watched.journal.used()
    ended = [record for record in records if record.settled_at is not None]
    lines = {
        "rounds": f"{len(records)}, each with a deadline of {DEADLINE_S:g} s",
        "kinds": f"{len(used)} of {len(KINDS)}, {sum(kind.dear for kind in KINDS)} of them dear",
        "answers": ", ".join(f"{count} {name}" for name, count in sorted(classes.items())),
        "hostile requests of all kinds": f"{used.total()}",
        "latest round": f"{max(map(late_s, ended)):+.1f} s from its deadline",
        "timers of the event loop": f"{lag.timers}",
        "within 50 ms": f"{100 * lag.share_within(0.05):.2f} % (p99 under {lag.bound_of(0.99):g} s)",
        "within 250 ms": f"{100 * lag.share_within(0.25):.3f} % (p99.9 under {lag.bound_of(0.999):g} s)",
        "memory of all processes": f"{memory.peak:.0f} MiB at most (sum of Pss, {memory.processes} processes)",
        "memory of the daemon itself": f"{memory.daemon:.0f} MiB at most",
        f"under a limit of {LIMIT_MIB} MiB": watched.limit,
    }
    return "\n" + "".join(f"{name:30} {value}\n" for name, value in lines.items())
