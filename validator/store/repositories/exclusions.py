"""Who was left out of a type and has not shown since that it can do it (SPEC 16, D-23 rule 5)."""

from typing import Final, NamedTuple

from sqlalchemy import delete, select, tuple_

from validator.protocol.reasons import Reason
from validator.protocol.round import RoundInput, RoundPlan
from validator.store.repositories.base import Repository
from validator.store.tables import dispatches, exclusions

_TELLING: Final = (Reason.LOW_REPUTATION, Reason.FAILURE_RATE)


class Exclusion(NamedTuple):
    """The newest round whose plan left the pair out, and why."""

    round_id: int
    reason: Reason


class Exclusions(Repository):
    """One row per (hotkey, skill_type) that is unproven.

    A plan counts from the moment when it is stored, also if its round is void in the end. It excludes by reputation or
    failures from all tasks of the type or from none, so no answer of that same round can speak for the miner: one of a
    later round does.
    """

    async def plan(self, round_id: int, round_input: RoundInput, plan: RoundPlan) -> None:
        """Note whom the plan of a round leaves out."""
        found = {
            (hotkey, str(task.skill_type)): reason
            for task, group in zip(round_input.tasks, plan.groups, strict=True)
            for hotkey, reason in group.excluded.items()
            if reason in _TELLING
        }
        await self._upsert(
            exclusions,
            [
                {"hotkey": hotkey, "skill_type": skill_type, "round_id": round_id, "reason": reason}
                for (hotkey, skill_type), reason in found.items()
            ],
        )

    async def settle(self, round_id: int) -> None:
        """Forget those of whom the round has an answer that passed; call it once its dispatches stand as they end."""
        d, e = dispatches.c, exclusions.c
        passed = select(d.hotkey, d.skill_type).where(d.round_id == round_id, d.state == "answered")
        proven = delete(exclusions).where(e.round_id < round_id, tuple_(e.hotkey, e.skill_type).in_(passed))
        await self._changed(proven)

    async def standing(self) -> dict[tuple[str, str], Exclusion]:
        """Return every (hotkey, skill_type) that is unproven."""
        found = await self._all(select(exclusions))
        return {(row.hotkey, row.skill_type): Exclusion(row.round_id, Reason(row.reason)) for row in found}
