"""Judging of a miner's answers as a validator would: gates and scores. A run here is another primary (D-21)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from miner.check.report import Fault, Outcome, PlanWorth
from miner.check.target import Target
from miner.check.trials import Trial
from miner.tracing import Tracer, TracingError, pack_traces
from sssa.kinds.assessment.explanation import Quality, explain_quality
from sssa.kinds.assessment.judge import PackedSignatures, Witnessed, subsets_of
from sssa.kinds.judging import Expected, Judged, reject
from sssa.kinds.registry import kind_of
from sssa.kinds.task_explanation import way_through
from sssa.kinds.workflow.explanation import explain_worth
from sssa.protocol.answer import probe_values
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Packed, Submission, WorkflowSubmission, packed
from sssa.protocol.round import AssessmentTask, GoalTask, RoundTask, WorkflowOutcome
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.traces import read_traces
from sssa.scoring import Standard, Version, answer_emission, answer_facts, measure, score_workflow
from validator.kinds.services import Runner
from validator.miners.client import MinerClient
from validator.outgoing.calls import Call, Reply
from validator.workers.interface import TooCostlyError, Whose, Workers

_SETTLED_EPOCH: Final = 1_000_000  # long after any bootstrap
_PASSED: Final = (Reason.ACCEPTED, Reason.WORKFLOW_DEFERRED)
_CHECKS: Final = {
    "canary": "The marker is not reported as canary_match at the file of canary_spec and its last line.",
    "evidence_resolves": "A finding points to lines that the bundle does not have.",
}


class Score(NamedTuple):
    """Score of an answer that passed."""

    subset: float | None = None
    quality: Quality | None = None
    plan: PlanWorth | None = None
    score: float | None = None
    entry: float | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """Sends trials to one miner and judges what comes.

    Args:
        runners: by the kind's name, what runs plans.
        tracer: runs the skills that the local network wrote, and no others, for gate 7.
    """

    client: MinerClient
    workers: Workers
    runners: Mapping[str, Runner]
    tracer: Tracer
    version: Version

    async def ask(self, target: Target, image: RuntimeImage, trial: Trial) -> Outcome:
        """Send one trial; return what a validator would make of the answer."""
        request, task = trial.request, trial.task
        expected: Expected[Any] = Expected(task, target.hotkey, trial.role, image, self.version.name)
        window = task.windows.of(trial.role)
        whole = request.body, window.deadline, request.limit, request.sha256, request.tail
        reply = await self.client.post(Call(target.hotkey, target.axon, request.path, *whole))
        judged = await self._judged(expected, reply, trial.round_id)
        score = await self._score(trial, judged)
        return Outcome(
            trial=trial.name,
            part=trial.part,
            skill_type=task.skill_type,
            role=trial.role,
            t_min_s=window.t_min,
            deadline_s=window.deadline,
            seconds=reply.seconds,
            status=reply.status,
            reason=judged.reason,
            gates=way_through(judged.reason, kind_of(task).gates(task, trial.role)),
            semantic_subset=score.subset,
            quality=score.quality,
            plan=score.plan,
            score=score.score,
            entry=score.entry,
            faults=tuple(_faults(task, judged, score)),
        )

    async def _judged(self, expected: Expected[RoundTask], reply: Reply, round_id: str) -> Judged:
        """Send what came through the gates of its kind; a plan that passed is run."""
        if reply.reason is not None or reply.body is None or reply.seconds is None:
            return reject(expected, reply.reason or Reason.DEADLINE_TRANSPORT, reply.seconds, reply.detail)
        kind, seconds = kind_of(expected.task), reply.seconds
        with reply.body as body:
            try:
                judged = await self.workers.run(
                    Whose(expected.hotkey, expected.task.task_id),
                    lambda: partial(kind.judge, expected, body.read(), seconds),
                )
            except TooCostlyError as error:
                return reject(expected, Reason.PARSE_TOO_COSTLY, seconds, error.detail)
            if isinstance(judged, Judged):
                return judged
        ran = await self.runners[kind.name].run(round_id, expected, judged, seconds)
        return Judged(packed(ran), ran.reason(expected.task.windows))

    async def _score(self, trial: Trial, judged: Judged) -> Score:
        task, result = trial.task, judged.result
        answer = result.unpacked() if isinstance(result, Packed) else None
        if isinstance(answer, Submission) and isinstance(task, AssessmentTask):
            return self._assessed(task, answer, await self._signatures(trial, judged))
        if isinstance(answer, WorkflowSubmission) and isinstance(task, GoalTask):
            return self._planned(task, answer)
        return Score()

    async def _signatures(self, trial: Trial, judged: Judged) -> Mapping[str, PackedSignatures]:
        """Return traces as gate 7 compares them: the answer's, and two of ours, which are then the majority."""
        if not isinstance(judged, Witnessed) or trial.skill is None:
            return {}
        task, probes = trial.task, probe_values(trial.task.nonce)
        try:
            records = await self.tracer.trace(task.bundle_sha256, trial.skill, task.skill_type, probes)
        except TracingError:
            return {}
        seen = PackedSignatures.of(read_traces(pack_traces(records), task.skill_type, probes))
        return {judged.result.hotkey: judged.signatures, "witness 1": seen, "witness 2": seen}

    def _assessed(self, task: AssessmentTask, answer: Submission, signatures: Mapping[str, PackedSignatures]) -> Score:
        if task.truth is None or task.provenance == "none":
            return Score()
        subset = subsets_of(self.version, signatures).get(answer.hotkey)
        answer = msgspec.structs.replace(answer, semantic_subset=subset)
        standard = Standard(task.truth, task.provenance)
        facts = answer_facts(answer, 1.0, standard, task, _SETTLED_EPOCH)
        emission = answer_emission(self.version, facts)
        quality = explain_quality(self.version, facts, emission)
        return Score(answer.semantic_subset, quality, None, emission.quality, emission.emission)

    def _planned(self, task: GoalTask, ran: WorkflowSubmission) -> Score:
        measured = measure(task.goal, ran.plan, ran.run, ran.quality or 0.0)
        score = score_workflow(self.version, measured)
        parts = explain_worth(self.version, WorkflowOutcome(measured, score)).parts
        worth = PlanWorth(ran.quality, measured.steps_completed, measured.total_steps, parts)
        known = None if ran.quality is None else score.score
        return Score(plan=worth, score=known, entry=known)


def _faults(task: RoundTask, judged: Judged, score: Score) -> Iterator[Fault]:
    """Yield what a validator would compare with the answer; nothing of what only makes it worth less."""
    if judged.reason not in _PASSED:
        yield Fault.of(judged.reason, judged.detail)
        return
    if score.plan is not None and not score.plan.steps_completed:
        yield Fault("nothing_done", None, "No step of the plan succeeded.")
    marked = f" ({task.canary.file})" if isinstance(task, AssessmentTask) and task.canary is not None else ""
    for part in score.quality.epsilon_parts if score.quality is not None else ():
        if part.name in _CHECKS and not part.held:
            yield Fault(part.name, None, _CHECKS[part.name], f"{part.why}{marked}")
