"""A scoring version as one value (its name, numbers and functions), the known ones, and their schedule by epoch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from validator.protocol.arithmetic import total, whole
from validator.protocol.errors import ValidatorError
from validator.protocol.runtime_image import ScheduleError, check_starts, name_at
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.text import printable
from validator.scoring.constants import Rules
from validator.scoring.v1_0 import (
    claims,
    collusion,
    consensus,
    emission,
    events,
    execution,
    groups,
    keys,
    late_quality,
    output_quality,
    planning,
    quality,
    reputation,
    round,  # noqa: A004 - the field's term
    run_checks,
    samples,
    semantics,
    step,
    task,
    weights,
    workflow,
    workflow_runs,
)
from validator.scoring.v1_0.rules import RULES as RULES_1_0
from validator.scoring.v1_1 import execution as execution_1_1
from validator.scoring.v1_1 import weights as weights_1_1
from validator.scoring.v1_1 import workflow as workflow_1_1
from validator.scoring.v1_1.rules import RULES as RULES_1_1
from validator.scoring.v2_0 import groups as groups_2_0
from validator.scoring.v2_0 import inputs as inputs_2_0
from validator.scoring.v2_0 import pay as weights_2_0
from validator.scoring.v2_0 import tallies as tallies_2_0
from validator.scoring.v2_0 import tally_round as round_2_0
from validator.scoring.v2_0.rules import RULES as RULES_2_0
from validator.scoring.v2_0.rules import Rules20
from validator.scoring.values import NO_BASIS, PayBasis, Share, WeightPlan

_BOTH: Final = (Share(tuple(map(str, ASSESSED_TYPES))), Share((str(SkillType.WORKFLOW),)))


@dataclass(frozen=True, slots=True)
class Version:
    """Everything that a scoring version is, with the functions of 1.0.0 (SPEC 3 to 12).

    Anyone who holds a stored round asks `version(round.scoring_version)` and nothing else. The functions are those of
    the modules of `v1_0`, where they are described; most take the version itself as their first argument, so that no
    number is ever anybody else's. A later version is a value with other `rules`; where a function differs, it is that
    of a subclass. Those that `v1_0.parts` names are called through the version by the functions that stay; where
    another one differs, so does what calls it.
    """

    name: str
    rules: Rules

    # Groups (SPEC 8)
    plan = planning.plan_round
    plan_tasks = planning.plan_tasks
    select_group = groups.select_group
    exclusion_reason = groups.exclusion_reason
    rank_candidates = groups.rank_candidates
    draw_auditors = staticmethod(groups.draw_auditors)
    auditor_streak = staticmethod(groups.auditor_streak)

    # Rounds (SPEC 4 to 10)
    score = round.score_round
    score_group = round.score_group
    round_outcome = round.round_outcome
    collusion_round = samples.collusion_round
    member_event = events.member_event
    complete = planning.complete
    window_entries = staticmethod(round.window_entries)
    struck_entries = staticmethod(round.struck_entries)

    # State (SPEC 8 to 12)
    measured_runs = step.measured_runs
    step = step.step

    # Findings and consensus (SPEC 3, 4)
    finding_key = staticmethod(keys.finding_key)
    key_parts = staticmethod(keys.key_parts)
    claims_of = staticmethod(claims.claims_of)
    majority_threshold = staticmethod(claims.majority_threshold)
    compare_answers = task.compare_answers
    score_members = consensus.score_members
    consensus_parts = consensus.consensus_parts

    # Quality and emission (SPEC 5 to 7)
    semantic_subsets = semantics.semantic_subsets
    answer_facts = staticmethod(task.answer_facts)
    axis_sets = staticmethod(quality.axis_sets)
    evidence_parts = quality.evidence_parts
    axes = quality.axes
    emission_of = emission.emission_of
    emission = emission.emission

    # Standing (SPEC 9, 10)
    auditors_are_witnesses = collusion.auditors_are_witnesses
    add_sample = collusion.add_sample
    window_means = staticmethod(collusion.window_means)
    task_sample = samples.task_sample
    apply_event = reputation.apply_event
    event_of_failure = reputation.event_of_failure

    # Execution (SPEC 15)
    compare_execution = execution.compare_execution
    executed_tasks = staticmethod(execution.executed_tasks)

    pays_tallies = False

    # Weights (SPEC 11): whether a miner's standing decides what its windows pay (SPEC 16, D-23)
    pays_by_standing = False
    unpaid_reason = weights.unpaid_reason
    warm_up = weights.warm_up
    type_score = weights.type_score
    miner_score = weights.miner_score
    score_weights = weights.score_weights
    mechanism_weights = weights.mechanism_weights
    kind_weights = weights.kind_weights
    share_of = weights.share_of
    entries_of = weights.entries_of
    pay_basis = weights.pay_basis

    # Workflows (SPEC 12)
    tao = staticmethod(workflow_runs.tao)
    total_tao = staticmethod(workflow_runs.total_tao)
    totals_fault = staticmethod(workflow_runs.totals_fault)
    ceiling_of = workflow_runs.ceiling_of
    measure = staticmethod(workflow_runs.measure)
    result_of = staticmethod(workflow_runs.result_of)
    submission_fault = run_checks.submission_fault
    rests_on_reference = staticmethod(run_checks.rests_on_reference)
    score_workflow = workflow.score_workflow
    worth_parts = workflow.worth_parts
    penalties = workflow.penalties
    read_quality = staticmethod(output_quality.read_quality)
    code_quality = output_quality.code_quality
    deferred_runs = staticmethod(late_quality.deferred_runs)
    fill_run = late_quality.fill_run
    filled_entries = staticmethod(late_quality.filled_entries)
    words_shared = staticmethod(output_quality.words_shared)
    criteria_met = staticmethod(output_quality.criteria_met)
    keys_met = staticmethod(output_quality.keys_met)
    text_of = staticmethod(output_quality.text_of)
    code_of = staticmethod(output_quality.code_of)


class Version11(Version):
    """1.1.0: paid is who could be drawn, by shares of the version's own; nothing for nothing (SPEC 16)."""

    __slots__ = ()

    plan_tasks = execution_1_1.plan_tasks
    struck_entries = staticmethod(execution_1_1.struck_entries)
    pays_by_standing = True
    unpaid_reason = weights_1_1.unpaid_reason
    mechanism_weights = weights_1_1.mechanism_weights
    kind_weights = weights_1_1.kind_weights
    share_of = weights_1_1.share_of
    tao = staticmethod(whole)
    total_tao = staticmethod(total)
    totals_fault = staticmethod(workflow_1_1.totals_fault)
    ceiling_of = workflow_1_1.ceiling_of
    measure = staticmethod(workflow_1_1.measure)
    score_workflow = workflow_1_1.score_workflow
    worth_parts = workflow_1_1.worth_parts

    def score_weights(
        self, windows: weights_2_0.Windows, standing: weights.Standing = weights.NOBODY, basis: PayBasis = NO_BASIS
    ) -> WeightPlan:
        """Return the vector of a mechanism that pays assessments and workflows (D-24)."""
        return self.mechanism_weights(windows, _BOTH, standing, basis)


class Version20(Version11):
    """2.0.0: turns instead of ranks, tallies against truth and the others (SPEC 17)."""

    __slots__ = ()

    rules: Rules20
    pays_tallies = True

    complete = inputs_2_0.complete
    plan_tasks = inputs_2_0.plan_tasks
    score_group = round_2_0.score_group
    collusion_round = staticmethod(round_2_0.collusion_round)
    member_event = round_2_0.member_event
    step = round_2_0.step

    next_turns = staticmethod(groups_2_0.next_turns)
    rank_candidates = groups_2_0.rank_candidates
    select_group = groups_2_0.select_group  # type: ignore[assignment]  # its candidates have turns
    tally_task = tallies_2_0.tally_task
    pay_tallies = weights_2_0.pay_tallies
    mechanism_weights = weights_2_0.mechanism_weights
    paid_scores = weights_2_0.paid_scores
    entries_of = weights_2_0.entries_of
    pay_basis = weights_2_0.pay_basis


CURRENT: Final = "1.1.0"
"""The version of new rounds, unless a schedule says another."""

VERSIONS: Mapping[str, Version] = MappingProxyType(
    {
        one.name: one
        for one in (Version("1.0.0", RULES_1_0), Version11("1.1.0", RULES_1_1), Version20("2.0.0", RULES_2_0))
    }
)


class UnknownScoringVersionError(ValidatorError):
    """No code here scores this version."""


def version(name: str) -> Version:
    """Return the version with this name (UnknownScoringVersionError: naming the version and those that are known)."""
    found = VERSIONS.get(name)
    if found is None:
        raise UnknownScoringVersionError(f"`{printable(name, 40)}`; this program scores {', '.join(VERSIONS)}")
    return found


@dataclass(frozen=True, slots=True)
class Schedule:
    """Versions with the epochs from which on they score new rounds.

    Attributes:
        starts: version to first epoch, in order: the first from epoch 0 on, each later than the one before.

    Raises:
        ScheduleError: naming the setting, what is wrong with it and what to write.
    """

    starts: Mapping[str, int] = field(default_factory=lambda: {CURRENT: 0})

    def __post_init__(self) -> None:
        for name in self.starts:
            try:
                version(name)
            except UnknownScoringVersionError as error:
                raise ScheduleError(f"scoring.schedule: {error}") from None
        check_starts("scoring.schedule", self.starts)

    def version_at(self, epoch: int) -> str:
        """Return the version that a round of this epoch is frozen under."""
        return name_at(self.starts, epoch)


DEFAULT: Final = Schedule()
"""The version of new rounds where no schedule says another, from the start."""
