"""Who got which task, who was left out and why, and what each group came to: what `explain` reads."""

from typing import Any, Final

from sqlalchemy import Row, select

from validator.protocol.round import GroupPlan, RoundPlan
from validator.store.records import GroupRecord
from validator.store.repositories.base import ROUND, Repository
from validator.store.repositories.records import Records
from validator.store.tables import groups, tasks

_OF_ROUND: Final = (
    select(groups, tasks.c.mode)
    .join(tasks, (tasks.c.round_id == groups.c.round_id) & (tasks.c.task_id == groups.c.task_id))
    .where(groups.c.round_id == ROUND)
    .order_by(tasks.c.position)
)


class Groups(Repository):
    """Groups by (round_id, task_id)."""

    async def plan(self, round_id: int, plan: RoundPlan) -> None:
        """Insert a round's groups."""
        await self._insert(
            groups,
            [
                {
                    "round_id": round_id,
                    "task_id": group.task_id,
                    "primaries": group.primaries,
                    "auditors": group.auditors,
                    "promoted": group.promoted,
                    "demoted": group.demoted,
                    "excluded": group.excluded,
                }
                for group in plan.groups
            ],
        )

    async def of_round(self, round_id: int) -> tuple[GroupRecord, ...]:
        """Return a round's groups in plan order."""
        records = Records(self._connection, self._packing)
        outcome = await records.outcome(round_id)
        outcomes = {} if outcome is None else {group.task_id: group for group in outcome.groups}
        plan = await self.plan_of(round_id)
        return tuple(GroupRecord(group, outcomes.get(group.task_id)) for group in plan.groups)

    async def plan_of(self, round_id: int) -> RoundPlan:
        """Return the plan that was stored when the round was opened."""
        plan = await Records(self._connection, self._packing).plan(round_id)
        return await self.open_plan(round_id) if plan is None else plan

    async def open_plan(self, round_id: int) -> RoundPlan:
        """Return the same of a round that has no record yet."""
        return RoundPlan(str(round_id), tuple(map(_plan, await self._all_of(round_id, _OF_ROUND))))


def _plan(row: Row[Any]) -> GroupPlan:
    return GroupPlan(row.task_id, row.mode, row.primaries, row.auditors, row.promoted, row.demoted, row.excluded)
