"""Member outcomes with every factor that made them (SPEC 4, 6, 7), from the records of settled rounds."""

from sqlalchemy import select

from validator.protocol.round import MemberOutcome
from validator.protocol.skill_types import SkillType
from validator.store.records import ScoreRecord
from validator.store.repositories.base import Repository
from validator.store.repositories.records import Records
from validator.store.tables import dispatches, rounds


class Scores(Repository):
    """Member outcomes by round, and by miner.

    Raises:
        DamagedError, ArchivedError, ArchiveError: as `Records`.
    """

    async def of_round(self, round_id: int) -> tuple[MemberOutcome, ...]:
        """Return a round's outcomes in plan order, primaries by rank, then auditors by draw."""
        outcome = await Records(self._connection, self._packing).outcome(round_id)
        return () if outcome is None else outcome.members

    async def of_miner(self, hotkey: str, limit: int) -> tuple[ScoreRecord, ...]:
        """Return a miner's newest `limit` outcomes, newest round first, a round's in the plan's order reversed."""
        d = dispatches.c
        its = select(d.round_id, d.task_id, d.skill_type).join(rounds, rounds.c.round_id == d.round_id)
        its = its.where(d.hotkey == hotkey, d.state != "void", rounds.c.state == "settled")
        types = {row.task_id: row for row in await self._all(its.order_by(d.round_id.desc()).limit(limit))}
        found: list[ScoreRecord] = []
        for round_id in dict.fromkeys(row.round_id for row in types.values()):
            found += [
                ScoreRecord(round_id, SkillType(types[member.task_id].skill_type), member)
                for member in reversed(await self.of_round(round_id))
                if member.hotkey == hotkey and member.task_id in types
            ]
        return tuple(found)
