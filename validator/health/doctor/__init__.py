"""Examination of everything that a validator needs, before it starts or while it runs: `validator doctor`.

A check looks at one subject and returns findings, each with what was seen and what to do. All run at once, each with a
time limit. None takes the writer's lock, and none leaves anything behind: a validator may be running.

Touches store, chain, engine, tasks and miners, for reading; one write to the store is rolled back. Called by
`validator doctor`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from validator.chain.wallet import WalletError, load_signer
from validator.health.doctor import configuration, machine, network_checks, storage, task_checks
from validator.health.doctor.configuration import refused
from validator.health.doctor.examination import LIMITS, Check, Examined, Finding, Limits, Site, Status, examine, unknown
from validator.settings.load import SettingsError, load_settings, settings_file
from validator.settings.model import Settings
from validator.workers.interface import Workers

__all__ = ["CHECKS", "LIMITS", "Check", "Diagnosis", "Examined", "Finding", "Limits", "Status", "diagnose"]

CHECKS: Final = (
    configuration.check_settings,
    configuration.check_wallet,
    network_checks.check_endpoints,
    network_checks.check_subnet,
    network_checks.check_clock,
    storage.check_database,
    storage.check_history,
    storage.check_weights,
    task_checks.check_tasks,
    task_checks.check_bases,
    network_checks.check_miners,
    machine.check_engine,
    machine.check_process,
    machine.check_machine,
)
"""All checks, in the order of the report."""
NAMES: Final = tuple(check.name for check in CHECKS)


async def _signer(settings: Settings, limit_s: float) -> Signer | None:
    """Return the hotkey; None if it cannot be read in time, which the check of the wallet explains."""
    try:
        async with asyncio.timeout(limit_s):
            return await asyncio.to_thread(load_signer, settings.wallet)
    except (WalletError, TimeoutError):
        return None


class UnknownCheckError(ValidatorError):
    """There is no such check."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings of all checks. `examined`: in the order of the catalogue."""

    examined: tuple[Examined, ...]

    @property
    def counts(self) -> Mapping[Status, int]:
        """Number of findings of each status that any has."""
        return Counter(finding.status for one in self.examined for finding in one.findings)

    @property
    def cut_off(self) -> bool:
        """A check did not end in its time; what it waits for may still hold a thread."""
        return any(one.cut_off for one in self.examined)


async def diagnose(
    config: Path | None,
    environ: Mapping[str, str],
    workers: Callable[[], Workers],
    only: Collection[str] = (),
    limits: Limits = LIMITS,
) -> Diagnosis:
    """Examine the validator of these settings. Nothing is left written, and no lock of a validator is taken.

    `workers` makes a pool of processes where what strangers send is judged; `only` names checks, none for all.

    Raises:
        UnknownCheckError: `only` names one that is not there.
    """
    if strange := sorted(set(only) - set(NAMES)):
        raise UnknownCheckError(f"`{strange[0]}`; there are {', '.join(NAMES)}")
    try:
        settings = load_settings(config, environ)
    except SettingsError as error:
        rest = Examined("others", (unknown("all else", "needs the settings, which cannot be used"),), 0.0)
        return Diagnosis((Examined(NAMES[0], tuple(refused(error)), 0.0), rest))
    signer = await _signer(settings, limits.wallet)
    site = Site(settings, settings_file(config, environ), signer, environ, SystemClock(), workers, limits)
    return Diagnosis(await examine(site, [check for check in CHECKS if not only or check.name in only]))
