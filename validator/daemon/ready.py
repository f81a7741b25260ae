"""What the settings say of this machine's part in a round: the checks before one starts (SPEC 16, D-26)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from validator.chain.clockwatch import ClockWatch
from validator.rounds.readiness import Check, RulesAt, clock_check, descriptor_check, disk_check, spool_folder
from validator.scoring import Rules, Schedule, version
from validator.settings import Settings
from validator.store.urls import parse_url
from validator.web.health import BOUNDS


def checks(settings: Settings, schedule: Schedule, clock_watch: ClockWatch) -> Sequence[Check]:
    """Return the checks in the order in which they are asked."""
    rules_at = _rules_by(schedule)
    return (
        clock_check(clock_watch),
        descriptor_check(rules_at, settings.rounds.max_open, BOUNDS.descriptors),
        disk_check(rules_at, tuple(folders_of(settings).values())),
    )


def folders_of(settings: Settings) -> Mapping[str, Path]:
    """Return where the validator writes, by name: `temporary`, and `store` where that is a file."""
    database = parse_url(settings.store.url.reveal()).path
    return {"temporary": spool_folder()} | ({} if database is None else {"store": database.parent})


def _rules_by(schedule: Schedule) -> RulesAt:
    def rules_at(epoch: int) -> Rules:
        return version(schedule.version_at(epoch)).rules

    return rules_at
