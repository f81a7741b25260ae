"""`validator tasks seed`: tasks with known faults from benign bundles (SPEC 16, D-33)."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Json
from validator.protocol.skill_types import SkillType


def seed(  # noqa: PLR0913, PLR0917 - the options of a command
    bundles: Annotated[
        list[str],
        typer.Argument(
            metavar="BUNDLE",
            help="Task folders (truth absent or ALLOW) or folders of them, bundles, or whatever `tasks pack` takes.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Where the tasks' folders go.")] = Path(
        "tasks"
    ),
    word: Annotated[
        str | None,
        typer.Option(
            "--seed",
            metavar="WORD",
            help="The same word gives the same tasks: keep it secret, it is their truth. Else one is drawn and told.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=1_000, help="Tasks for each bundle.")] = 4,
    skill_type: Annotated[
        SkillType | None,
        typer.Option("--type", help="Skill type of what is no task yet; else the manifest's, else guessed."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Plant known faults in benign bundles, and write tasks whose truth names all of them.

    As a rule a task has eight faults of different kinds; one in eight has none, one in eight another number. Nothing
    that is there is written over, and nothing is left where it fails.
    """
    work.task_seed.seed(bundles, output, word, count, skill_type, as_json=as_json)
