"""The doctor finds what makes `run` exit or warn within two rounds, for causes that exist before the start."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pytest
import structlog
from doctor_kit import Place
from setups import SETUPS, SLOW, Break, opened
from structlog.typing import EventDict

from sssa.protocol.errors import ValidatorError
from validator.daemon.assembly import assembled
from validator.daemon.exits import Exit, exit_code
from validator.daemon.signals import Stop
from validator.daemon.start import check_start
from validator.daemon.world import build_world
from validator.health.catalogue import CONDITIONS, FATAL
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.settings.load import load_settings
from validator.telemetry import Event

ROUNDS: Final = 2
MOST_S: Final = 20.0
# Which checks of the doctor find the cause of an event that is no condition's.
EVENTS: Final = {
    "precondition": {"subnet"},
    "task_refused": {"tasks"},
    "task_source_failed": {"tasks"},
    "weights_blocked": {"subnet", "weights"},
    "store_lost": {"database"},
    "chain_unreachable": {"endpoints"},
    "canary_built_in": {"bases"},
    "canary_failed": {"bases"},
    "standing_lost": {"subnet"},
}


@dataclass
class Rounds:
    """Asks for the stop after two rounds."""

    stop: Stop
    ended_rounds: int = field(default=0)

    def started(self, prepared: Prepared) -> None:
        """Do nothing."""

    def ended(self, _end: EndedRound) -> None:
        """Count."""
        self.ended_rounds += 1
        if self.ended_rounds == ROUNDS:
            self.stop.request()


async def run(place: Place) -> tuple[Exit | None, Sequence[EventDict]]:
    """Return the exit of `validator run` and its warnings."""
    stop = Stop()
    with structlog.testing.capture_logs() as lines:
        try:
            settings = load_settings(place.write(), place.environ)
            world = replace(build_world(settings), listeners=(Rounds(stop),))
            async with assembled(settings, world) as daemon:
                await check_start(world.chain, world.clock, settings, world.signer.hotkey, daemon.store)
                asyncio.get_running_loop().call_later(MOST_S, stop.request)
                await daemon.run(stop)
        except (ValidatorError, OSError) as error:
            return exit_code(error), []
    warned = [line for line in lines if line["log_level"] in {"warning", "error"}]
    return None, [line for line in warned if line["event"] in set(Event) - {Event.LOOP_LAG}]  # this machine's load


def checks_for(line: EventDict) -> set[str]:
    name = line["event"]
    return set(CONDITIONS[line["condition"]].checks if name == "condition_raised" else EVENTS[name])


async def troubled(place: Place) -> set[str]:
    """The checks of the doctor that find a fault or a warning."""
    return {
        one.check
        for one in (await place.examined()).examined
        if any(finding.status in {"fault", "warning"} for finding in one.findings)
    }


@pytest.mark.parametrize(
    "setup",
    [pytest.param(one, marks=[pytest.mark.faults] if name in SLOW else [], id=name) for name, one in SETUPS.items()],
)
async def test_the_doctor_finds_what_makes_run_exit_or_warn(setup: Break, place: Place) -> None:
    place.settings["rounds"] = {"interval_s": 1}
    async with opened(setup, place):
        found = await troubled(place)
        code, warned = await run(place)
    if code is not None:
        (fatal,) = [one for one in FATAL.values() if one.exit_code == code]
        assert found & set(fatal.checks), (code, found)
    for line in warned:
        checks = checks_for(line)
        assert found & checks, (line, found)
