"""What `validator tasks …` does: making, checking and serving tasks (SPEC 13)."""

from pathlib import Path
from typing import Any

import typer

from validator.cli.ending import clean_at_sigterm
from validator.cli.errors import EXIT_NO
from validator.cli.output import print_json, print_line
from validator.cli.task_text import packed_document, parse_windows, print_packed, rebuilt_document, task_folder
from validator.protocol.skill_types import SkillType
from validator.tasks.check import CheckedTask, check_tasks, located
from validator.tasks.folder import DRAFT_NAME
from validator.tasks.package_manifest import Rebuilt, pack_path, rebuild
from validator.tasks.packing import PackOptions


def pack(  # noqa: PLR0913, PLR0917 - each is an option
    what: str,
    skill_type: SkillType | None,
    output: Path | None,
    truth: Path | None,
    window: list[str] | None,
    canary: str | None,
    manifest: Path | None,
    *,
    replace: bool,
    as_json: bool,
) -> None:
    """Make a task of what is there or is fetched: task.json and bundle.tar.gz."""
    clean_at_sigterm()
    out = output or task_folder(what)
    options = PackOptions(skill_type, truth, parse_windows(window), canary, replace)
    packed = pack_path(what, out, options, manifest)
    if as_json:
        print_json(packed_document(packed, out))
    else:
        print_packed(packed, out)


def pack_again(manifest: Path, output: Path, *, replace: bool, as_json: bool) -> None:
    """Pack all that is in a manifest again. Exit 1 if anything cannot be had or hashes otherwise."""
    clean_at_sigterm()
    done: list[Rebuilt] = []
    for one in rebuild(manifest, output, replace=replace):
        done.append(one)
        if not as_json:
            bundle = f"bundle {one.package.bundle_sha256}"
            print_line(f"{one.path}: {one.fault or (f'is there, {bundle}' if one.there else bundle)}")
    faults = sum(one.fault is not None for one in done)
    if as_json:
        print_json({"packages": [rebuilt_document(one) for one in done]})
    else:
        print_line(f"{len(done)} packages, {faults} refused")
    if faults:
        raise typer.Exit(EXIT_NO)


def check(directories: list[Path], *, as_json: bool) -> None:
    """Check tasks: one line per problem, and notes. Exit 1 if there is a problem."""
    checked = [task for root in directories for task in check_tasks(root)]
    problems = sum(len(task.problems) for task in checked)
    if as_json:
        print_json({"tasks": [_document(task) for task in checked]})
    else:
        for task in checked:
            for problem in task.problems:
                print_line(f"{task.path}: {problem}")
            for note in task.notes:
                print_line(f"{task.path}: note: {note}")
        drafts = sum(task.path.name == DRAFT_NAME for task in checked)
        beside = f", {drafts} drafts" if drafts else ""
        print_line(f"{len(checked) - drafts} tasks{beside}, {problems} problems")
    if problems:
        raise typer.Exit(EXIT_NO)


def _document(task: CheckedTask) -> dict[str, Any]:
    return {
        "path": str(task.path),
        "problems": [located(text)._asdict() for text in task.problems],
        "notes": [located(text)._asdict() for text in task.notes],
    }
