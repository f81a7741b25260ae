"""The tasks of rounds."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Row, Update, select, update

from validator.protocol.reasons import Reason
from validator.protocol.round import GroupOutcome, RoundInput, RoundPlan
from validator.protocol.round.forms import task_form
from validator.protocol.skill_types import SkillType
from validator.store.errors import AlreadySettledError, MismatchError, WrongStateError
from validator.store.records import TaskRecord
from validator.store.repositories.base import ROUND, Repository
from validator.store.tables import rounds, tasks

# D-7: without any verdict good answers enter nothing, but failed gates count and the group did work: not void.

_OF_ROUND: Final = select(tasks).where(tasks.c.round_id == ROUND).order_by(tasks.c.position)


class Tasks(Repository):
    """Tasks by (round_id, task_id)."""

    async def plan(self, round_id: int, round_input: RoundInput, plan: RoundPlan) -> None:
        """Insert a round's tasks; those without candidates are skipped from the start."""
        await self._insert(
            tasks,
            [
                {
                    "round_id": round_id,
                    "task_id": task.task_id,
                    "position": position,
                    "skill_type": task.skill_type,
                    "slot": task.slot,
                    "source_sha256": task.source_sha256,
                    "bundle_sha256": task.bundle_sha256,
                    "nonce": task.nonce,
                    "provenance": task_form(task).provenance,
                    "mode": group.mode,
                    "state": "skipped" if group.mode == "skip" else "open",
                    "reason": Reason.SKIPPED_NO_CANDIDATES if group.mode == "skip" else None,
                }
                for position, (task, group) in enumerate(zip(round_input.tasks, plan.groups, strict=True))
            ],
        )

    async def settle(self, round_id: int, outcomes: Sequence[GroupOutcome]) -> None:
        """Give every task the state and reason of its group's outcome.

        Tasks that are void or skipped already may be missing; a void task stays void.

        Raises:
            MismatchError: the outcomes are not those of the round's tasks, or revive a void task.
        """
        rows: list[tuple[dict[str, Any], dict[str, Any]]] = []
        planned = {task.task_id: task for task in await self.of_round(round_id)}
        for outcome in outcomes:
            task, state = planned.pop(outcome.task_id, None), outcome.task_state
            if task is None:
                raise MismatchError(f"round {round_id} has no task {outcome.task_id}, or the outcome has it twice")
            if outcome.mode != task.mode or (task.state == "void" and state != "void"):
                raise MismatchError(
                    f"round {round_id}, task {task.task_id}: {task.state}, {task.mode} in the store, "
                    f"but {state}, {outcome.mode} in the outcome"
                )
            found = {"round_id": round_id, "task_id": task.task_id}
            rows.append((found, {"state": state, "reason": outcome.reason}))
        missing = sorted(task.task_id for task in planned.values() if task.state == "open")
        if missing:
            raise MismatchError(f"round {round_id}: the outcome says nothing about {', '.join(missing)}")
        await self._update_each(tasks, rows)

    async def void(self, round_id: int, task_id: str, reason: Reason) -> None:
        """Make an open task void.

        Raises:
            AlreadySettledError: its round has ended.
            WrongStateError: no such task, or it is not open.
        """
        await self.require_open_round(round_id)
        statement = _at(round_id, task_id).where(tasks.c.state == "open")
        if not await self._changed(statement.values(state="void", reason=reason)):
            raise WrongStateError(f"task {task_id} of round {round_id} is not open")

    async def require_open_round(self, round_id: int) -> None:
        """Refuse to touch a round that has ended.

        Raises:
            AlreadySettledError: it has.
            WrongStateError: it was never opened.
        """
        state = await self._scalar(select(rounds.c.state).where(rounds.c.round_id == round_id))
        if state is None:
            raise WrongStateError(f"round {round_id} was never opened")
        if state != "open":
            raise AlreadySettledError(f"round {round_id} is {state}")

    async def void_all(self, round_id: int, reason: Reason) -> None:
        """Make every open task of a round void."""
        statement = update(tasks).where(tasks.c.round_id == round_id, tasks.c.state == "open")
        await self._changed(statement.values(state="void", reason=reason))

    async def of_round(self, round_id: int) -> tuple[TaskRecord, ...]:
        """Return a round's tasks in plan order."""
        return tuple(_record(row) for row in await self._all_of(round_id, _OF_ROUND))


def _at(round_id: int, task_id: str) -> Update:
    return update(tasks).where(tasks.c.round_id == round_id, tasks.c.task_id == task_id)


def _record(row: Row[Any]) -> TaskRecord:
    fields = row._asdict()
    return TaskRecord(**{**fields, "skill_type": SkillType(row.skill_type)})
