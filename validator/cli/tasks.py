"""`validator tasks …`: making, checking and serving tasks (SPEC 13)."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli.errors import EXIT_NO
from validator.cli.options import Json
from validator.cli.output import print_json, print_line
from validator.cli.task_text import packed_document, parse_windows, print_packed, task_folder
from validator.protocol.skill_types import SkillType
from validator.tasks.check import check_tasks
from validator.tasks.packing import PackOptions, pack_path


def _assessed(skill_type: SkillType | None) -> SkillType | None:
    if skill_type is SkillType.WORKFLOW:
        raise typer.BadParameter("a workflow has no bundle: write its workflow.json (docs/workflows.md)")
    return skill_type


def pack(  # noqa: PLR0913, PLR0917 - the options of a command
    what: Annotated[
        str,
        typer.Argument(
            metavar="PATH|DIST",
            help="A folder, wheel or sdist, or the name of an installed distribution.",
            show_default=False,
        ),
    ],
    skill_type: Annotated[
        SkillType | None,
        typer.Option(
            "--type",
            callback=_assessed,
            help="Skill type; else the manifest's, else guessed.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "--out", metavar="DIR", help="The task's folder; else tasks/NAME.", show_default=False
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A JSON truth object; without it there is none (D-7).", show_default=False),
    ] = None,
    window: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=T_MIN:DEADLINE",
            help="Seconds; once for primary and once for auditor. Else the standard profile.",
            show_default=False,
        ),
    ] = None,
    canary: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The bundle's file that takes the marker; else chosen.", show_default=False),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a task that is there already.")] = False,
    as_json: Json = False,
) -> None:
    """Make a task from files that are there: task.json and bundle.tar.gz."""
    out = output or task_folder(what)
    packed = pack_path(what, out, PackOptions(skill_type, truth, parse_windows(window), canary, replace))
    if as_json:
        print_json(packed_document(packed, out))
    else:
        print_packed(packed, out)


def check(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR", help="Task folders or archives, workflow.json files, or folders of them.", show_default=False
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check tasks: one line per problem. Exit 1 if there is any. A note names each that needs a container engine."""
    checked = [task for root in directories for task in check_tasks(root)]
    problems = sum(len(task.problems) for task in checked)
    if as_json:
        print_json(
            {"tasks": [{"path": str(one.path), "problems": one.problems, "notes": one.notes} for one in checked]}
        )
    else:
        for task in checked:
            for problem in task.problems:
                print_line(f"{task.path}: {problem}")
            for note in task.notes:
                print_line(f"{task.path}: note: {note}")
        print_line(f"{len(checked)} tasks, {problems} problems")
    if problems:
        raise typer.Exit(EXIT_NO)
