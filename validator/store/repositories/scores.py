"""Scores with every factor that made them (SPEC 4, 6, 7); kept for good."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Row, and_, select

from validator.protocol import typed
from validator.protocol.round import Components, Emission, MemberOutcome, WorkflowOutcome
from validator.protocol.round.forms import FormError, MemberForm, member_form, member_of
from validator.protocol.skill_types import SkillType
from validator.store.errors import DamagedError
from validator.store.records import ScoreRecord
from validator.store.repositories.base import ROUND, Repository
from validator.store.tables import dispatches, folded_rounds, scores, tasks

_COMPONENTS: Final = Components.__struct_fields__


class Scores(Repository):
    """Member outcomes by (round_id, task_id, hotkey).

    Raises:
        DamagedError: on reading, where the columns of a row are not those of one kind.
    """

    async def put_all(self, round_id: int, members: Sequence[MemberOutcome]) -> None:
        """Insert a round's outcomes."""
        await self._insert(scores, [_row(round_id, member) for member in members])

    async def of_round(self, round_id: int) -> tuple[MemberOutcome, ...]:
        """Return a round's outcomes in plan order, primaries by rank, then auditors by draw."""
        return tuple(_outcome(row) for row in await self._rows_of(round_id, _OF_ROUND))

    async def of_miner(self, hotkey: str, limit: int) -> tuple[ScoreRecord, ...]:
        """Return a miner's newest `limit` outcomes, newest round first, a round's in the plan's order reversed."""
        statement = (
            _SELECT.where(scores.c.hotkey == hotkey)
            .join(tasks, _ITS_TASK)
            .order_by(scores.c.round_id.desc(), tasks.c.position.desc())
        )
        found = [*await self._all(statement.limit(limit))]
        for round_id in await self._folded_rounds_of(hotkey):
            later = sum(row.round_id > round_id for row in found)
            if later >= limit:
                break
            rows = await self._rows_of(round_id, statement.where(scores.c.round_id == round_id))
            found = [*found[:later], *rows, *found[later:]][:limit]
        if len(found) < limit and self._places is not None:
            async for connection, last in self._places.of_miner(hotkey, self._connection):
                older = statement.where(scores.c.round_id <= last).limit(limit - len(found))
                found += (await connection.execute(older)).all()
                if len(found) >= limit:
                    break
        return tuple(ScoreRecord(row.round_id, SkillType(row.skill_type), _outcome(row)) for row in found)

    async def _folded_rounds_of(self, hotkey: str) -> Sequence[int]:
        """Return the folded rounds that a miner had a dispatch in, newest first."""
        d = dispatches.c
        its = select(d.round_id).where(d.hotkey == hotkey, d.round_id.in_(select(folded_rounds.c.round_id)))
        return tuple(row.round_id for row in await self._all(its.distinct().order_by(d.round_id.desc())))


_ITS_TASK: Final = and_(tasks.c.round_id == scores.c.round_id, tasks.c.task_id == scores.c.task_id)
_SELECT: Final = select(scores, dispatches.c.skill_type).join(
    dispatches,
    and_(
        dispatches.c.round_id == scores.c.round_id,
        dispatches.c.task_id == scores.c.task_id,
        dispatches.c.hotkey == scores.c.hotkey,
    ),
)


def _row(round_id: int, member: MemberOutcome) -> dict[str, Any]:
    form = member_form(member)
    components, emission = form.components, form.emission
    return {
        "round_id": round_id,
        "task_id": form.task_id,
        "hotkey": form.hotkey,
        "role": form.role,
        "reason": form.reason,
        **{name: None if components is None else getattr(components, name) for name in _COMPONENTS},
        "consensus": form.consensus,
        "agreement_with_primaries": form.agreement_with_primaries,
        "agreement_with_auditors": form.agreement_with_auditors,
        **{column: None if emission is None else getattr(emission, name) for column, name in _EMISSION},
        "workflow": None if form.workflow is None else msgspec.to_builtins(form.workflow),
        "window_entry": form.window_entry,
    }


# Column and field of Emission, in the field order of the struct.
_EMISSION: Final = (
    ("axes", "axes"),
    ("epsilon", "epsilon"),
    ("quality", "quality"),
    ("base_weight", "base_weight"),
    ("tier", "tier"),
    ("early_bonus", "early_bonus"),
    ("role_factor", "role"),
    ("consensus_factor", "consensus"),
    ("bootstrap", "bootstrap"),
    ("emission", "emission"),
)

_OF_ROUND: Final = (
    _SELECT.where(scores.c.round_id == ROUND).join(tasks, _ITS_TASK).order_by(tasks.c.position, dispatches.c.rank)
)


def _outcome(row: Row[Any]) -> MemberOutcome:
    has_components = row.findings_recall is not None
    form = MemberForm(
        task_id=row.task_id,
        hotkey=row.hotkey,
        role=row.role,
        reason=row.reason,
        components=Components(*(getattr(row, name) for name in _COMPONENTS)) if has_components else None,
        consensus=row.consensus,
        agreement_with_primaries=row.agreement_with_primaries,
        agreement_with_auditors=row.agreement_with_auditors,
        emission=None
        if row.emission is None
        else Emission(**{field: getattr(row, column) for column, field in _EMISSION}),
        window_entry=row.window_entry,
        workflow=None if row.workflow is None else typed.convert(row.workflow, WorkflowOutcome),
    )
    try:
        return member_of(form)
    except FormError as error:
        raise DamagedError(f"score {row.round_id}/{row.task_id}/{row.hotkey}: {error}") from None
