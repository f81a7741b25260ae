"""What selection needs to know about the past (SPEC 8)."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, and_, case, delete, exists, func, or_, select

from validator.protocol.answer import Role
from validator.protocol.reasons import OURS
from validator.protocol.round import TypeHistory
from validator.protocol.skill_types import SkillType
from validator.store.records import MAX_ROLES
from validator.store.repositories.base import Repository, of_hotkeys
from validator.store.repositories.newest import newest_of_each
from validator.store.repositories.waiting import Executions
from validator.store.tables import dispatches, exclusions, histories, rounds, tasks

_ROLES: Final[Mapping[str, Role]] = {"p": "primary", "a": "auditor"}
_COUNTED: Final = ("answered", "failed")
_LETTER: Final = case((func.max(dispatches.c.role) == "primary", "p"), else_="a")  # `primary` sorts after `auditor`


class RecentAnswers(NamedTuple):
    """What a miner's dispatches of one type came to since some moment.

    Attributes:
        answered: whether an answer passed its gates.
        failed: the first failure in a round after the miner's newest such answer, of any type; None without one.
        excluded: whether the type's plans leave it out, or have, and no answer has passed since (`Exclusions`).
    """

    hotkey: str
    skill_type: str
    answered: bool
    failed: int | None
    excluded: bool


class Histories(Repository):
    """Histories per (hotkey, skill_type), from settled tasks: void and skipped ones never happened.

    A dispatch that is void alone was an assignment, and neither a dispatch nor a failure (D-26).
    """

    async def before(
        self, round_id: int, lookback: int, hotkeys: Collection[str] | None = None
    ) -> Mapping[tuple[str, SkillType], TypeHistory]:
        """Return the histories as they stand for the round to come.

        Args:
            round_id: of that round; no later one has ended.
            lookback: dispatches and failures are those of the `lookback` round ids before it.
            hotkeys: whose; None for everybody.

        Returns:
            (hotkey, skill_type) -> roles of the newest 100 rounds in which it was assigned, newest first (primary
            if it was primary for any task of the type in that round), dispatches and failures (failed gates, and
            answers that execution struck);
            `in_flight` 0. Pairs that were never assigned are absent.
        """
        counts = await self._counts(round_id, lookback)
        struck = await Executions(self._connection, self._packing).struck(round_id - lookback)
        found = {}
        for (hotkey, name), letters in (await self.kept(hotkeys)).items():
            sent, failures = counts.get((hotkey, name), (0, 0))
            roles = tuple(map(_ROLES.__getitem__, letters))
            found[hotkey, SkillType(name)] = TypeHistory(roles, sent, failures + struck[hotkey, name])
        return found

    async def settle(self, round_id: int) -> None:
        """Take over whom a round assigned; call it once its dispatches stand as they end."""
        later = select(rounds.c.round_id).where(
            rounds.c.round_id > round_id, rounds.c.state.not_in(("open", "skipped"))
        )
        if await self._first(later.limit(1)) is not None:
            await self.rebuild()
            return
        h, d = histories.c, dispatches.c
        assigned = select(d.hotkey, d.skill_type, _LETTER).where(d.round_id == round_id, _assigned())
        statement = self._dialect_insert(histories).from_select(
            ["hotkey", "skill_type", "roles"], assigned.group_by(d.hotkey, d.skill_type)
        )
        longer = statement.excluded.roles.concat(h.roles)
        await self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["hotkey", "skill_type"], set_={"roles": func.substr(longer, 1, MAX_ROLES)}
            )
        )

    async def kept(self, hotkeys: Collection[str] | None = None) -> dict[tuple[str, str], str]:
        """Return (hotkey, skill_type) -> letters of its roles (`p`, `a`), newest first."""
        statement = of_hotkeys(select(histories), histories, hotkeys)
        return {(row.hotkey, row.skill_type): row.roles for row in await self._all(statement)}

    async def computed(self) -> dict[tuple[str, str], str]:
        """Return what `kept` must be, from the dispatches."""
        d = dispatches.c
        still_open = select(rounds.c.round_id).where(rounds.c.state == "open")
        ended = and_(_assigned(), d.round_id.not_in(still_open))
        columns = (d.hotkey, d.skill_type, d.round_id, _LETTER.label("role"))
        newest = newest_of_each(self._dialect, dispatches, columns, d.round_id, MAX_ROLES, where=ended, grouped=True)
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        async for row in self._stream(select(newest).order_by(newest.c.round_id.desc())):
            found[row.hotkey, row.skill_type].append(row.role)
        return {pair: "".join(letters[:MAX_ROLES]) for pair, letters in found.items()}

    async def rebuild(self) -> None:
        """Make what is kept again: a round ended after one that is newer than it, or what is kept is wrong."""
        computed = await self.computed()
        await self._changed(delete(histories))
        rows = [{"hotkey": hotkey, "skill_type": kind, "roles": roles} for (hotkey, kind), roles in computed.items()]
        await self._insert(histories, rows)

    async def failures(self, round_id: int, lookback: int) -> dict[tuple[str, str], tuple[int, int]]:
        """Return (hotkey, skill_type) -> dispatches and failures as in `before`, without reading what is older."""
        struck = await Executions(self._connection, self._packing).struck(round_id - lookback)
        counts = await self._counts(round_id, lookback)
        return {pair: (sent, failures + struck[pair]) for pair, (sent, failures) in counts.items()}

    async def recent(self, since: datetime) -> tuple[RecentAnswers, ...]:
        """Return what each (hotkey, skill_type) came to in the ended rounds that began after a moment."""
        d, e, r = dispatches.c, exclusions.c, rounds.c
        older = select(r.round_id).where(r.started_at < since).order_by(r.round_id.desc()).limit(1)
        still_open = select(r.round_id).where(r.state == "open")
        passed = case((d.state == "answered", d.round_id)).label("passed")
        ended = (  # made first: in the windows' order SQLite would read every dispatch ever stored
            select(d.hotkey, d.skill_type, d.round_id, passed)
            .where(d.round_id > func.coalesce(older.scalar_subquery(), -1), d.round_id.not_in(still_open))
            .where(d.state.in_(_COUNTED))
            .cte("ended")
            .prefix_with("MATERIALIZED")
        )
        newest = func.max(ended.c.passed).over(partition_by=ended.c.hotkey).label("newest")
        counted = select(ended, newest).subquery("counted")
        c = counted.c
        statement = (
            select(
                c.hotkey,
                c.skill_type,
                func.max(c.passed).is_not(None).label("answered"),
                func.min(case((c.round_id > c.newest, c.round_id))).label("failed"),
                func.max(e.round_id).is_not(None).label("excluded"),
            )
            .outerjoin_from(counted, exclusions, and_(e.hotkey == c.hotkey, e.skill_type == c.skill_type))
            .group_by(c.hotkey, c.skill_type)
        )
        return tuple(
            RecentAnswers(row.hotkey, row.skill_type, bool(row.answered), row.failed, bool(row.excluded))
            for row in await self._all(statement)
        )

    async def _counts(self, round_id: int, lookback: int) -> dict[tuple[str, str], tuple[int, int]]:
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
            .where(d.state.in_(_COUNTED))
            .group_by(d.hotkey, d.skill_type)
        )
        return {(row.hotkey, row.skill_type): (row.dispatches, int(row.failures)) for row in await self._all(statement)}


def _assigned() -> ColumnElement[bool]:
    """Whether a dispatch of a round that has ended was an assignment.

    One that is void alone was, and so were all of a task that is void because each of them is (SPEC 16, D-26); what is
    void with its task for another reason, or with its round, was none (D-6).
    """
    d, t, r = dispatches.c, tasks.c, rounds.c
    settled = exists().where(r.round_id == d.round_id, r.state == "settled").correlate(dispatches)
    ours = [*map(str, OURS)]
    task = exists().where(t.round_id == d.round_id, t.task_id == d.task_id).correlate(dispatches)
    alone = task.where(or_(t.state == "settled", t.reason.in_(ours)))
    return or_(d.state.in_(_COUNTED), and_(d.state == "void", d.reason.in_(ours), settled, alone))
