"""The written bundles, read from the package's own files.

Each folder here holds `bundle/` (the skill's files as they are packed), `truth.json` (`protocol.task.Truth`)
and `meta.json` (`Meta`). What the bad ones do is a stand-in: they read a decoy, look up names under `.invalid`, write
below their working folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sssa.protocol import limits
from sssa.protocol.answer import CanarySpec
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Document
from sssa.protocol.strict_json import decode
from sssa.protocol.task import Provenance, Task, Truth, Windows, check_task


class Meta(Document, frozen=True):
    """`meta.json`: what a task says next to the truth."""

    skill_type: SkillType
    provenance: Provenance
    canary: CanarySpec | None


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    """A skill that was written for the local network.

    Attributes:
        canary: the file that takes a marker; None for runtime types.
    """

    name: str
    skill_type: SkillType
    files: Mapping[str, bytes]
    truth: Truth
    provenance: Provenance
    canary: CanarySpec | None

    def packed(self) -> bytes:
        """Return the bundle: a gzip tar, the same bytes every time."""
        return pack(self.files)

    def task(self, windows: Windows | None = None) -> Task:
        """Return the task that asks for its assessment.

        Args:
            windows: None for the standard profile.
        """
        task = Task(
            task_version="1.0",
            skill_type=self.skill_type,
            windows=windows,
            bundle_sha256=sha256_hex(self.packed()),
            provenance=self.provenance,
            truth=self.truth,
            canary=self.canary,
        )
        check_task(task)
        return task


@cache
def written_bundles() -> tuple[WrittenBundle, ...]:
    """Return all written bundles, sorted by skill type in the spec's order, then by name."""
    order = list(ASSESSED_TYPES)
    made = (_read(meta.parent) for meta in Path(__file__).parent.glob("*/meta.json"))
    return tuple(sorted(made, key=lambda bundle: (order.index(bundle.skill_type), bundle.name)))


def _read(folder: Path) -> WrittenBundle:
    meta = decode((folder / "meta.json").read_bytes(), Meta, limit=limits.MAX_TASK_BODY)
    root = folder / "bundle"
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return WrittenBundle(
        name=folder.name,
        skill_type=meta.skill_type,
        files={name: files[name].read_bytes() for name in sorted(files) if "__pycache__" not in name},
        truth=decode((folder / "truth.json").read_bytes(), Truth, limit=limits.MAX_TASK_BODY),
        provenance=meta.provenance,
        canary=meta.canary,
    )
