"""Task sources: their interface, and what they give out (SPEC 13)."""

from dataclasses import dataclass
from typing import Protocol

from validator.protocol.errors import ValidatorError
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Task
from validator.tasks.order import Order


class TaskError(ValidatorError):
    """The task is refused."""


class TaskSourceError(ValidatorError):
    """The task source gave nothing that can be used."""


@dataclass(frozen=True, slots=True)
class SourcedTask:
    """A task that was checked, with its bundle.

    Attributes:
        task: as loaded; hashes in lower case.
        bundle: the source bundle (gzip tar, before any canary marker); hashes to `task.bundle_sha256`.
        nonce: of the one dispatch that it was made for (SPEC 15); None for a task that may come again.
    """

    task: Task
    bundle: bytes
    nonce: bytes | None = None


class TaskSource(Protocol):
    """Gives out tasks by skill type. Every task it gives was checked whole."""

    async def fetch(self, skill_type: SkillType, count: int, order: Order) -> list[SourcedTask]:
        """Return up to `count` tasks of the type, those that are due first, no bundle twice.

        Args:
            skill_type: the type asked for.
            count: most tasks wanted, 1 to 16.
            order: ranks the bundle hashes of what the source holds, or of as much as it offers at once.

        Raises:
            TaskSourceError: nothing usable came; the text says why.
        """

    async def reachable(self) -> bool:
        """Whether the source can be reached at all, whatever it would give (D-6); never raises."""

    async def close(self) -> None:
        """Let go of connections."""


class TaskShelf(TaskSource, Protocol):
    """A source as the task server needs it: it lists tasks without their bundles, and finds a bundle by its hash."""

    async def listed(self, skill_type: SkillType, count: int, order: Order) -> list[Task]:
        """Return what `fetch` would, without the bundles; hashes in lower case.

        Raises:
            TaskSourceError: the tasks cannot be read.
        """

    async def bundle(self, sha256: str) -> bytes | None:
        """Return the bundle with the lower-case hex hash `sha256`, None if there is none."""
