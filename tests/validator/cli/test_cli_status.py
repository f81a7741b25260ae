"""`validator status`: one screen, with and without a validator that runs; and what it says of each side."""

import json
import os
import pty
import select
import signal
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli_store import EVIL, EVIL_SHOWN, PROGRAM, Example, called, environment, write_config

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.cli.output import byte_size, span
from sssa.protocol.round import Neuron
from sssa.sources import VirtualClock
from validator.chain.interface import Head
from validator.cli.status import screen
from validator.health.catalogue import CONDITIONS, FATAL
from validator.health.client import HealthAnswer
from validator.health.status import Miners, Observer, OnChain, OnChainWeights, Overview, Stored, disk_of, stored
from validator.settings.model import Settings
from validator.store import Store
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.rows import LogHead, WeightsRecord
from validator.store.size import DiskUse

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ME = Neuron("5Me", 3, 1000.0, True, None)
NOBODY = HealthAnswer(False, "http://127.0.0.1:9337", "no answer: Connection refused")


def test_without_a_validator_it_says_so_first_and_shows_what_is_stored(example: Example) -> None:
    done = called("status", "--no-chain", "--config", str(example.config))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("NO VALIDATOR ANSWERS at http://127.0.0.1:9337 (no answer: ")
    assert any(line.startswith("round      1 in hand for ") for line in lines)
    assert any(line.startswith("weights    mechanism 0: epoch 7 confirmed at block 140, ") for line in lines)
    assert "flags      1 standing on 1 hotkeys, 0 ejected" in lines
    assert any(line.startswith("unpaid     ") for line in lines)
    table = [line.split() for line in lines if line.split()[:1] in (["0"], ["1"])]
    assert [row[:2] for row in table] == [["1", "open"], ["0", "settled"]]
    assert all(line.isprintable() for line in lines)


def test_json_has_all_of_it(example: Example) -> None:
    done = called("status", "--no-chain", "--json", "--config", str(example.config))
    found = json.loads(done.stdout)
    assert found["running"]["report"] is None
    assert found["store"]["in_hand"]["round_id"] == 1
    assert found["store"]["flags"] == 1
    assert found["disk"]["bytes"] > 0
    assert (found["chain"], found["problems"]["chain"]) == (None, "not asked")


def test_a_store_that_cannot_be_read_is_said_and_has_an_exit_code(tmp_path: Path) -> None:
    config = write_config(tmp_path, f"sqlite:///{tmp_path}/nowhere/v.sqlite")
    done = called("status", "--no-chain", "--config", str(config))
    assert (done.returncode, done.stderr) == (3, "")
    assert "does not exist; make it" in done.stdout


def test_a_hotkey_that_cannot_be_read_has_a_line_of_its_own() -> None:
    lines = screen(
        overview(hotkey=None, problems={"wallet": "The hotkey's file is not there: x", "chain": "not asked"})
    )
    assert lines[1].startswith("netuid 1, hotkey unknown, ")
    assert "wallet     unknown: The hotkey's file is not there: x" in lines


def test_to_watch_it_needs_a_terminal(example: Example) -> None:
    done = called("status", "--watch", "--no-chain", "--config", str(example.config))
    assert (done.returncode, done.stdout) == (2, "")
    assert "leave --watch out, or add --json" in done.stderr


def test_watching_prints_look_after_look_until_it_is_interrupted(example: Example) -> None:
    command = [*PROGRAM, "status", "--watch", "--json", "--every", "1", "--no-chain", "--config", str(example.config)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as done:
        assert done.stdout is not None
        assert done.stderr is not None
        first, second = (json.loads(done.stdout.readline()) for _ in range(2))
        done.send_signal(signal.SIGINT)
        assert (done.wait(30), done.stderr.read()) == (0, "")
    assert first["store"]["rounds"] == second["store"]["rounds"]
    assert first["at"] < second["at"]


def test_a_terminal_is_watched_live(example: Example) -> None:
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "status", "--watch", "--no-chain", "--config", str(example.config)]
    shell = environment(TERM="xterm", COLUMNS="120", LINES="100")
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=shell) as done:
        os.close(theirs)
        shown = b""
        try:
            while b"mean consensus" not in shown:
                assert select.select([ours], [], [], 60)[0], shown
                shown += os.read(ours, 65_536)
            done.send_signal(signal.SIGINT)
            while select.select([ours], [], [], 60)[0]:
                try:
                    os.read(ours, 65_536)
                except OSError:  # it has gone
                    break
            assert done.wait(30) == 0
        finally:
            done.kill()  # else a test that failed would wait for it without end
    os.close(ours)
    assert b"NO VALIDATOR ANSWERS" in shown
    assert b"u001b" not in shown  # a style of ours that was made harmless


async def test_what_is_stored_is_told_alike_by_both_databases(store: Store, store_url: str) -> None:
    settings = Settings.model_validate({"validator": {"netuid": 1}, "store": {"url": store_url}})
    async with store.begin() as tx:
        await tx.weight_guard.lock("another program wrote", NOW)
        plan = PlannedWeights({"a": 1.0}, {"a": 1.0}, 0.0, {3: 65_535})
        await tx.weights.prepare(1, 0, 7, plan, NOW)
        await tx.weights.prepare(2, 0, 9, plan, NOW)  # of another subnet
    async with store.read() as tx:
        found = await stored(tx, settings, NOW)
        disk = await disk_of(tx, settings.store, NOW)
    assert [(one.netuid, one.epoch, one.state) for one in found.weights] == [(1, 7, "prepared")]
    assert (found.locked, found.rounds, found.in_hand) == ("another program wrote", (), None)
    assert found.miners == Miners(0, 0, 0, 0, 0, 0)
    assert found.log is None
    assert set(found.confirmed.values()) == {None}
    assert disk.bytes > 0
    assert (disk.per_day, disk.days_left) == (None, None)


def overview(**changes: object) -> Overview:
    """A validator that does not run, with an empty store and no chain, but for what is changed."""
    nothing = Stored((), None, (), {}, Miners(0, 0, 0, 0, 0, 0), 0, {}, {}, None, None)
    base = Overview(NOW, 1, "5Me", NOBODY, nothing, DiskUse(1024, None, None, None), None, {"chain": "not asked"}, 3)
    return replace(base, **changes)  # type: ignore[arg-type]


def with_stored(**changes: object) -> Stored:
    empty = overview().store
    assert empty is not None
    return replace(empty, **changes)  # type: ignore[arg-type]


def weights(epoch: int, sent: dict[int, int]) -> WeightsRecord:
    return WeightsRecord(
        1, 1, 0, epoch, "confirmed", 1, 130, 8, 138, 135, sent, {}, {}, 0.0, None, None, NOW, NOW - timedelta(hours=2)
    )


def chain(epoch: int, row: dict[int, int], commits: tuple[int, ...] = (), me: Neuron | None = ME) -> OnChain:
    head = Head(150, "00", int(NOW.timestamp()) - 4, epoch, 200, 101)
    return OnChain(1, head, 180, 12, me, 500.0, (OnChainWeights(0, 135, row, commits),))


def test_a_slow_chain_and_one_that_cannot_be_read_are_said() -> None:
    assert "block      150, 4 s old; 12 neurons; slow: 2.0 s a call" in screen(
        overview(chain=replace(chain(7, {}), latency_s=2.04))
    )
    problem = "head: no answer within 20 s: ws://n:9944: no connection: Connection refused"
    lines = screen(overview(problems={"chain": problem}))
    assert f"chain      unknown: {problem}" in lines
    assert f"  the chain cannot be read from here: {problem}" in lines


def test_the_newest_receipt_that_an_export_must_reach() -> None:
    assert "log        no receipt yet" in screen(overview())
    lines = screen(overview(store=with_stored(log=LogHead(41, "ab" * 32, "2026-01-01T00:00:00Z"))))
    assert f"log        receipt 41 of 2026-01-01T00:00:00Z, digest {'ab' * 32}" in lines


def test_the_chain_and_the_row_in_force() -> None:
    stored_weights = with_stored(weights=(weights(6, {3: 65_535}),), confirmed={0: 6})
    text = "\n".join(screen(overview(store=stored_weights, chain=chain(7, {3: 65_535}))))
    assert "role       uid 3, validator permit, stake 1000 TAO (least 500)" in text
    assert "block      150, 4 s old; 12 neurons" in text
    assert "epoch      7 [############............] 50%, until block 200; weights due in 30 blocks" in text
    assert "epoch 6 confirmed at block 135, 2 h ago; on chain 1 targets, updated at block 135, as sent" in text
    assert "to look at" not in text
    text = "\n".join(screen(overview(store=stored_weights, chain=chain(9, {4: 1}, me=None))))
    assert "NOT REGISTERED on this subnet" in text
    assert "NOT what this store sent last" in text
    sending = with_stored(weights=(replace(weights(7, {3: 65_535}), state="unknown"),))
    assert "updated at block 135, from before it" in "\n".join(screen(overview(store=sending, chain=chain(7, {4: 1}))))
    text = "\n".join(screen(overview(store=stored_weights, chain=chain(7, {}, commits=(140,)))))
    assert "on chain 1 not revealed yet, the newest of block 140" in text


@pytest.mark.parametrize(("number", "shown"), [(101, "1%"), (110, "100%")])
def test_an_epochs_progress_is_that_between_its_own_steps(number: int, shown: str) -> None:
    found = chain(7, {})
    bounds = Head(number, "00", 0, 7, epoch_end=110 if number == 110 else 200, epoch_start=101)
    text = "\n".join(screen(overview(chain=replace(found, head=bounds))))
    assert f"] {shown}, until block" in text


def test_what_somebody_should_look_at_comes_last() -> None:
    odd = "round 7: rounds_no_tasks: the task source gave none. Put tasks into it."
    running = HealthAnswer(True, "http://x", "degraded: local_disk", {}, (f"local_disk: {EVIL}",), advice=(odd,))
    disk = DiskUse(10 * 1024**2, 100 * 1024**2, 20.0 * 1024**2, 5.0)
    lines = screen(overview(running=running, store=with_stored(locked=EVIL), disk=disk))
    assert lines[0].startswith("A validator runs: degraded: local_disk, http://x")
    assert "disk       10.0 MiB, 20.0 MiB a day over seven days; 100.0 MiB free, full in 5 days" in lines
    assert lines[-5:] == [
        "to look at:",
        f"  local_disk: {EVIL_SHOWN}",
        f"  {odd}",
        f"  weights are locked: {EVIL_SHOWN}. {FATAL['weights_locked'].advice}",
        f"  disk: full in 5 days at this growth. {CONDITIONS['local_disk'].advice}",
    ]


@pytest.mark.parametrize(
    ("confirmed", "epoch", "shown"),
    [
        ({0: 6}, 9, []),
        ({0: 6}, 10, ["mechanism 0: none confirmed since epoch 6, now it is 10"]),
        ({0: 10, 1: 5}, 10, ["mechanism 1: none confirmed since epoch 5, now it is 10"]),
        ({0: None}, 10, []),
    ],
)
def test_weights_are_old_by_mechanism_and_by_the_limit_of_the_settings(
    confirmed: dict[int, int | None], epoch: int, shown: list[str]
) -> None:
    lines = screen(
        overview(store=with_stored(weights=(weights(10, {3: 1}),), confirmed=confirmed), chain=chain(epoch, {}))
    )
    advice = CONDITIONS["weights_old"].advice
    assert [line for line in lines if "none confirmed" in line] == [f"  weights: {one}. {advice}" for one in shown]


async def test_a_simulated_chain_is_read_anew_from_its_file(tmp_path: Path) -> None:
    clock, file = VirtualClock(NOW), tmp_path / "chain.json"
    subnet = SimulatedSubnet.create(SubnetRules(seed="s", genesis=int(NOW.timestamp()), netuid=1), clock, file)
    given = {
        "validator": {"netuid": 1},
        "wallet": {"uri": "//Validator"},
        "chain": {"kind": "simulated", "state": file},
        "store": {"url": f"sqlite:///{tmp_path}/none.sqlite"},
        "health": {"port": 0},
    }
    observer = Observer(Settings.model_validate(given), clock=clock)
    counts = []
    for name in ("5Me", "5Other"):
        subnet.register(name)
        looked = await observer.look()
        assert looked.chain is not None, looked.problems
        counts.append(looked.chain.neurons)
        await clock.advance(60)
    await observer.close()
    assert counts == [1, 2]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (0, "0 s"), (59.9, "59 s"), (61, "1 min 1 s"), (3_600, "1 h"), (200_000, "2 d 7 h")],
)
def test_spans_have_two_units_at_most(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(("amount", "text"), [(0, "0 B"), (1536, "1.5 KiB"), (5 * 1024**4, "5.0 TiB"), (None, "-")])
def test_sizes_have_the_unit_that_fits(amount: float, text: str) -> None:
    assert byte_size(amount) == text
