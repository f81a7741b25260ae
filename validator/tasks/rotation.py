"""Fair turns over what a task server offers, to all validators together."""

from collections.abc import Collection

from validator.protocol.skill_types import SkillType


class Rotation:
    """Remembers what was offered when, in memory only: after a restart the tasks' own order decides again."""

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
