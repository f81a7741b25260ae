"""A round's outcome under 2.0.0: entries and answer scores, and its step (SPEC 17, D-37, D-38)."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import structs

from sssa.protocol.reasons import Reason
from sssa.protocol.results import RoundResults, Submission
from sssa.protocol.round import (
    AgreementSample,
    AssessedMember,
    AssessmentTask,
    FailedMember,
    FlagRaised,
    GoalTask,
    GroupPlan,
    MemberOutcome,
    ReputationKind,
    RoundInput,
    RoundOutcome,
    RoundTask,
    is_submitted,
)
from sssa.protocol.tallies import NO_RECORD, Record, Tally
from sssa.protocol.task import Truth
from sssa.scoring.scoring_types import ScoredTask
from sssa.scoring.v1 import reputation
from sssa.scoring.v1 import round as round_1_0
from sssa.scoring.v1 import step as step_1_0
from sssa.scoring.v1.keys import FindingKeys
from sssa.scoring.v1.quality import evidence_parts
from sssa.scoring.v1.task import compare_answers, failed_member, group_outcome
from sssa.scoring.v1.version_calls import Scoring
from sssa.scoring.v2.rules import Ruled20, Rules20
from sssa.scoring.v2.tallies import MemberTally, TalliedAnswer, event_of_score, struck, tally_task
from sssa.state.mechanism_state import Delta, State, answer_number
from sssa.state.round_end import Change, Ended
from sssa.state.tallies import with_answer


class Scoring20(Scoring, Protocol):
    """A version of 2.0.0's kind, as far as a round needs it."""

    @property
    def rules(self) -> Rules20:
        """Its constants."""


def score_group(  # noqa: PLR0913, PLR0917 - a task of a round and what came back
    version: Scoring20,
    frozen: RoundInput,
    task: RoundTask,
    group: GroupPlan,
    results: RoundResults,
    keys: FindingKeys,
) -> ScoredTask:
    """Return the outcome of one task of a round; arguments as in 1.0.0."""
    if isinstance(task, GoalTask):
        return round_1_0.score_group(version, frozen, task, group, results, keys)
    group = round_1_0.without_void(group, results)
    passed = {one.hotkey: one for one in results.answers(task.task_id, Submission)}
    failed = {one.hotkey: one for one in results.rejections if one.task_id == task.task_id}
    compared = compare_answers(version, task, group, tuple(passed.values()), keys)
    consensus = {member.hotkey: score for member, score in zip(compared.members, compared.scores, strict=True)}
    records = {one.hotkey: (one.record or NO_RECORD, one.curated or NO_RECORD) for one in frozen.miners}
    truth = task.truth if task.provenance != "none" else None
    answers = [_answer(version, task, truth, hotkey, passed.get(hotkey), records) for hotkey, _ in group.members]
    tallied = tally_task(
        version,
        answers,
        truth,
        made_here=task.made_here,
        first=task.first is True,
        keys=keys,
        compared={member.hotkey: member.claims for member in compared.members},
    )
    members: list[MemberOutcome] = []
    for one, answer in zip(tallied, answers, strict=True):
        if one.hotkey in failed:
            member = failed_member(failed[one.hotkey])
            scores = {"answer_score": one.answer_score, "curated_score": one.curated_score}
            members.append(structs.replace(member, window_entry=None, tally=one.tally, **scores))
        else:
            compared_with = consensus[one.hotkey]
            members.append(
                AssessedMember(
                    task_id=task.task_id,
                    hotkey=one.hotkey,
                    role=passed[one.hotkey].role,
                    reason=_reason(one, early=answer.early),
                    components=compared_with.components,
                    consensus=compared_with.consensus,
                    agreement_with_primaries=compared_with.with_primaries,
                    agreement_with_auditors=compared_with.with_auditors,
                    emission=None,
                    window_entry=None,
                    tally=one.tally,
                    answer_score=one.answer_score,
                    curated_score=one.curated_score,
                    weight=0.0 if one.weight is None else one.weight,
                )
            )
    outcome = group_outcome(version, task, group, compared.members, compared.group, compared.standard)
    scored = ScoredTask(outcome, tuple(members))
    return round_1_0.entering_nothing(scored) if is_submitted(task) else scored


def _reason(one: MemberTally, *, early: bool) -> Reason:
    if one.tally is None:
        return Reason.VOID_NO_VERDICT
    return Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED


def _answer(  # noqa: PLR0913, PLR0917 - an answer, and what is known of task and miner
    version: Ruled20,
    task: AssessmentTask,
    truth: Truth | None,
    hotkey: str,
    passed: Submission | None,
    records: Mapping[str, tuple[Record, Record]],
) -> TalliedAnswer:
    record, curated = records.get(hotkey, (NO_RECORD, NO_RECORD))
    if passed is None:
        return TalliedAnswer(hotkey, None, early=False, epsilon=None, record=record, curated=curated)
    early = passed.seconds < task.windows.of(passed.role).t_min
    return TalliedAnswer(hotkey, passed.sssa, early, epsilon_of(version, passed, truth), record, curated)


def epsilon_of(version: Ruled20, answer: Submission, truth: Truth | None) -> float:
    """Return the evidence factor: checks of section 6, and two more where the truth says (D-38)."""
    held = total = 0.0
    for part in evidence_parts(version, answer.checks, answer.semantic_subset):
        held += part.held
        total += part.weight
    weight = version.rules.tallies.truth_check
    if truth is not None and truth.manifest_sha256 is not None:
        held += weight if answer.sssa.evidence.manifest_sha256 == truth.manifest_sha256 else 0.0
        total += weight
    if truth is not None and truth.shell_commands is not None and answer.role == "primary":
        expected = set(truth.shell_commands)
        shown = len(expected.intersection(answer.shell_commands or ()))
        held += weight * (shown / len(expected) if expected else 1.0)
        total += weight
    return held / total


def member_event(version: Ruled20, member: MemberOutcome) -> ReputationKind | None:
    """Return the reputation event of one dispatch: of the truth where the task was planted (D-38)."""
    if isinstance(member, FailedMember):
        return reputation.member_event(version, member)
    score = member.answer_score if isinstance(member, AssessedMember) else None
    return event_of_score(version, score) if isinstance(score, float) else None


def collusion_round(
    frozen: RoundInput,  # noqa: ARG001 - a round gives no samples, whatever came back
    scored: Sequence[tuple[RoundTask, ScoredTask]],  # noqa: ARG001
) -> tuple[tuple[AgreementSample, ...], tuple[FlagRaised, ...]]:
    """Return no samples and no flags."""
    return (), ()


def step(version: Scoring20, state: State, ended: Ended) -> Delta:
    """Return what an ended round changes: as in 1.0.0, then turns, tallies and records."""
    change = step_1_0.changed(version, state, ended)
    if ended.outcome is not None:
        _enter(change, ended, ended.outcome)
    return change.delta()


def _enter(change: Change, ended: Ended, outcome: RoundOutcome) -> None:
    frozen = ended.frozen
    tasks = {task.task_id: task for task in frozen.tasks}
    settled = {group.task_id for group in outcome.groups if group.task_state == "settled"}
    for member in outcome.members:
        task = tasks[member.task_id]
        if member.task_id not in settled:
            continue
        if not isinstance(member, AssessedMember | FailedMember):
            continue
        if isinstance(member.tally, Tally):
            key, answer = (member.hotkey, task.skill_type), answer_number(frozen.index, member.task_id)
            change.update(key, tallies=change.pair(key).tallies.entered(answer, member.tally))
        past = change.miner(member.hotkey)
        if isinstance(member.answer_score, float):
            change.change_miner(member.hotkey, answers=with_answer(past.answers, member.answer_score))
        if isinstance(member.curated_score, float):
            change.change_miner(member.hotkey, curated=with_answer(past.curated, member.curated_score))
    for one in frozen.executions:
        if one.event == "rerun_fail":
            _strike(change, (one.hotkey, one.skill_type), answer_number(int(one.round_id), one.task_id))
    change.shared = structs.replace(change.shared, tallied=change.shared.tallied + 1)


def _strike(change: Change, key: tuple[str, Any], answer: int) -> None:
    window = change.pair(key).tallies
    after = window.changed(answer, struck)
    if after is not window:
        change.update(key, tallies=after)
