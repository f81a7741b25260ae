"""Task maker plugin: its interface, and loading by entry point. It plants faults in bundles and makes canaries."""

from collections.abc import Awaitable, Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Protocol, cast

from sssa.protocol.errors import ValidatorError
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from sssa.protocol.text import printable
from sssa.sources import RandomBytes
from validator import __version__
from validator.settings.model import TasksSettings
from validator.tasks.source import SourcedTask

TASK_MAKERS: Final = "validator.task_makers"
CanaryMaker = Callable[[SkillType], Awaitable[SourcedTask | None]]


class NoTaskMakerError(ValidatorError):
    """The task maker is missing, installed twice, or of another version."""


class TaskMaker(Protocol):
    """Interface of a task maker, which its entry point names."""

    def canaries(self, tasks: TasksSettings, random: RandomBytes, windows: Windows | None) -> CanaryMaker:
        """Return the maker of the canaries that the settings describe (TaskError: a shape cannot be used).

        Args:
            tasks: bases, shapes and domains of canaries.
            random: source of randomness.
            windows: answer windows of canaries without a base; None for the standard profile.
        """

    def own_shapes(self, folder: Path | None) -> int:
        """Return the number of shapes in an operator's folder (TaskError: one cannot be used)."""

    def packed_digest(self, what: str) -> tuple[str, tuple[str, ...]]:
        """Return the digest of a folder or archive as packed, and the names that are left out (TaskError)."""

    def require_base(self, sourced: SourcedTask, name: str) -> None:
        """Check that faults can be planted in a task (TaskError: they cannot)."""


def task_maker() -> TaskMaker:
    """Return the installed task maker. Exactly one is needed, of the validator's version (NoTaskMakerError)."""
    installed = [(one, one.dist.version if one.dist else "?") for one in entry_points(group=TASK_MAKERS)]
    if len(installed) != 1:
        versions = ", ".join(printable(version) for _, version in installed) or "none"
        raise NoTaskMakerError(f"one task maker must be installed, of version {__version__}; installed: {versions}")
    entry, version = installed[0]
    if version != __version__:
        raise NoTaskMakerError(f"the task maker is of version {printable(version)}, the validator of {__version__}")
    return cast("TaskMaker", entry.load())


def canaries_of(tasks: TasksSettings, random: RandomBytes, windows: Windows | None = None) -> CanaryMaker | None:
    """Return the maker of canaries, None if the settings disable them (TaskError, NoTaskMakerError)."""
    return task_maker().canaries(tasks, random, windows) if tasks.canaries else None
