"""`validator tasks …`: making, checking and serving tasks (SPEC 13)."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Json
from validator.protocol.skill_types import SkillType


def assessed(skill_type: SkillType | None) -> SkillType | None:
    """Return the type that an option names.

    Raises:
        typer.BadParameter: it has no bundles.
    """
    if skill_type is SkillType.WORKFLOW:
        raise typer.BadParameter("a workflow has no bundle: write its workflow.json (docs/workflows.md)")
    return skill_type


def pack(  # noqa: PLR0913, PLR0917 - the options of a command
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="A folder, zip, wheel, tar, sdist or npm package, the name of an installed distribution, or one "
            "elsewhere: pypi:NAME==VERSION, npm:NAME@VERSION, git+URL@REVISION; then #subdirectory=FOLDER if wished.",
            show_default=False,
        ),
    ] = None,
    skill_type: Annotated[
        SkillType | None,
        typer.Option(
            "--type",
            callback=assessed,
            help="Skill type; else the manifest's, else guessed from what is inside.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "--out",
            metavar="DIR",
            help="The task's folder, else tasks/NAME; without SOURCE the folder of all tasks' folders, else tasks.",
            show_default=False,
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
    manifest: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON: takes what was packed, pinned by hash. Without SOURCE all that is in it is packed again.",
            show_default=False,
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a task that is there already.")] = False,
    as_json: Json = False,
) -> None:
    """Make a task of what is there or is fetched: task.json and bundle.tar.gz. Nothing of it is run.

    With --manifest and without SOURCE: exit 1 if a package cannot be had, or hashes otherwise than the manifest says.
    """
    if what is not None:
        work.tasks.pack(what, skill_type, output, truth, window, canary, manifest, replace=replace, as_json=as_json)
    elif manifest is None:
        raise typer.BadParameter("name a SOURCE, or a --manifest of packages to pack again")
    elif skill_type or truth or window or canary:
        raise typer.BadParameter("--type, --truth, --window and --canary go with a SOURCE")
    else:
        work.tasks.pack_again(manifest, output or Path("tasks"), replace=replace, as_json=as_json)


def check(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR", help="Task folders or archives, workflow.json files, or folders of them.", show_default=False
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check tasks: one line per problem. Exit 1 if there is any.

    Notes say what a truth leaves out, and what needs a container engine.
    """
    work.tasks.check(directories, as_json=as_json)
