"""What `validator tasks seed` does."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from validator.cli.output import print_json, print_line
from validator.cli.progress import progress
from validator.cli.tables import Column, print_table
from validator.planting.shapes import SHAPES
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.tasks.bases import read_bases
from validator.tasks.seeding import Seeded, seeded, write_seeded

_COLUMNS: Final = (Column("task"), Column("kind"), Column("difficulty"), Column("severity"), Column("evidence"))


def seed(  # noqa: PLR0913 - each is an option
    bundles: list[Path], output: Path, word: str | None, count: int, skill_type: SkillType | None, *, as_json: bool
) -> None:
    """Plant known faults in benign bundles, and write tasks whose truth names all of them."""
    if skill_type is not None and skill_type not in ASSESSED_TYPES:
        raise typer.BadParameter("a workflow has no bundle", param_hint="--type")
    chosen = secrets.token_hex(16) if word is None else word
    bases = {(base.skill_type, base.sha256): base for what in bundles for base in read_bases(what, skill_type)}

    def tasks() -> Iterator[Seeded]:
        for base in bases.values():
            yield from seeded(base, chosen, count, SHAPES)

    made: list[Seeded] = []
    with progress("planting", count * len(bases)) as step:
        for one in write_seeded(tasks(), output):
            made.append(one)
            step()
    if as_json:
        notes = {base.name: base.notes for base in bases.values() if base.notes}
        print_json({"seed": chosen, "notes": notes, "tasks": [_document(one, output) for one in made]})
    else:
        for base in bases.values():
            for note in base.notes:
                print_line(f"{base.name}: {note}")
        _print(made, output, drawn=None if word is not None else chosen)


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


def _print(made: list[Seeded], output: Path, drawn: str | None) -> None:
    print_table(
        _COLUMNS,
        [
            (one.name, fault.kind, fault.shape.difficulty, fault.plant.severity, fault.place)
            for one in made
            for fault in one.planted.faults
        ],
    )
    for one in made:
        planted, task = one.planted, one.task.task
        short = len(planted.faults) < planted.wanted
        told = f"{len(planted.faults)} of {planted.wanted} faults (no place for more)" if short else None
        faults = told or f"{len(planted.faults)} faults"
        risk = f"risk {planted.truth.reference_risk:.4f}"
        print_line(f"{output / one.name}: {task.skill_type}, {faults}, {planted.truth.verdict}, {risk}")
    if drawn is not None:
        print_line(f"seed {drawn}: keep it secret, or forget it")
