"""The order in which the tasks that a source holds are due (SPEC 16, D-29)."""

from collections.abc import Collection, Mapping
from typing import Protocol

from validator.protocol.draws import task_draw
from validator.protocol.skill_types import SkillType
from validator.sources import RandomBytes


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
    """An order that is drawn anew each time. See `Order`.

    Args:
        random: what it is drawn from.
    """

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
