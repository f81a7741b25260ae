"""Scores, as values: a round is scored by its own version, permanently. `version(name)` is the only door.

Pure: touches no clock, randomness, I/O or settings. Called by kinds, rounds, store, weights, audit and the laboratory.
"""

from sssa.scoring.eligibility import standing_of, windows_of
from sssa.scoring.scoring_types import (
    Addend,
    AnswerFacts,
    AnyCandidate,
    Candidate,
    Claims,
    ComparedAnswer,
    Comparison,
    ExecutionRun,
    Fault,
    LastTurn,
    Member,
    MemberConsensus,
    MinerStanding,
    PayBasis,
    Penalty,
    PlannedTask,
    ScoredTask,
    Standard,
    TallyPay,
    TracedAnswer,
    TurnCandidate,
    TypeStanding,
    WeightPlan,
)
from sssa.scoring.v1.claims import claims_of, majority_threshold
from sssa.scoring.v1.collusion import add_sample, auditors_are_witnesses, pair_of, task_samples, window_means
from sssa.scoring.v1.consensus import consensus_parts, score_members
from sssa.scoring.v1.emission import answer_emission, emission_of
from sssa.scoring.v1.execution import compare_execution, executed_tasks
from sssa.scoring.v1.groups import auditor_streak, exclusion_reason, rank_candidates
from sssa.scoring.v1.keys import FindingKeys, finding_key, key_parts
from sssa.scoring.v1.output_quality import (
    code_of,
    code_quality,
    criteria_met,
    keys_met,
    read_quality,
    text_of,
    words_shared,
)
from sssa.scoring.v1.planning import plan_round, struck_entries
from sssa.scoring.v1.quality import axis_sets, evidence_parts, quality_axes
from sssa.scoring.v1.reputation import apply_event, event_of_failure
from sssa.scoring.v1.round import round_outcome, score_round, window_entries
from sssa.scoring.v1.rules import ExecutionRules, Rules
from sssa.scoring.v1.run_checks import rests_on_reference, submission_fault
from sssa.scoring.v1.semantics import semantic_subsets
from sssa.scoring.v1.step import measured_runs
from sssa.scoring.v1.task import answer_facts, compare_answers
from sssa.scoring.v1.weights import kind_weights, miner_score, share_of, type_score, unpaid_reason, warm_up
from sssa.scoring.v1.workflow import (
    ceiling_of,
    deferred_runs,
    fill_run,
    filled_entries,
    measure,
    penalties,
    result_of,
    score_workflow,
    totals_fault,
    worth_parts,
)
from sssa.scoring.v2.groups import next_turns
from sssa.scoring.v2.pay import paid_scores
from sssa.scoring.v2.tallies import TalliedAnswer, tally_task
from sssa.scoring.versions import (
    CURRENT,
    DEFAULT,
    VERSIONS,
    Schedule,
    UnknownScoringVersionError,
    Version,
    Version20,
    version,
)

__all__ = [
    "CURRENT",
    "DEFAULT",
    "VERSIONS",
    "Addend",
    "AnswerFacts",
    "AnyCandidate",
    "Candidate",
    "Claims",
    "ComparedAnswer",
    "Comparison",
    "ExecutionRules",
    "ExecutionRun",
    "Fault",
    "FindingKeys",
    "LastTurn",
    "Member",
    "MemberConsensus",
    "MinerStanding",
    "PayBasis",
    "Penalty",
    "PlannedTask",
    "Rules",
    "Schedule",
    "ScoredTask",
    "Standard",
    "TalliedAnswer",
    "TallyPay",
    "TracedAnswer",
    "TurnCandidate",
    "TypeStanding",
    "UnknownScoringVersionError",
    "Version",
    "Version20",
    "WeightPlan",
    "add_sample",
    "answer_emission",
    "answer_facts",
    "apply_event",
    "auditor_streak",
    "auditors_are_witnesses",
    "axis_sets",
    "ceiling_of",
    "claims_of",
    "code_of",
    "code_quality",
    "compare_answers",
    "compare_execution",
    "consensus_parts",
    "criteria_met",
    "deferred_runs",
    "emission_of",
    "event_of_failure",
    "evidence_parts",
    "exclusion_reason",
    "executed_tasks",
    "fill_run",
    "filled_entries",
    "finding_key",
    "key_parts",
    "keys_met",
    "kind_weights",
    "majority_threshold",
    "measure",
    "measured_runs",
    "miner_score",
    "next_turns",
    "paid_scores",
    "pair_of",
    "penalties",
    "plan_round",
    "quality_axes",
    "rank_candidates",
    "read_quality",
    "rests_on_reference",
    "result_of",
    "round_outcome",
    "score_members",
    "score_round",
    "score_workflow",
    "semantic_subsets",
    "share_of",
    "standing_of",
    "struck_entries",
    "submission_fault",
    "tally_task",
    "task_samples",
    "text_of",
    "totals_fault",
    "type_score",
    "unpaid_reason",
    "version",
    "warm_up",
    "window_entries",
    "window_means",
    "windows_of",
    "words_shared",
    "worth_parts",
]
