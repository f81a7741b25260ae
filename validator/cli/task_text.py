"""What `validator tasks pack` is given and shows."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import typer

from validator.cli.output import print_line
from validator.protocol import typed
from validator.protocol.task import Windows
from validator.protocol.text import printable
from validator.tasks.package_manifest import Rebuilt
from validator.tasks.packing import Packed
from validator.tasks.references import parse_reference

_WINDOW: Final = re.compile(r"(primary|auditor)=([0-9]{1,5}(?:\.[0-9]{1,3})?):([0-9]{1,5}(?:\.[0-9]{1,3})?)", re.ASCII)
_ENDINGS: Final = (".tar.gz", ".tgz", ".tar", ".whl", ".zip")


def parse_windows(texts: Sequence[str] | None) -> Windows | None:
    """Return the windows of both roles, None where nothing is said.

    Raises:
        typer.BadParameter: another form, a number out of range, or one role without the other.
    """
    if not texts:
        return None
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        match = _WINDOW.fullmatch(text)
        if match is None:
            raise typer.BadParameter(f"{printable(text, 60)} is not ROLE=T_MIN:DEADLINE", param_hint="--window")
        found[match[1]] = float(match[2]), float(match[3])
    if len(found) != len(texts) or len(found) != len(Windows.__struct_fields__):
        raise typer.BadParameter("give primary and auditor, once each", param_hint="--window")
    try:
        return typed.convert(found, Windows)
    except msgspec.ValidationError as error:
        raise typer.BadParameter(str(error), param_hint="--window") from None


def task_folder(what: str) -> Path:
    """Return tasks/NAME after the folder, archive, distribution or package elsewhere `what`.

    Raises:
        TaskError: it names a package elsewhere in a form that there is not.
    """
    if reference := parse_reference(what):
        return Path("tasks") / reference.folder_name
    name = Path(what).name or Path(what).resolve().name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return Path("tasks") / (name if name not in {"", ".", ".."} else Path(what).resolve().name or "task")


def packed_document(packed: Packed, out: Path) -> dict[str, Any]:
    """Return what was made, for JSON."""
    task = packed.task.task
    return {
        "path": str(out),
        "skill_type": task.skill_type,
        "skill_type_reason": packed.reason,
        "bundle_sha256": task.bundle_sha256,
        "bundle_bytes": len(packed.task.bundle),
        "files": packed.files,
        "version": packed.pin.version,
        "commit": packed.pin.commit,
        "artifact": packed.pin.artifact,
        "provenance": task.provenance,
        "windows": task.windows,
        "canary": task.canary.file if task.canary else None,
        "notes": packed.notes,
    }


def rebuilt_document(one: Rebuilt) -> dict[str, Any]:
    """Return what became of a package of a manifest, for JSON."""
    return {
        "name": one.package.name,
        "source": one.package.source,
        "path": str(one.path),
        "bundle_sha256": one.package.bundle_sha256,
        "there": one.there,
        "fault": one.fault,
    }


def print_packed(packed: Packed, out: Path) -> None:
    """Print what was made."""
    task = packed.task.task
    for note in packed.notes:
        print_line(note)
    pin = packed.pin
    if pin.version or pin.commit:
        print_line(f"{f'version {pin.version}' if pin.version else f'commit {pin.commit}'}")
    if pin.artifact:
        print_line(f"{pin.artifact.name}, sha256 {pin.artifact.sha256}")
    marker = f", marker in {task.canary.file}" if task.canary else ""
    print_line(f"{out}: {task.skill_type}, {packed.files} files, {len(packed.task.bundle)} bytes{marker}")
    print_line(f"{task.skill_type}: {packed.reason}")
    print_line(f"bundle {task.bundle_sha256}, provenance {task.provenance}")
