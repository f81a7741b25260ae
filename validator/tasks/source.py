"""Interface of task sources, the order of giving tasks out, and a source in memory (SPEC 13; SPEC 16, D-29)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from sssa.protocol.draws import task_draw
from sssa.protocol.errors import ValidatorError
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.task import Task
from sssa.sources import RandomBytes


class Order(Protocol):
    """Ranks tasks of a type by the hash of what they are made of: a source bundle, or a workflow task's document."""

    async def rank(self, skill_type: SkillType, sources: Collection[str]) -> list[str]:
        """Return `sources` in the order in which they are due; those that are not to be given are left out.

        Args:
            skill_type: of all of them.
            sources: lower-case hex hashes, each once.
        """

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:
        """Return what was given last, newest first: what a source that offers a part need not offer again."""


def least_given(given: Mapping[str, int], salt: bytes, epoch: int, sources: Collection[str]) -> list[str]:
    """Return `sources` in the order of D-29: those given least often first, ties by a draw from the epoch's salt.

    Costs a draw for each; for thousands of them off the event loop.

    Args:
        given: how often each was given; none: never.
        salt: of the epoch, raw.
        epoch: that the round is in.
        sources: lower-case hex hashes, each once.
    """
    return sorted(sources, key=lambda sha256: (given.get(sha256, 0), task_draw(salt, epoch, sha256)))


class Shuffled:
    """An order that is drawn anew each time. See `Order`."""

    def __init__(self, random: RandomBytes) -> None:
        self._random = random

    async def rank(self, skill_type: SkillType, sources: Collection[str]) -> list[str]:  # noqa: ARG002 - the protocol's form
        """Return `sources` in a drawn order."""
        tickets = {source: self._random.token(16) for source in sorted(sources)}
        return sorted(tickets, key=tickets.__getitem__)

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:  # noqa: ARG002 - the protocol's form
        """Return nothing: what was drawn may be drawn again."""
        return []


class Rotation:
    """Fair turns over what a task server offers to all validators together.

    They are in memory only: after a restart the tasks' own order decides again.
    """

    def __init__(self) -> None:
        self._turns: dict[tuple[SkillType, str], int] = {}
        self._turn = 0

    def without(self, exclude: frozenset[str]) -> "InTurn":
        """Return the order for one who has no use for `exclude`."""
        return InTurn(self, exclude)

    def turn(self, skill_type: SkillType, sha256: str) -> int:
        """Return when a task was offered last; 0: never."""
        return self._turns.get((skill_type, sha256), 0)

    def offered(self, skill_type: SkillType, sha256: str) -> None:
        """Note that a task is offered now."""
        self._turn += 1
        self._turns[skill_type, sha256] = self._turn


class InTurn:
    """The order in which a server offers tasks. See `Order`.

    Args:
        rotation: what was offered before; None: nothing was.
        exclude: hashes that come last. They are offered again only where nothing else is left: a finite collection must
            not starve the round.
    """

    def __init__(self, rotation: Rotation | None = None, exclude: frozenset[str] = frozenset()) -> None:
        self._rotation = rotation or Rotation()
        self._exclude = exclude

    async def rank(self, skill_type: SkillType, sources: Collection[str]) -> list[str]:
        """Return `sources`, the excluded last; within each the least recently offered first, then as they come."""
        return sorted(sources, key=lambda sha256: (sha256 in self._exclude, self._rotation.turn(skill_type, sha256)))

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:  # noqa: ARG002 - the protocol's form
        """Return nothing: a server holds all it offers."""
        return []


FETCH_S: Final = 60.0
"""Longest time that a task server may take for the tasks of a round."""


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

    async def fetch(
        self, skill_type: SkillType, count: int, order: Order, within_s: float = FETCH_S
    ) -> list[SourcedTask]:
        """Return up to `count` tasks of the type, those that are due first, no bundle twice.

        Args:
            skill_type: the type asked for.
            count: most tasks wanted, 1 to 16.
            order: ranks the bundle hashes of what the source holds, or of as much as it offers at once.
            within_s: a server may take so long for all of it; what came until then is returned.

        Raises:
            TaskSourceError: nothing usable came; the text says why.
        """

    async def reachable(self) -> bool:
        """Return whether the source can be reached at all, whatever tasks it has (D-6); never raises."""

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


class MemorySource:
    """Serves tasks of each type; the same bundle counts once per type.

    Args:
        tasks: checked tasks.
    """

    def __init__(self, tasks: Iterable[SourcedTask] = ()) -> None:
        self._tasks: dict[SkillType, dict[str, SourcedTask]] = {kind: {} for kind in ASSESSED_TYPES}
        for task in tasks:
            self.add(task)

    def add(self, task: SourcedTask) -> None:
        """Take in one more task; a bundle that exists already for its type stays as it is."""
        self._tasks[task.task.skill_type].setdefault(task.task.bundle_sha256, task)

    async def fetch(
        self,
        skill_type: SkillType,
        count: int,
        order: Order,
        within_s: float = FETCH_S,  # noqa: ARG002 - of servers
    ) -> list[SourcedTask]:
        """Return up to `count` tasks; see `TaskSource`."""
        tasks = self._tasks[skill_type]
        return [tasks[sha256] for sha256 in (await order.rank(skill_type, tasks))[:count]]

    async def listed(self, skill_type: SkillType, count: int, order: Order) -> list[Task]:
        """Return the tasks that `fetch` would return."""
        return [sourced.task for sourced in await self.fetch(skill_type, count, order)]

    async def bundle(self, sha256: str) -> bytes | None:
        """Return the bundle with this hash, None if there is none."""
        return next((tasks[sha256].bundle for tasks in self._tasks.values() if sha256 in tasks), None)

    async def reachable(self) -> bool:
        """Return True: memory is always there."""
        return True

    async def close(self) -> None:
        """Do nothing."""
