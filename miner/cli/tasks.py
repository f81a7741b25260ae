"""`validator tasks draft` and `goals`: the draft of a task's truth, and the benchmark of workflow goals."""

from pathlib import Path
from typing import Annotated

import typer

from miner.cli import work
from validator.cli.options import Json, assessed
from validator.protocol.skill_types import SkillType


def draft(  # noqa: PLR0913, PLR0917 - one for each option
    what: Annotated[
        Path,
        typer.Argument(metavar="TASK_DIR|BUNDLE", help="A task's folder, or a packed bundle.", show_default=False),
    ],
    advisories: Annotated[
        list[Path] | None,
        typer.Option(
            "--advisories",
            metavar="PATH",
            help="A folder, zip or file of OSV advisories, as osv.dev exports them; again for another ecosystem. "
            "Else the sample that is shipped.",
            show_default=False,
        ),
    ] = None,
    skill_type: Annotated[
        SkillType | None,
        typer.Option(
            "--type", callback=assessed, help="Skill type; else the task's, else guessed.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "--out", metavar="DIR", help="The folder of a bundle; else tasks/NAME.", show_default=False
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a draft that is there already.")] = False,
    as_json: Json = False,
) -> None:
    """Draft the truth of a packed task: what can be read, and TODO where a person decides.

    Writes task.draft.json, which no validator reads, and task.draft.txt, which says where everything was found. When
    no TODO is left in it and it is renamed to task.json, the draft is the task. Nothing of the bundle is run.
    """
    work.task_draft.draft(what, advisories, skill_type, output, replace=replace, as_json=as_json)


def goals(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder for each goal is made here.", show_default=False)
    ],
    service: Annotated[
        list[str],
        typer.Option(
            "--service",
            metavar="NAME=URL,HOTKEY",
            help="Where a service is called and who signs its answers: text, code, retrieval or transform; once for "
            "each.",
            show_default=False,
        ),
    ],
    benchmark: Annotated[
        int, typer.Option("--benchmark", min=1, metavar="VERSION", help="Which version of the benchmark.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Write the benchmark's goals as workflow.json for services of your own.

    Those are written that the given services can reach. The services offer the actions of the local network's, at its
    prices and speeds (docs/workflows.md).
    """
    work.task_goals.goals(folder, service, benchmark, as_json=as_json)
