"""Tasks of rounds: their groups and bundles, how often each was given, and which are retired."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from sqlalchemy import and_, case, func, or_, select, update

from sssa.protocol import typed
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.round import RoundPlan
from sssa.protocol.skill_types import SkillType
from validator.store.errors import AlreadySettledError, MismatchError, WrongStateError
from validator.store.repositories.records import Records
from validator.store.repositories.repository import ROUND, Repository
from validator.store.rows import GroupRecord, SubmittedSkill, TaskEnd, TaskRecord
from validator.store.tables import bundles, given_tasks, retired_tasks, rounds, submitted_skills, tasks

_OF_ROUND: Final = select(tasks).where(tasks.c.round_id == ROUND).order_by(tasks.c.position)


class Tasks(Repository):
    """Tasks by (round_id, task_id)."""

    async def plan(self, planned: Sequence[TaskRecord]) -> None:
        """Insert a round's tasks."""
        await self._insert(tasks, [asdict(one) for one in planned])

    async def end(self, round_id: int, ends: Sequence[TaskEnd]) -> None:
        """Give the tasks of a round that ends their states and reasons."""
        rows = [
            ({"round_id": round_id, "task_id": one.task_id}, {"state": one.state, "reason": one.reason}) for one in ends
        ]
        await self._update_each(tasks, rows)

    async def require_open_round(self, round_id: int) -> None:
        """Refuse to touch a round that has ended (AlreadySettledError), or was never opened (WrongStateError)."""
        state = await self._scalar(select(rounds.c.state).where(rounds.c.round_id == round_id))
        if state is None:
            raise WrongStateError(f"round {round_id} was never opened")
        if state != "open":
            raise AlreadySettledError(f"round {round_id} is {state}")

    async def of_round(self, round_id: int) -> tuple[TaskRecord, ...]:
        """Return a round's tasks in plan order."""
        return await self._each(TaskRecord, _OF_ROUND, {"round_id": round_id})

    async def first_rounds(self, sources: Collection[str]) -> dict[str, int]:
        """Return the first round that froze a task of each of these source bundles, of those that any did."""
        first = select(tasks.c.source_sha256, func.min(tasks.c.round_id).label("round_id"))
        mine = first.where(tasks.c.source_sha256.in_(sources)).group_by(tasks.c.source_sha256)
        return {row.source_sha256: row.round_id for row in await self._all(mine)}

    async def of_source(self, sha256: str) -> tuple[tuple[TaskRecord, str], ...]:
        """Return every task that was made of a source with the state of its round, newest round first."""
        mine = select(tasks, rounds.c.state.label("round_state")).join(rounds, rounds.c.round_id == tasks.c.round_id)
        rows = await self._all(mine.where(tasks.c.source_sha256 == sha256).order_by(tasks.c.round_id.desc()))
        return tuple(
            (
                TaskRecord(**{key: value for key, value in row._asdict().items() if key != "round_state"}),
                row.round_state,
            )
            for row in rows
        )


class Groups(Repository):
    """Groups by (round_id, task_id)."""

    async def of_round(self, round_id: int) -> tuple[GroupRecord, ...]:
        """Return a round's groups in plan order."""
        outcome = await self._as(Records).outcome(round_id)
        outcomes = {} if outcome is None else {group.task_id: group for group in outcome.groups}
        plan = await self.plan_of(round_id)
        return tuple(GroupRecord(group, outcomes.get(group.task_id)) for group in plan.groups)

    async def plan_of(self, round_id: int) -> RoundPlan:
        """Return the plan of a round; one without groups of a skipped or unknown round (DamagedError)."""
        plan = await self._as(Records).plan(round_id)
        data = await self._scalar(select(rounds.c.plan).where(rounds.c.round_id == round_id)) if plan is None else None
        return plan or (RoundPlan(str(round_id), ()) if data is None else typed.decode(data, RoundPlan))


class Bundles(Repository):
    """Content-addressed gzip tars."""

    async def put(self, sha256: str, data: bytes, at: datetime) -> None:
        """Keep a bundle as dispatched; one that exists already starts its retention anew (MismatchError)."""
        if await asyncio.to_thread(sha256_hex, data) != sha256:
            raise MismatchError("a bundle does not hash to its `sha256`")
        if not await self._changed(update(bundles).where(bundles.c.sha256 == sha256).values(stored_at=at)):
            await self._insert(bundles, [{"sha256": sha256, "data": data, "stored_at": at}])

    async def get(self, sha256: str) -> bytes | None:
        """Return a bundle; None when it was never stored or its retention has ended."""
        data: bytes | None = await self._scalar(select(bundles.c.data).where(bundles.c.sha256 == sha256))
        return data


_HASHES_AT_ONCE: Final = 2_000  # hashes in a statement; both databases take 32,766 parameters


class GivenTasks(Repository):
    """Tasks by (skill_type, source_sha256).

    `given` counts rounds, with one exception: what was given less often than others of its type catches up at once, to
    the most that any of them was. A task that is new to a folder is due before all others, but only once: else it would
    be asked until it had been given as often as they were over months.
    """

    async def give(self, round_id: int, given: Mapping[SkillType, Collection[str]]) -> None:
        """Count tasks that are frozen into a round; call it once per round, in the transaction that opens it."""
        for skill_type, sources in given.items():
            mine = given_tasks.c.skill_type == skill_type
            most = await self._scalar(select(func.max(given_tasks.c.given)).where(mine)) or 0
            once_more = given_tasks.c.given + 1
            statement = self._dialect_insert(given_tasks).on_conflict_do_update(
                index_elements=["skill_type", "source_sha256"],
                set_={"given": case((once_more > most, once_more), else_=most), "last_round": round_id},
            )
            first = {"skill_type": skill_type, "given": max(1, most), "last_round": round_id}
            rows = [first | {"source_sha256": sha256} for sha256 in sorted(set(sources))]
            if rows:
                await self._connection.execute(statement, rows)

    async def counts(self, skill_type: SkillType, sources: Collection[str]) -> dict[str, int]:
        """Return how often each of `sources` was given; those that never were are absent."""
        wanted, counts = list(sources), dict[str, int]()
        for start in range(0, len(wanted), _HASHES_AT_ONCE):
            some = given_tasks.c.source_sha256.in_(wanted[start : start + _HASHES_AT_ONCE])
            statement = select(given_tasks.c.source_sha256, given_tasks.c.given)
            rows = await self._all(statement.where(given_tasks.c.skill_type == skill_type, some))
            counts |= {row.source_sha256: row.given for row in rows}
        return counts

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:
        """Return at most `most` tasks of a type, those given last first."""
        statement = (
            select(given_tasks.c.source_sha256)
            .where(given_tasks.c.skill_type == skill_type)
            .order_by(given_tasks.c.last_round.desc(), given_tasks.c.source_sha256)
            .limit(most)
        )
        return [row.source_sha256 for row in await self._all(statement)]


class RetiredTasks(Repository):
    """Retired tasks by the sha256 of their source: a task made again from it is retired, too."""

    async def add(self, sources: Collection[str], at: datetime) -> int:
        """Retire tasks; return how many were not before."""
        new = sorted(set(sources) - await self.among(sources))
        await self._insert(retired_tasks, [{"source_sha256": one, "retired_at": at} for one in new])
        return len(new)

    async def among(self, sources: Collection[str]) -> set[str]:
        """Return those of `sources` that are retired."""
        retired: set[str] = set()
        for some in _parts(sources):
            rows = await self._all(select(retired_tasks.c.source_sha256).where(retired_tasks.c.source_sha256.in_(some)))
            retired |= {row.source_sha256 for row in rows}
        return retired

    async def after(self, source: str, most: int) -> list[str]:
        """Return at most `most` bundles behind this one, in the order of their digests: retired, or submitted once."""
        retired = select(retired_tasks.c.source_sha256.label("sha256"))
        submitted = select(submitted_skills.c.sha256).where(submitted_skills.c.round_id.is_not(None))
        either = retired.union(submitted).subquery().c.sha256
        return [
            row.sha256 for row in await self._all(select(either).where(either > source).order_by(either).limit(most))
        ]

    async def listing(self) -> list[tuple[str, datetime]]:
        """Return every retired task with its time, in the order of their retiring."""
        statement = select(retired_tasks).order_by(retired_tasks.c.retired_at, retired_tasks.c.source_sha256)
        return [(row.source_sha256, row.retired_at) for row in await self._all(statement)]

    async def of_round(self, round_id: int) -> set[str]:
        """Return the ids of a round's tasks whose truth may be shown: retired ones, and canaries made for the round.

        Not while an open round has the same task.
        """
        sources = select(tasks.c.source_sha256).join(rounds, rounds.c.round_id == tasks.c.round_id)
        open_sources = sources.where(rounds.c.state == "open")
        retired = select(retired_tasks.c.source_sha256)
        of_round = select(tasks.c.source_sha256).where(tasks.c.round_id == round_id)
        given = select(given_tasks.c.source_sha256).where(given_tasks.c.source_sha256.in_(of_round))
        source = tasks.c.source_sha256
        may = or_(source.in_(retired), and_(tasks.c.provenance == "canary", source.not_in(given)))
        statement = select(tasks.c.task_id).where(tasks.c.round_id == round_id, may, source.not_in(open_sources))
        return {row.task_id for row in await self._all(statement)}

    async def hides_curated(self, round_id: int) -> bool:
        """Return whether an assessment of a source before this round is not retired, or asked in an open round.

        One that gave no curated record counts too: what the truth lists is not in these rows.
        """
        open_rounds = select(rounds.c.round_id).where(rounds.c.state == "open")
        open_sources = select(tasks.c.source_sha256).where(tasks.c.round_id.in_(open_rounds))
        source = tasks.c.source_sha256
        may_not = or_(source.not_in(select(retired_tasks.c.source_sha256)), source.in_(open_sources))
        sourced = and_(tasks.c.provenance == "curated", tasks.c.skill_type != SkillType.WORKFLOW)
        statement = select(tasks.c.round_id).where(tasks.c.round_id < round_id, sourced, may_not)
        return bool(await self._all(statement.order_by(tasks.c.round_id).limit(1)))

    async def known(
        self,
        names: Collection[str] | None = None,
        *,
        skill_types: Collection[SkillType] = (),
        before: datetime | None = None,
    ) -> list[str]:
        """Return the digests of tasks that a source gave and that were in rounds, sorted.

        `names` are task ids, digests of sources or of goals, None for all; `before`: their last round began before
        this.
        """
        statement = select(given_tasks.c.source_sha256).distinct()
        if skill_types:
            statement = statement.where(given_tasks.c.skill_type.in_([str(one) for one in skill_types]))
        if before is not None:
            later = select(given_tasks.c.source_sha256).join(rounds, rounds.c.round_id == given_tasks.c.last_round)
            statement = statement.where(given_tasks.c.source_sha256.not_in(later.where(rounds.c.started_at >= before)))
        digests: set[str] = set()
        if names is None:
            digests = {row.source_sha256 for row in await self._all(statement)}
        for some in _parts(names or ()):
            named = select(tasks.c.source_sha256).where(or_(tasks.c.task_id.in_(some), tasks.c.bundle_sha256.in_(some)))
            either = or_(given_tasks.c.source_sha256.in_(some), given_tasks.c.source_sha256.in_(named))
            digests |= {row.source_sha256 for row in await self._all(statement.where(either))}
        return sorted(digests)


class SubmittedSkills(Repository):
    """Bundles that somebody submitted, by their sha256."""

    async def add(self, sha256: str, skill_type: SkillType, data: bytes, at: datetime, most: int) -> bool:
        """Queue a bundle, unless it was submitted before; return whether it is queued, or was.

        False where `most` bundles wait already.
        """
        if await self.get(sha256) is not None:
            return True
        waiting = select(func.count()).select_from(submitted_skills).where(submitted_skills.c.round_id.is_(None))
        if int(await self._scalar(waiting)) >= most:
            return False
        row = {"sha256": sha256, "skill_type": skill_type, "data": data, "submitted_at": at, "round_id": None}
        return await self._insert_new(submitted_skills, row)

    async def get(self, sha256: str) -> SubmittedSkill | None:
        """Return a submitted bundle."""
        return await self._one(SubmittedSkill, select(submitted_skills).where(submitted_skills.c.sha256 == sha256))

    async def next(self, skill_types: Collection[SkillType]) -> SubmittedSkill | None:
        """Return the bundle of these types that has waited longest; never one that was in a round before."""
        s, before = (
            submitted_skills.c,
            select(tasks.c.task_id).where(tasks.c.source_sha256 == submitted_skills.c.sha256),
        )
        waiting = select(submitted_skills).where(s.round_id.is_(None), s.skill_type.in_(list(skill_types)))
        return await self._one(SubmittedSkill, waiting.where(~before.exists()).order_by(s.number).limit(1))

    async def had(self, sha256: str, round_id: int) -> None:
        """Note the round that has a bundle, which goes."""
        mine = update(submitted_skills).where(submitted_skills.c.sha256 == sha256)
        await self._changed(mine.values(round_id=round_id, data=None))

    async def among(self, sources: Collection[str]) -> set[str]:
        """Return those of `sources` that a round had because somebody submitted them: no round has them again."""
        submitted: set[str] = set()
        for some in _parts(sources):
            mine = submitted_skills.c.sha256.in_(some), submitted_skills.c.round_id.is_not(None)
            submitted |= {row.sha256 for row in await self._all(select(submitted_skills.c.sha256).where(*mine))}
        return submitted


def _parts(names: Collection[str]) -> Iterator[list[str]]:
    every = sorted(set(names))
    for start in range(0, len(every), _HASHES_AT_ONCE):
        yield every[start : start + _HASHES_AT_ONCE]
