"""`validator tasks retire` and `retired`: tasks whose truth may be shown (SPEC 16, D-31)."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json
from validator.protocol.skill_types import SkillType


def retire(  # noqa: PLR0913, PLR0917 - the options of a command
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID|SHA256", help="Tasks' ids, or digests of bundles or goals.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", dir_okay=False, exists=True, help="More of them, one in a line."),
    ] = None,
    before: Annotated[
        datetime | None,
        typer.Option("--before", metavar="DATE", help="Only tasks that no round has had since then, UTC."),
    ] = None,
    skill_types: Annotated[
        list[SkillType] | None, typer.Option("--type", help="Only tasks of this type; may be repeated.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: Config = None,
) -> None:
    """Retire tasks of past rounds: public exports show their truth, and this validator never gives them again.

    A task is known by its source bundle, or its workflow's document: one that comes again is as retired. There is no
    way back, for what was exported once is known. Exit 1: no such task is named, or the answer is no.
    """
    work.task_retire.retire(names, file, before, skill_types, config, yes=yes)


def retired(config: Config = None, as_json: Json = False) -> None:
    """List the retired tasks.

    By the digest of what they came from, first retired first.
    """
    work.task_retire.retired(config, as_json=as_json)
