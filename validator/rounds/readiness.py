"""Checks before every round: registration and permit on the subnet, and what this machine must have (SPEC 16, D-26)."""

import errno
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import structlog

from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_BODY, MAX_BODY_RUNTIME_PRIMARY
from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from sssa.scoring import Rules, Schedule, version
from validator.chain.clockwatch import ClockWatch
from validator.incoming.server import Bounds
from validator.settings.model import Settings
from validator.store.urls import parse_url
from validator.telemetry import Event
from validator.telemetry.reports import Reports

WithoutPermit = Literal["run", "pause"]
_PAUSED: Final = {True: "paused", False: "run"}
_log = structlog.get_logger()


class RoundsPausedError(ValidatorError):
    """The hotkey lacks registration or permit, and the settings say that rounds wait for it."""


class Standing:
    """Watch over this validator's own registration and permit in every snapshot; each change is logged once.

    `without_permit` says what rounds do while one of the two is missing; `report` is called after every check with what
    is missing (None: nothing) and whether rounds are paused.
    """

    def __init__(
        self,
        hotkey: str,
        without_permit: WithoutPermit = "run",
        report: Callable[[Reason | None, bool], None] | None = None,
    ) -> None:
        self._hotkey = hotkey
        self._pause = without_permit == "pause"
        self._report = report
        self._missing: Reason | None = None

    def check(self, snapshot: MetagraphSnapshot) -> None:
        """Check registration and permit (RoundsPausedError: no round may begin on this snapshot)."""
        missing = missing_of(snapshot, self._hotkey)
        paused = self._pause and missing is not None
        if missing != self._missing:
            self._missing = missing
            if missing is None:
                _log.info(Event.STANDING_BACK, block=snapshot.block)
            else:
                _log.warning(Event.STANDING_LOST, block=snapshot.block, reason=str(missing), rounds=_PAUSED[paused])
        if self._report is not None:
            self._report(missing, paused)
        if paused:
            raise RoundsPausedError(str(missing))


def missing_of(snapshot: MetagraphSnapshot, hotkey: str) -> Reason | None:
    """Return what the hotkey lacks to set weights as a validator, None if nothing. Pure."""
    me = snapshot.by_hotkey(hotkey)
    if me is None:
        return Reason.WEIGHTS_NOT_REGISTERED
    return None if me.validator_permit or snapshot.owner_hotkey == hotkey else Reason.WEIGHTS_NO_PERMIT


_EACH: Final = 2  # descriptors of an open request: its connection, and the file that a large answer waits in
_OTHER_DESCRIPTORS: Final = 24  # descriptors that workers, store, chain and task source may open meanwhile
_MIB: Final = 1024 * 1024
LEAST_FREE: Final = 64 * _MIB  # bytes that a disk keeps for everything else
ENDPOINT_BOUNDS: Final = Bounds(connections=16, header_s=10.0, request_s=30.0)
"""Bounds of the health endpoint; a round leaves it its file descriptors."""
_REASONS: Final = (Reason.LOCAL_DESCRIPTORS, Reason.LOCAL_DISK, Reason.LOCAL_CLOCK)


class RoundsWaitError(ValidatorError):
    """Something is missing on this machine; no round starts."""


class Missing(NamedTuple):
    """Condition that keeps rounds from starting: a `local_…` code, and the numbers with the fix."""

    reason: Reason
    detail: str


RulesAt = Callable[[int], Rules]
"""Returns the rules of an epoch's rounds."""

Check = Callable[[MetagraphSnapshot], Missing | None]


class Readiness:
    """The checks before a round, in their order; the board shows what is missing.

    `waits` is called whenever rounds have to wait.
    """

    def __init__(self, checks: Sequence[Check], board: Reports, waits: Callable[[], None]) -> None:
        self._checks = checks
        self._board = board
        self._waits = waits

    def missing(self, snapshot: MetagraphSnapshot) -> Missing | None:
        """Return the first thing that is missing for a round on this snapshot."""
        missing = next((missing for check in self._checks if (missing := check(snapshot))), None)
        for reason in _REASONS:
            if missing is None or missing.reason != reason:
                self._board.clear(reason)
            else:
                self._board.raise_(reason, missing.detail)
        if missing is not None:
            self._waits()
        return missing


def clock_check(watch: ClockWatch) -> Check:
    """Return the check that the local clock agrees with fresh blocks."""
    return lambda _snapshot: None if (fault := clock_fault(watch)) is None else Missing(Reason.LOCAL_CLOCK, fault)


def clock_fault(watch: ClockWatch) -> str | None:
    """Return what is wrong with the clock, None if nothing is, or nothing can be known."""
    if watch.wrong and (off := watch.off) is not None:
        return f"the clock is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} the chain's fresh blocks"
    return "the newest block is old; only a fresh one shows whether the clock is right" if watch.unsure else None


def descriptor_check(rules_at: RulesAt, most_open: int, reserved: int, resting: int = 0) -> Check:
    """Return the check that a round's requests find file descriptors.

    At most `most_open` requests are open at once; the health port may take `reserved` descriptors meanwhile. At least
    `resting` count as open.
    """

    def check(snapshot: MetagraphSnapshot) -> Missing | None:
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit == resource.RLIM_INFINITY:
            return None
        rules = rules_at(snapshot.epoch)
        tasks = rules.groups.slots_per_type * len(SkillType)
        need = _EACH * min(most_open, tasks * sum(_members(rules, snapshot))) + _OTHER_DESCRIPTORS + reserved
        used = max(open_descriptors(), resting)
        if used + need <= limit:
            return None
        what = f"{used} of {limit} file descriptors are open and a round takes up to {need} more"
        return Missing(Reason.LOCAL_DESCRIPTORS, f"{what}; a limit of {used + need} is enough")

    return check


def disk_check(rules_at: RulesAt, folders: Sequence[Path]) -> Check:
    """Return the check that the largest answers of a round find disk space: while they arrive, and where they are kept.

    Folders of one disk share it.
    """

    def check(snapshot: MetagraphSnapshot) -> Missing | None:
        needs: dict[int, int] = {}
        most = _most_bytes(rules_at(snapshot.epoch), snapshot)
        try:
            for folder in folders:
                disk = folder.stat().st_dev
                needs[disk] = needs.get(disk, LEAST_FREE) + most
                free = shutil.disk_usage(folder).free
                if free < needs[disk]:
                    what = f"{free // _MIB} MiB are free at {folder}"
                    return Missing(Reason.LOCAL_DISK, f"{what}, a round takes up to {needs[disk] // _MIB} MiB")
        except OSError as error:
            return Missing(Reason.LOCAL_DISK, f"{folder}: {error.strerror}")
        return None

    return check


def open_descriptors() -> int:
    """Return how many file descriptors this process has open; its limit where not even that can be read."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(folder)) - 1  # noqa: PTH208 - counted; one is that of the listing
        except OSError as error:
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 0


def spool_folder() -> Path:
    """Return where large answers wait."""
    return Path(tempfile.gettempdir())


def _members(rules: Rules, snapshot: MetagraphSnapshot) -> tuple[int, int]:
    """Return how many primaries and auditors a group can have among those that can be called."""
    reachable = sum(neuron.axon is not None for neuron in snapshot.neurons)
    primaries = min(rules.groups.primaries, reachable)
    return primaries, min(rules.groups.auditors, reachable - primaries)


def _most_bytes(rules: Rules, snapshot: MetagraphSnapshot) -> int:
    primaries, auditors = _members(rules, snapshot)
    runtime = sum(map(is_runtime, ASSESSED_TYPES))
    full = primaries * (runtime * MAX_BODY_RUNTIME_PRIMARY + (len(ASSESSED_TYPES) - runtime) * MAX_BODY)
    return rules.groups.slots_per_type * (full + auditors * len(ASSESSED_TYPES) * MAX_BODY)


def round_checks(settings: Settings, schedule: Schedule, clock_watch: ClockWatch, resting: int = 0) -> Sequence[Check]:
    """Return the checks of this machine before a round, in the order in which they are asked (SPEC 16, D-26).

    `resting`: so many file descriptors a daemon has open between rounds, where another process asks.
    """

    def rules_at(epoch: int) -> Rules:
        return version(schedule.version_at(epoch)).rules

    return (
        clock_check(clock_watch),
        descriptor_check(rules_at, settings.rounds.max_open, ENDPOINT_BOUNDS.descriptors, resting),
        disk_check(rules_at, tuple(folders_of(settings).values())),
    )


def folders_of(settings: Settings) -> Mapping[str, Path]:
    """Return where the validator writes, by name: `temporary`, and `store` where that is a file."""
    database = parse_url(settings.store.url.reveal()).path
    return {"temporary": spool_folder()} | ({} if database is None else {"store": database.parent})
