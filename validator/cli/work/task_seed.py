"""What `validator tasks seed` does."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import typer

from validator.cli.ending import clean_at_sigterm
from validator.cli.output import print_json, print_line
from validator.cli.progress import progress
from validator.cli.tables import Column, print_table
from validator.planting.shapes import shapes_with
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.tasks.bases import Base, read_bases
from validator.tasks.seeding import Seeded, seeded_all, write_seeded

_COLUMNS: Final = (Column("task"), Column("kind"), Column("difficulty"), Column("severity"), Column("evidence"))


def seed(  # noqa: PLR0913 - each is an option
    bundles: list[str], output: Path, word: str | None, count: int, skill_type: SkillType | None, *, as_json: bool
) -> None:
    """Plant known faults in benign bundles, and write tasks whose truth names all of them."""
    if skill_type is not None and skill_type not in ASSESSED_TYPES:
        raise typer.BadParameter("a workflow has no bundle", param_hint="--type")
    clean_at_sigterm()
    chosen = secrets.token_hex(16) if word is None else word
    noted: list[tuple[str, tuple[str, ...]]] = []

    def bases() -> Iterator[Base]:
        for base in (base for what in bundles for base in read_bases(what, skill_type)):
            if base.notes and (base.name, base.notes) not in noted:
                noted.append((base.name, base.notes))
            yield base

    with progress("planting", None) as step:
        made = []
        for one in write_seeded(seeded_all(bases(), chosen, count, shapes_with(None)), output):
            made.append(_document(one, output))  # and not the task: there may be thousands, of megabytes
            step()
    if as_json:
        print_json({"seed": chosen, "notes": dict(noted), "tasks": made})
    else:
        for name, notes in noted:
            for note in notes:
                print_line(f"{name}: {note}")
        _print(made, drawn=None if word is not None else chosen)


def _document(one: Seeded, output: Path) -> dict[str, Any]:
    task, planted = one.task.task, one.planted
    truth = planted.truth
    return {
        "path": str(output / one.name),
        "base": one.base,
        "skill_type": task.skill_type,
        "bundle_sha256": task.bundle_sha256,
        "verdict": truth.verdict,
        "risk": truth.reference_risk,
        "wanted": planted.wanted,
        "findings": [
            {
                "kind": fault.kind,
                "difficulty": fault.shape.difficulty,
                "category": fault.plant.category,
                "severity": fault.plant.severity,
                "evidence_ref": fault.place,
            }
            for fault in planted.faults
        ],
    }


def _print(made: Sequence[Mapping[str, Any]], drawn: str | None) -> None:
    print_table(
        _COLUMNS,
        [
            (Path(one["path"]).name, found["kind"], found["difficulty"], found["severity"], found["evidence_ref"])
            for one in made
            for found in one["findings"]
        ],
    )
    for one in made:
        number, wanted = len(one["findings"]), one["wanted"]
        told = f"{number} of {wanted} faults (no place for more)" if number < wanted else f"{number} faults"
        print_line(f"{one['path']}: {one['skill_type']}, {told}, {one['verdict']}, risk {one['risk']:.4f}")
    if drawn is not None:
        print_line(f"seed {drawn}: keep it secret, or forget it")
