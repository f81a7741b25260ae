"""The written bundles, read from the package's own files.

Each folder here holds `bundle/` (the skill's files as they are packed), `truth.json` (`protocol.task.Truth`)
and `meta.json` (`Meta`). What the bad ones do is a stand-in: they read a decoy, look up names under `.invalid`, write
below their working folder.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

from validator.protocol import limits
from validator.protocol.answer import CanarySpec
from validator.protocol.archives import pack
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.sssa import Document
from validator.protocol.strict_json import decode
from validator.protocol.task import Provenance, Task, Truth, Windows, check_task


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
    folders = [entry for entry in files(__package__).iterdir() if entry.joinpath("meta.json").is_file()]
    order = list(ASSESSED_TYPES)
    return tuple(sorted(map(_read, folders), key=lambda bundle: (order.index(bundle.skill_type), bundle.name)))


def _read(folder: Traversable) -> WrittenBundle:
    meta = decode(folder.joinpath("meta.json").read_bytes(), Meta, limit=limits.MAX_TASK_BODY)
    return WrittenBundle(
        name=folder.name,
        skill_type=meta.skill_type,
        files=MappingProxyType(dict(sorted(_walk(folder.joinpath("bundle"), "")))),
        truth=decode(folder.joinpath("truth.json").read_bytes(), Truth, limit=limits.MAX_TASK_BODY),
        provenance=meta.provenance,
        canary=meta.canary,
    )


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_bytes()
