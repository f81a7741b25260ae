"""Who got which task, who was left out and why, and what each group came to: what `explain` reads."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Row, select

from validator.protocol.round import GroupOutcome, GroupPlan, RoundPlan
from validator.store.records import GroupRecord
from validator.store.repositories.base import ROUND, Repository
from validator.store.tables import groups, tasks

_OF_ROUND: Final = (
    select(groups, tasks.c.mode, tasks.c.reason)
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

    async def settle(self, round_id: int, outcomes: Sequence[GroupOutcome]) -> None:
        """Add what the groups came to (mode and reason stand in the tasks)."""
        rows = [
            (
                {"round_id": round_id, "task_id": outcome.task_id},
                {
                    "n_valid": outcome.n_valid,
                    "threshold": outcome.threshold,
                    "verdict": outcome.verdict,
                    "mean_risk": outcome.mean_risk,
                    "finding_keys": outcome.finding_keys,
                    "scored_provenance": outcome.provenance,
                    "scored_verdict": outcome.scored_verdict,
                    "auditor_agreement": outcome.auditor_agreement,
                },
            )
            for outcome in outcomes
        ]
        await self._update_each(groups, rows)

    async def of_round(self, round_id: int) -> tuple[GroupRecord, ...]:
        """Return a round's groups in plan order."""
        return tuple(_record(row) for row in await self._rows_of(round_id, _OF_ROUND))

    async def plan_of(self, round_id: int) -> RoundPlan:
        """Return the plan that was stored when the round was opened."""
        return RoundPlan(str(round_id), tuple(group.plan for group in await self.of_round(round_id)))


def _record(row: Row[Any]) -> GroupRecord:
    plan = GroupPlan(row.task_id, row.mode, row.primaries, row.auditors, row.promoted, row.demoted, row.excluded)
    if row.n_valid is None:
        return GroupRecord(plan, None)
    return GroupRecord(
        plan,
        GroupOutcome(
            task_id=row.task_id,
            reason=row.reason,
            mode=row.mode,
            n_valid=row.n_valid,
            threshold=row.threshold,
            verdict=row.verdict,
            mean_risk=row.mean_risk,
            finding_keys=row.finding_keys,
            provenance=row.scored_provenance,
            scored_verdict=row.scored_verdict,
            auditor_agreement=row.auditor_agreement,
        ),
    )
