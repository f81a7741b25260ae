"""A second request to stop ends the process, whatever it is doing; a request during the start ends that."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from validator.daemon.exits import Exit

PROGRAM = """
import asyncio, sys, threading, time
from validator.daemon.signals import Signals
from validator.telemetry import configure_logging

signals = Signals()
signals.listen()
configure_logging("info", "json")

def forever():
    while True:
        pass

def ready():
    print("ready", flush=True)

async def main():
    signals.starting()
    {work}

{before}
try:
    asyncio.run(main())
except asyncio.CancelledError:
    print(signals.stopped_at_start, flush=True)
    sys.exit(7)
"""
STARTED = "signals.started(1000.0); ready(); "
LOADS = {
    "a loop that computes": STARTED + "forever()",
    "a loop that sleeps": STARTED + "time.sleep(1000)",
    "a lock that nobody releases": STARTED + "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "a task that takes no cancellation": STARTED
    + """
    while True:
        try:
            await signals.stop.at_once.wait()
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass""",
    "a thread of the loop's that computes": STARTED
    + "asyncio.get_running_loop().run_in_executor(None, forever); await signals.stop.at_once.wait()",
    "a thread that the interpreter joins": STARTED
    + "threading.Thread(target=forever).start(); await signals.stop.at_once.wait()",
}


@contextmanager
def running(work: str, before: str = "", *prefix: str) -> Iterator[subprocess.Popen[str]]:
    program = PROGRAM.format(work=work, before=before)
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("load", LOADS)
def test_a_second_signal_ends_the_process_under_every_load(load: str) -> None:
    with running(LOADS[load]) as process:
        # Two kinds: a second one of a kind is lost while the first one waits to be delivered.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == Exit.CUT_OFF, err
    assert out.count('"daemon_cut_off"') == len(out.splitlines()) == 1


UNTIL_ASKED = """
    import signal
    {listen}
    signals.started(1000.0)
    ready()
    await signals.stop.requested.wait()
    print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, signals.stop.at_once.is_set())"""
LISTEN = ("", "signal.set_wakeup_fd(-1); signals.stop.listen()")  # as a validator does, and as a reference miner


@pytest.mark.parametrize("listen", LISTEN)
def test_a_terminal_that_closes_asks_once_and_signals_without_a_meaning_do_nothing(listen: str) -> None:
    with running(UNTIL_ASKED.format(listen=listen), "", "env", "--default-signal=HUP") as process:
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGHUP, signal.SIGHUP):
            process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "False False\n"), err


@pytest.mark.parametrize("listen", LISTEN)
def test_nohup_keeps_a_closed_terminal_from_being_a_request(listen: str) -> None:
    with running(UNTIL_ASKED.format(listen=listen), "", "sh", "-c", 'trap "" HUP; exec "$@"', "sh") as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "True False\n"), err


def test_a_reader_of_the_log_that_stopped_reading_holds_nothing_up() -> None:
    load = "import logging; [logging.getLogger().warning('x' * 1000) for _ in range(10**6)]"
    with running(STARTED + load) as process:
        for number in (signal.SIGTERM, signal.SIGINT):
            process.send_signal(number)
        assert process.wait(timeout=30) == Exit.CUT_OFF


def test_the_first_signal_alone_ends_it_once_the_grace_time_is_over() -> None:
    with running("signals.started(-9.0); ready(); forever()") as process:  # and ten seconds to close
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out.count('"daemon_cut_off"')) == (Exit.CUT_OFF, 1)


@pytest.mark.parametrize(
    ("work", "before", "number"),
    [
        ("", "ready(); forever()", signal.SIGTERM),
        ("ready(); forever()", "", signal.SIGINT),
        ("ready(); time.sleep(1000)", "", signal.SIGTERM),
    ],
)
def test_one_signal_ends_a_start_that_hangs(work: str, before: str, number: signal.Signals) -> None:
    with running(work, before) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (Exit.NOT_STARTED, "")
    assert err == "Asked to stop before the start was complete\n"


def test_a_start_that_waits_is_cancelled() -> None:
    with running("ready(); await asyncio.sleep(1000)") as process:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (7, "True\n", "")


def test_a_signal_that_comes_as_the_start_ends_stops_it_all_the_same() -> None:
    late = "ready(); [time.sleep(0.01) for _ in iter(lambda: signals.stopped_at_start, True)]; signals.started(1000.0)"
    with running(late) as process:
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (7, "True\n")


def test_a_thread_that_finds_the_event_loop_closed_says_nothing_and_any_other_fault_is_printed() -> None:
    before = """
loop = asyncio.new_event_loop()
loop.close()
for late in (lambda: loop.call_soon_threadsafe(print), lambda: int("no number")):
    thread = threading.Thread(target=late)
    thread.start()
    thread.join()
"""
    with running("signals.started(1.0); ready()", before) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "no number" in said
    assert "Event loop is closed" not in said
