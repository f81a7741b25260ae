"""Which kinds of task there are: a row each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from validator.kinds.assessment.kind import ASSESSMENT
from validator.kinds.interface import Kind, ProvenTask
from validator.kinds.judging import Judged, Key
from validator.kinds.workflow.kind import WORKFLOW
from validator.proofs import ConsensusProof, ProofError
from validator.protocol.round import Passed, RoundInput, RoundOutcome, RoundPlan, RoundResults, RoundTask
from validator.protocol.skill_types import SkillType
from validator.protocol.text import printable
from validator.scoring import FindingKeys, Version

KINDS: Mapping[SkillType, Kind[Any, Any]] = MappingProxyType(
    {kind: row for row in (ASSESSMENT, WORKFLOW) for kind in row.types}
)


def kind_of(task: RoundTask) -> Kind[Any, Any]:
    """Return the kind of a task."""
    return KINDS[task.skill_type]


def facts_of(version: Version, frozen: RoundInput, judged: Mapping[Key, Judged]) -> tuple[Passed, ...]:
    """Return everything that passed, completed by its own kind, in the order of `judged`.

    Args:
        version: the round's.
        frozen: its input.
        judged: of its dispatches, those of void tasks left out.
    """
    kinds = {task.task_id: kind_of(task) for task in frozen.tasks}
    found: dict[Key, Passed] = {}
    for row in {kind.name: kind for kind in kinds.values()}.values():
        theirs = {key: one for key, one in judged.items() if kinds[key[0]].name == row.name}
        found |= {(answer.task_id, answer.hotkey): answer for answer in row.facts(version, theirs)}
    return tuple(found[key] for key in judged if key in found)


def group_proof(  # noqa: PLR0913 - a settled round is these four values
    frozen: RoundInput,
    plan: RoundPlan,
    results: RoundResults,
    outcome: RoundOutcome,
    task_id: str,
    *,
    keys: FindingKeys | None = None,
) -> ConsensusProof | None:
    """Return the proof of one task's group; None for a task without a group: void or skipped.

    The same for any order of members and answers.

    Args:
        frozen: the round's input.
        plan: `plan_round(frozen)`.
        results: what came back.
        outcome: `score_round(frozen, plan, results)`.
        task_id: one of the round's tasks.
        keys: what scoring the round filled.

    Raises:
        ProofError: the round has no such task.
    """
    task = next((task for task in frozen.tasks if task.task_id == task_id), None)
    group = next((group for group in outcome.groups if group.task_id == task_id), None)
    if task is None or group is None:
        raise ProofError(f"round {frozen.round_id} has no task {printable(task_id, 64)}")
    return kind_of(task).prove(ProvenTask(frozen, plan, results, outcome, task, group, keys))
