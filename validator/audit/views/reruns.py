"""Answers that are run again, both runs side by side (SPEC 15)."""

from collections.abc import Mapping
from datetime import datetime

from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.rerun import RerunReport
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.work_states import WorkState
from validator.store import Transaction
from validator.store.rerun import Rerun


class RerunView(Document, frozen=True):
    """A rerun.

    Attributes:
        why: what had the answer run again; `why_meaning` that in words.
        image, digest: as its miner declared it.
        state: pending, running, done or inconclusive.
        attempts: tries that were begun.
        due_at: not tried before.
        event: what it does to the reputation; None while there is no result, and where it is inconclusive.
        reason: of the end, or of the last try; `meaning` that in words.
        report: what the miner's traces claim and what was seen; None where nothing was compared.
        counted_in: the round that counted the event; None until one has.
        struck: what the window entry was worth before it became 0; None where it was left alone.
    """

    rerun_id: str
    round_id: int
    task_id: str
    hotkey: str
    skill_type: SkillType
    why: Reason
    why_meaning: str | None
    image: str
    digest: str
    state: WorkState
    attempts: int
    queued_at: datetime
    due_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    event: str | None
    reason: Reason | None
    meaning: str | None
    detail: str | None
    report: RerunReport | None
    counted_in: int | None
    struck: float | None


class RerunList(Document, frozen=True):
    """Reruns, newest round first, and how many there are in each state."""

    counts: Mapping[str, int]
    reruns: tuple[RerunView, ...]


async def rerun_list(tx: Transaction, limit: int, state: WorkState | None = None) -> RerunList:
    """Return at most `limit` reruns, those in `state` alone where one is given."""
    found = await tx.reruns.listing(limit, state)
    return RerunList(dict(await tx.reruns.counts()), tuple(map(rerun_view, found)))


async def rerun_of(tx: Transaction, rerun_id: str) -> RerunView | None:
    """Return one rerun, None if there is none of this id."""
    found = await tx.reruns.get(rerun_id) if "\0" not in rerun_id else None
    return None if found is None else rerun_view(found)


async def reruns_of_miner(tx: Transaction, round_id: int, hotkey: str) -> tuple[RerunView, ...]:
    """Return the reruns of a miner's answers in a round, in plan order."""
    return tuple(rerun_view(one) for one in await tx.reruns.of_round(round_id) if one.key.hotkey == hotkey)


def rerun_view(rerun: Rerun) -> RerunView:
    """Return one rerun as shown."""
    return RerunView(
        rerun_id=rerun.rerun_id,
        round_id=rerun.key.round_id,
        task_id=rerun.key.task_id,
        hotkey=rerun.key.hotkey,
        skill_type=rerun.skill_type,
        why=rerun.why,
        why_meaning=meaning_of(rerun.why),
        image=rerun.image.reference,
        digest=rerun.image.digest,
        state=rerun.state,
        attempts=rerun.attempts,
        queued_at=rerun.queued_at,
        due_at=rerun.due_at,
        started_at=rerun.started_at,
        ended_at=rerun.ended_at,
        event=rerun.event,
        reason=rerun.reason,
        meaning=meaning_of(rerun.reason),
        detail=rerun.detail,
        report=rerun.report,
        counted_in=rerun.entered_in,
        struck=rerun.struck,
    )
