"""What `validator miner check` does: a miner meets what a validator would send it."""

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from miner.check.conduct import SECTIONS, Options, Tools, Watcher, check_miner
from miner.check.page import hotkey_hint, print_report
from miner.check.report import Report
from miner.check.sections import Section
from miner.check.target import Target, target_of
from miner.check.trials import Pace
from validator.cli.output import print_json
from validator.cli.session import signer_of
from validator.daemon.exits import Exit
from validator.daemon.world import judging_workers
from validator.protocol.runtime_image import PINNED_IMAGE, UNPUBLISHED, RuntimeImage
from validator.protocol.skill_types import SkillType
from validator.protocol.text import printable
from validator.sources import SystemClock, SystemRandom
from validator.telemetry import configure_logging

OWN_URI: Final = "//miner-check"
"""The hotkey that asks where none is named. Everybody can have it: a miner that answers it answers everybody."""


def check(  # noqa: PLR0913, PLR0917 - each is an option
    url: str,
    hotkey: str,
    hotkey_uri: str | None,
    config: Path | None,
    skill_type: list[SkillType] | None,
    only: list[Section] | None,
    deadline: float | None,
    runtime_image: str | None,
    *,
    real_t_min: bool,
    as_json: bool,
) -> None:
    """Check one miner and print what a validator would make of it."""
    target = target_of(url, hotkey)
    own = hotkey_uri is None and config is None
    signer = signer_of(OWN_URI if own else hotkey_uri, config)
    typer.echo(hotkey_hint(signer.hotkey), err=True)
    image = UNPUBLISHED if runtime_image is None else _image(runtime_image)
    pace = Pace(t_min_s=None, deadline_s=deadline) if real_t_min else Pace(deadline_s=deadline)
    options = Options(frozenset(skill_type or ()), tuple(only or SECTIONS), pace, image)
    configure_logging("error", "auto", sys.stderr)
    report = asyncio.run(_checked(target, options, Tools(signer, judging_workers(), SystemClock(), SystemRandom())))
    if as_json:
        print_json({"passed": not report.found, **msgspec.structs.asdict(report)})
    else:
        print_report(report)
    if report.found:
        raise typer.Exit(Exit.NO)


def _image(pinned: str) -> RuntimeImage:
    if not re.fullmatch(PINNED_IMAGE, pinned):
        raise typer.BadParameter("must be REPOSITORY@sha256:DIGEST", param_hint="--runtime-image")
    return RuntimeImage.named(pinned)


async def _checked(target: Target, options: Options, tools: Tools) -> Report:
    try:
        with _shown() as watcher:
            return await check_miner(target, options, tools, watcher)
    finally:
        await tools.workers.close()


@contextmanager
def _shown() -> Iterator[Watcher]:
    """Show on a terminal how far the check is."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield _Shown(bar)


class _Shown:
    """A watcher that moves a bar."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("checking", total=0)
        self._total = 0

    def expect(self, many: int) -> None:
        self._total += many
        self._bar.update(self._task, total=self._total)

    def seen(self, what: str) -> None:
        self._bar.update(self._task, advance=1, description=printable(what, 40))
