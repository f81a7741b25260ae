"""A whole settled round as one miner met it, for `validator explain UID --round N`. Reads the store."""

import string
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from sssa.kinds.registry import kind_of
from sssa.kinds.task_explanation import TaskExplanation, TaskFacts
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_ROUND_ID
from sssa.protocol.reasons import Reason, meaning_of
from sssa.protocol.round import MinerState, RoundInput, RoundOutcome
from sssa.protocol.signatures import is_hotkey
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Document
from sssa.protocol.text import count, printable, short
from sssa.protocol.waiting_work import Execution
from sssa.scoring import FindingKeys, PlannedTask, UnknownScoringVersionError, Version, version
from validator.audit.explain.effects import (
    Collusion,
    ReputationChange,
    TypeWindow,
    WeightEffect,
    explain_collusion,
    explain_reputation,
    explain_windows,
)
from validator.store import Transaction
from validator.store.rows import RoundRecord
from validator.store.vector_inputs import UNMIXED, Mechanisms

_BASE58: Final = frozenset(string.digits + string.ascii_letters) - frozenset("0OIl")
_LONGEST_PREFIX: Final = 46  # an ss58 address has 47 or 48 characters
_SHOWN: Final = 5


class NotAMinerError(ValidatorError):
    """This names no hotkey."""


class AmbiguousMinerError(ValidatorError):
    """This names several hotkeys."""


def find_hotkey(text: str, uids: Mapping[int, str], known: Iterable[str]) -> str | None:
    """Return the hotkey of an ss58 address, of the beginning of one, or of a uid, None if it is not known.

    Raises:
        NotAMinerError: neither an address, nor the beginning of one, nor a uid.
        AmbiguousMinerError: several known hotkeys begin like this.
    """
    hotkeys = sorted({*known, *uids.values()})
    if text in hotkeys:
        return text
    if text.isascii() and text.isdecimal():
        return uids.get(int(text[:_SHOWN])) if len(text) <= _SHOWN else None
    if is_hotkey(text):
        return None
    if not text or len(text) > _LONGEST_PREFIX or not _BASE58.issuperset(text):
        raise NotAMinerError(
            f"`{printable(text, 80)}` is neither an ss58 address, nor the beginning of one, nor a uid; "
            "`validator neurons list` shows all hotkeys"
        )
    matches = [hotkey for hotkey in hotkeys if hotkey.startswith(text)]
    if len(matches) > 1:
        more = f" and {len(matches) - _SHOWN} more" if len(matches) > _SHOWN else ""
        raise AmbiguousMinerError(
            f"`{text}` begins {', '.join(short(hotkey, len(text) + 4) for hotkey in matches[:_SHOWN])}{more}; "
            "write more of it"
        )
    return matches[0] if matches else None


class NothingToExplainError(ValidatorError):
    """There is nothing to explain."""


class RoundFacts(Document, frozen=True):
    """The round; `block_time` is that of the block it is pinned to."""

    round_id: int
    epoch: int
    block: int
    block_hash: str
    block_time: datetime
    state: str
    reason: Reason | None
    scoring_version: str
    started_at: datetime
    settled_at: datetime | None


class MinerFacts(Document, frozen=True):
    """The miner as the round's frozen input has it.

    Uid and limit are None where it is not registered, or not declared.
    """

    hotkey: str
    uid: int | None
    is_validator: bool
    skill_types: tuple[SkillType, ...]
    max_concurrent: int | None
    flags: int


class NotACandidate(Document, frozen=True):
    """Tasks of a type for which the miner was no candidate."""

    skill_type: SkillType
    tasks: int
    why: str


class RoundExplanation(Document, frozen=True):
    """Everything that one round did to one miner.

    Attributes:
        tasks: those for which it was a candidate, in plan order.
        not_candidate: the other types of the round, and why.
        weights: per mechanism whose windows of the miner the round added to.
        executions: of the tasks that it answered as a primary, as they are now, with its own results.
    """

    round: RoundFacts
    miner: MinerFacts
    tasks: tuple[TaskExplanation, ...]
    not_candidate: tuple[NotACandidate, ...]
    reputation: tuple[ReputationChange, ...]
    collusion: tuple[Collusion, ...]
    windows: tuple[TypeWindow, ...]
    weights: tuple[WeightEffect, ...]
    executions: tuple[Execution, ...] = ()


async def explain_round(tx: Transaction, round_id: int, who: str, mechanisms: Mechanisms = UNMIXED) -> RoundExplanation:
    """Return the round's results for `who`: a hotkey, the beginning of one, or a uid of the round's metagraph.

    Only this round is read, and the windows as they were when it had settled.

    Raises:
        NothingToExplainError: no such round or hotkey, or the round was not settled, or cannot be read any more.
        NotAMinerError, AmbiguousMinerError: `who` names no hotkey, or several.
        DamagedError: a stored attestation cannot be read.
    """
    record, frozen, outcome, scored_by = await _settled(tx, round_id)
    uids = {neuron.uid: neuron.hotkey for neuron in frozen.snapshot.neurons}
    hotkey = find_hotkey(who, uids, (known for known, _, _ in await tx.miners.uids()))
    if hotkey is None:
        raise NothingToExplainError(
            f"nobody known is `{who}`: neither a hotkey that was ever seen nor a uid of round {round_id}"
        )
    state = next((miner for miner in frozen.miners if miner.hotkey == hotkey), None)
    planned = tuple(scored_by.plan_tasks(frozen))
    tasks = await _tasks(tx, scored_by, frozen, planned, outcome, hotkey)
    types = [kind for kind in SkillType if any(task.skill_type == kind for task in tasks)]
    windows, weights = await explain_windows(tx, scored_by, frozen, hotkey, mechanisms)
    return RoundExplanation(
        round=_round(record, frozen),
        miner=_miner(frozen, hotkey, state),
        tasks=tasks,
        not_candidate=_elsewhere(frozen, hotkey, state, types),
        reputation=explain_reputation(scored_by, types, hotkey, state, outcome),
        collusion=explain_collusion(scored_by, frozen, hotkey, state, outcome),
        windows=windows,
        weights=weights,
        executions=tuple(one.only(hotkey) for one in await tx.executions.of_round(round_id) if hotkey in one.hotkeys),
    )


async def _settled(tx: Transaction, round_id: int) -> tuple[RoundRecord, RoundInput, RoundOutcome, Version]:
    stored = await tx.rounds.get(round_id) if 0 <= round_id <= MAX_ROUND_ID else None
    if stored is None:
        raise NothingToExplainError(f"there is no round {round_id} in the store; `validator rounds list` shows them")
    record = stored.record
    if record.state == "open":
        raise NothingToExplainError(
            f"round {round_id} is still open, so nothing is scored yet; `validator rounds show {round_id}` shows it"
        )
    if record.state != "settled":
        because = meaning_of(record.reason) or record.reason or "no reason is stored"
        raise NothingToExplainError(f"round {round_id} is {record.state} and scored nobody: {because}")
    if stored.input is None or stored.outcome is None:
        raise NothingToExplainError(f"what is stored of round {round_id} is damaged, or of another version's form")
    try:
        scored_by = version(stored.input.scoring_version)
    except UnknownScoringVersionError as error:
        raise NothingToExplainError(f"round {round_id} is of a version that cannot be explained. {error}") from None
    return record, stored.input, stored.outcome, scored_by


async def _tasks(  # noqa: PLR0913, PLR0917 - a settled round, and a miner
    tx: Transaction,
    scored_by: Version,
    frozen: RoundInput,
    planned: tuple[PlannedTask, ...],
    outcome: RoundOutcome,
    hotkey: str,
) -> tuple[TaskExplanation, ...]:
    round_id = frozen.index
    mine = [one for one in planned if any(c.hotkey == hotkey for c in one.candidates)]
    records = {record.task_id: record for record in await tx.tasks.of_round(round_id)}
    dispatches = await tx.dispatches.of_round(round_id)
    results = await tx.submissions.results(round_id, [one.task.task_id for one in mine])
    checks = await tx.code_checks.of_round(round_id)
    groups = {group.task_id: group for group in outcome.groups}
    keys, explanations = FindingKeys(), list[TaskExplanation]()
    for one in mine:
        task_id = one.task.task_id
        facts = TaskFacts(
            version=scored_by,
            keys=keys,
            task=one.task,
            position=records[task_id].position,
            state=records[task_id].state,
            planned=one,
            outcome=groups[task_id],
            members=[member for member in outcome.members if member.task_id == task_id],
            dispatches=[dispatch for dispatch in dispatches if dispatch.task_id == task_id],
            results=results,
            checks=[check for check in checks if check.task_id == task_id],
        )
        explained = kind_of(one.task).explain(frozen, facts, hotkey)
        explanations += [explained] if explained else []
    return tuple(explanations)


def _round(record: RoundRecord, frozen: RoundInput) -> RoundFacts:
    return RoundFacts(
        round_id=record.round_id,
        epoch=record.epoch,
        block=record.block,
        block_hash=record.block_hash,
        block_time=datetime.fromtimestamp(frozen.snapshot.block_time, UTC),
        state=record.state,
        reason=record.reason,
        scoring_version=frozen.scoring_version,
        started_at=record.started_at,
        settled_at=record.settled_at,
    )


def _miner(frozen: RoundInput, hotkey: str, state: MinerState | None) -> MinerFacts:
    neuron = frozen.snapshot.by_hotkey(hotkey)
    return MinerFacts(
        hotkey=hotkey,
        uid=neuron.uid if neuron else None,
        is_validator=hotkey == frozen.validator_hotkey,
        skill_types=state.skill_types if state else (),
        max_concurrent=state.max_concurrent if state else None,
        flags=state.flags if state else 0,
    )


def _elsewhere(
    frozen: RoundInput, hotkey: str, state: MinerState | None, types: list[SkillType]
) -> tuple[NotACandidate, ...]:
    tasks = Counter(task.skill_type for task in frozen.tasks)
    why = _why_not(frozen, hotkey, state)
    return tuple(NotACandidate(kind, tasks[kind], why) for kind in SkillType if kind in tasks and kind not in types)


def _why_not(frozen: RoundInput, hotkey: str, state: MinerState | None) -> str:
    if hotkey == frozen.validator_hotkey:
        return "it is the validator that ran the round"
    if frozen.snapshot.by_hotkey(hotkey) is None:
        return f"it was not registered at block {frozen.snapshot.block}"
    if state is None or not state.skill_types:
        return "it declared nothing that was valid and usable when the round was frozen"
    return f"it declared {count(len(state.skill_types), 'other type')}: {', '.join(state.skill_types)}"
