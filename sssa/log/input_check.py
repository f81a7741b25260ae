"""Check that a frozen input follows from the state before its round (SPEC 8 to 10, 12, 15, 16); for audits. Pure."""

from collections import Counter
from itertools import groupby
from typing import Final

from msgspec import UNSET

from sssa.protocol.limits import MAX_FILLED
from sssa.protocol.round import AssessmentTask, ExecutionResult, FilledQuality, MinerState, RoundInput, TypeHistory
from sssa.protocol.skill_types import SkillType
from sssa.scoring import Version, fill_run, version
from sssa.state.inputs import freeze_miner
from sssa.state.mechanism_state import Late, Shared, State, late_key

_NO_HISTORY: Final = TypeHistory()
_EXTRA: Final = ("turns", "presence", "record", "curated")
_OTHER_PAST: Final = "does not follow from the rounds before"

Fault = tuple[str, str]
"""Place in the input, and what is wrong."""


def input_fault(scored_by: Version, state: State, frozen: RoundInput) -> Fault | None:
    """Return the first place of an input that does not follow from the state before its round.

    What the state did not know is learned from the input before, and its acts are applied.
    """
    rules = scored_by.rules
    rounds = rules.groups.history_rounds
    counted = state.covers(frozen.index - rounds)
    for i, miner in enumerate(frozen.miners):
        expected = freeze_miner(
            state,
            miner.hotkey,
            frozen.index,
            history_rounds=rounds,
            samples=rules.collusion.window,
            skill_types=miner.skill_types,
            max_concurrent=miner.max_concurrent,
        )
        wrong = _miner_fault(miner, expected, counted=counted)
        if wrong is not None:
            return f"miners[{i}].{wrong}", _OTHER_PAST
    wrong = _frozen_fault(scored_by, state, frozen)
    if wrong is not None:
        return wrong, _OTHER_PAST
    place = _executions_fault(state.shared, frozen.executions)
    if place is not None:
        return f"executions[{place}]", _OTHER_PAST
    return _filled_fault(state.shared, frozen)


def _frozen_fault(scored_by: Version, state: State, frozen: RoundInput) -> str | None:
    """Return the first fault in what only version 2.0.0 freezes; earlier versions freeze none of it."""
    if (frozen.curated_random is frozen.curated_sha256 is UNSET) is scored_by.pays_tallies:
        return "curated_sha256"
    if not scored_by.pays_tallies:
        miners = (i for i, one in enumerate(frozen.miners) if any(getattr(one, name) is not UNSET for name in _EXTRA))
        first = next(miners, None)
        return None if first is None else f"miners[{first}].turns"
    if not state.whole or state.shared.blind > 1:
        return None
    expected = scored_by.complete(state, frozen)
    # Curated records follow from truths of tasks of a source.
    follow = _EXTRA[:-1] if state.shared.blind or frozen.curated_sha256 is not UNSET else _EXTRA
    for i, (miner, expected_miner) in enumerate(zip(frozen.miners, expected.miners, strict=True)):
        for name in follow:
            if getattr(miner, name) != getattr(expected_miner, name):
                return f"miners[{i}].{name}"
    known = state.shared.sources is not None
    for i, (task, expected_task) in enumerate(zip(frozen.tasks, expected.tasks, strict=True)):
        if (
            known
            and isinstance(task, AssessmentTask)
            and isinstance(expected_task, AssessmentTask)
            and task.first != expected_task.first
        ):
            return f"tasks[{i}].first"
    return None


def _miner_fault(miner: MinerState, expected: MinerState, *, counted: bool) -> str | None:
    """Return the first field that differs; `counted`: all rounds whose dispatches count are known."""
    for name in ("reputations", "agreements", "flags"):
        if getattr(miner, name) != getattr(expected, name):
            return name
    for kind in SkillType:
        one, other = miner.history.get(kind, _NO_HISTORY), expected.history.get(kind, _NO_HISTORY)
        if one.in_flight or (counted and (one.dispatches, one.failures) != (other.dispatches, other.failures)):
            return f"history.{kind}"
        if one.recent_roles != other.recent_roles:
            return f"history.{kind}.recent_roles"
    return None


def _executions_fault(shared: Shared, results: tuple[ExecutionResult, ...]) -> int | None:
    """Return the first of a round's results that does not follow: all of a task come together, in order, and once."""
    last = (-1, -1)
    done: set[tuple[int, str]] = set()
    i = 0
    for key, group in groupby(results, lambda one: (int(one.round_id), one.task_id)):
        theirs = tuple(group)
        task = shared.late.get(key[0], Late()).execution(key[1])
        place = (key[0], last[1] if key[0] == last[0] else -1) if task is None else (key[0], task.position)
        if task is None:
            follows = _is_unknown(shared, *key)
        else:
            events = {one.event for one in theirs}
            confirmed = task.made_here or "rerun_fail" not in events or "rerun_pass" in events
            answers = tuple((hotkey, task.skill_type) for hotkey in task.primaries)
            follows = confirmed and tuple((one.hotkey, str(one.skill_type)) for one in theirs) == answers
        if key in done or place < last or not follows:
            return i
        done.add(key)
        last = place
        i += len(theirs)
    return None


def _filled_fault(shared: Shared, frozen: RoundInput) -> Fault | None:
    if len(frozen.filled) > MAX_FILLED:
        return "filled", f"{len(frozen.filled)} of them, at most {MAX_FILLED}"
    before = ""
    for i, one in enumerate(frozen.filled):
        if one.check_id <= before:
            return f"filled[{i}]", "is filled twice, or out of order"
        before = one.check_id
        wrong = _quality_fault(shared, frozen, one)
        if wrong is not None:
            return f"filled[{i}]{wrong[0]}", wrong[1]
    return None


def _quality_fault(shared: Shared, frozen: RoundInput, one: FilledQuality) -> Fault | None:
    index = int(one.round_id)
    if index >= frozen.index:
        return ".round_id", "is not of a round before this one"
    answer = shared.late.get(index, Late()).quality(one.task_id, one.hotkey)
    if answer is None:
        if not _is_unknown(shared, index, one.task_id, one.hotkey):
            return "", "fills an answer that was not deferred, or was filled before"
        return None
    if one.check_id != answer.check_id:
        return ".check_id", f"is not {answer.check_id}"
    if fill_run(version(answer.version), answer.measured, one.report).score.score != one.score:
        return ".score", "is not what the run is worth with the report"
    return None


def _is_unknown(shared: Shared, round_id: int, task_id: str, hotkey: str | None = None) -> bool:
    """Return whether the state cannot know the round's result: late results from before the file are possible."""
    since = max(shared.since or 0, shared.late_since or 0)
    return round_id < since and late_key(round_id, task_id, hotkey) not in shared.late_unknown


def late_counts(before: Shared, after: Shared, frozen: RoundInput) -> tuple[Counter[str], Counter[str]]:
    """Return the counts of a round's late results, and of those still open, from the states before and after it."""
    counted: Counter[str] = Counter()
    for result in frozen.executions:
        known = before.late.get(int(result.round_id), Late()).execution(result.task_id)
        counted["executions" if known else "executions_before"] += 1
    for one in frozen.filled:
        known_answer = before.late.get(int(one.round_id), Late()).quality(one.task_id, one.hotkey)
        counted["filled" if known_answer else "filled_before"] += 1
    new = after.late.get(frozen.index, Late())
    results = {(one.round_id, one.task_id) for one in frozen.executions}
    ended = sum(before.late.get(int(round_id), Late()).execution(task_id) is not None for round_id, task_id in results)
    waiting = Counter(
        {
            "executions without a result": len(new.executed) - ended,
            "late qualities without a result": len(new.deferred) - counted["filled"],
        }
    )
    return counted, waiting
