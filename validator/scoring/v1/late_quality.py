"""Qualities of code judged after their round: which runs wait, what one is worth then, what enters (SPEC 12)."""

from collections.abc import Iterator

from msgspec import structs

from validator.protocol.draws import dispatch_id
from validator.protocol.reasons import Reason
from validator.protocol.round import RanMember, RoundInput, RoundOutcome, RoundPlan, WorkflowOutcome
from validator.protocol.skill_types import SkillType
from validator.protocol.workflow_run import CodeReport, WorkflowRun
from validator.scoring.v1.output_quality import code_quality
from validator.scoring.v1.rules import Ruled
from validator.scoring.v1.workflow import score_workflow
from validator.scoring.values import DeferredRun


def deferred_runs(frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> tuple[DeferredRun, ...]:
    """Return the runs whose quality the round could not judge, in plan order, members in group order."""
    deferred = {
        (member.task_id, member.hotkey)
        for member in outcome.members
        if isinstance(member, RanMember) and member.reason == Reason.WORKFLOW_DEFERRED
    }
    return tuple(
        DeferredRun(dispatch_id(frozen.round_id, position, rank), group.task_id, hotkey)
        for position, group in enumerate(plan.groups)
        for rank, (hotkey, _) in enumerate(group.members)
        if (group.task_id, hotkey) in deferred
    )


def fill_run(version: Ruled, measured: WorkflowRun, report: CodeReport) -> WorkflowOutcome:
    """Return what a run is worth once its code has been judged.

    Args:
        version: that of the answer's own round.
        measured: of the run, with whatever quality.
        report: of its code.
    """
    quality = code_quality(version, report.passed, report.total, report.findings)
    whole = structs.replace(measured, output_quality=quality)
    return WorkflowOutcome(whole, score_workflow(version, whole))


def filled_entries(frozen: RoundInput) -> Iterator[tuple[str, str, str, float]]:
    """Yield (hotkey, skill_type, task_id, value) of what enters score windows late, by check id.

    These go before the round's own: the answers are older.
    """
    for filled in frozen.filled:
        yield filled.hotkey, str(SkillType.WORKFLOW), filled.task_id, filled.score
