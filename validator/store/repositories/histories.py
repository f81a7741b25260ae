"""What selection needs to know about the past (SPEC 8)."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from sqlalchemy import and_, case, func, or_, select

from validator.protocol.answer import Role
from validator.protocol.reasons import OURS
from validator.protocol.round import TypeHistory
from validator.protocol.skill_types import SkillType
from validator.store.repositories.base import Repository
from validator.store.repositories.newest import newest_of_each
from validator.store.tables import dispatches, reruns, rounds

MAX_ROLES = 100


class Histories(Repository):
    """Histories per (hotkey, skill_type), from settled tasks: void and skipped ones never happened.

    A dispatch that is void alone was an assignment, and neither a dispatch nor a failure (D-26).
    """

    async def before(self, round_id: int, lookback: int) -> Mapping[tuple[str, SkillType], TypeHistory]:
        """Return the histories as they stand for the round to come.

        Args:
            round_id: only earlier rounds count.
            lookback: dispatches and failures are those of the `lookback` round ids before it.

        Returns:
            (hotkey, skill_type) -> roles of the newest 100 rounds in which it was assigned, newest first (primary
            if it was primary for any task of the type in that round), dispatches and failures (failed gates, and
            answers that a rerun struck);
            `in_flight` 0. Pairs that were never assigned are absent.
        """
        d = dispatches.c
        counted = d.state.in_(("answered", "failed"))
        alone = and_(d.state == "void", d.reason.in_([*map(str, OURS)]))
        still_open = select(rounds.c.round_id).where(rounds.c.state == "open")
        # When a round ends, the dispatches of void tasks are void and those of settled ones judged.
        ended = and_(or_(counted, alone), d.round_id < round_id, d.round_id.not_in(still_open))
        columns = (
            d.hotkey,
            d.skill_type,
            d.round_id,
            func.max(d.role).label("role"),  # `primary` sorts after `auditor`
            func.sum(case((counted, 1), else_=0)).label("dispatches"),
            func.sum(case((d.state == "failed", 1), else_=0)).label("failures"),
        )
        newest = newest_of_each(self._dialect, dispatches, columns, d.round_id, MAX_ROLES, where=ended, grouped=True)
        ordered = select(newest).order_by(newest.c.hotkey, newest.c.skill_type, newest.c.round_id.desc())
        roles: dict[tuple[str, SkillType], list[Role]] = defaultdict(list)
        counts: dict[tuple[str, SkillType], tuple[int, int]] = defaultdict(lambda: (0, 0))
        async for row in self._stream(ordered):
            pair = row.hotkey, SkillType(row.skill_type)
            roles[pair].append(row.role)
            if row.round_id >= round_id - lookback:
                sent, failures = counts[pair]
                counts[pair] = sent + int(row.dispatches), failures + int(row.failures)
        struck = await self._struck(round_id - lookback)
        return {
            pair: TypeHistory(tuple(its), sent, failures + struck[pair])
            for pair, its in roles.items()
            for sent, failures in [counts[pair]]
        }

    async def failures(self, round_id: int, lookback: int) -> dict[tuple[str, str], tuple[int, int]]:
        """Return (hotkey, skill_type) -> dispatches and failures as in `before`, without reading what is older."""
        d = dispatches.c
        still_open = select(rounds.c.round_id).where(rounds.c.state == "open")
        statement = (
            select(
                d.hotkey,
                d.skill_type,
                func.count().label("dispatches"),
                func.sum(case((d.state == "failed", 1), else_=0)).label("failures"),
            )
            .where(d.round_id >= round_id - lookback, d.round_id < round_id, d.round_id.not_in(still_open))
            .where(d.state.in_(("answered", "failed")))
            .group_by(d.hotkey, d.skill_type)
        )
        struck = await self._struck(round_id - lookback)
        return {
            (row.hotkey, row.skill_type): (row.dispatches, int(row.failures) + struck[row.hotkey, row.skill_type])
            for row in await self._all(statement)
        }

    async def _struck(self, since: int) -> Counter[tuple[str, str]]:
        """Return how many answers of rounds from `since` on a settled round struck: failed dispatches (D-30)."""
        r = reruns.c
        statement = select(r.hotkey, r.skill_type).where(r.struck.is_not(None), r.round_id >= since)
        return Counter((row.hotkey, row.skill_type) for row in await self._all(statement))
