"""Settled rounds of one task, with real signed SSSAs, as proofs need them."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from builders import NOTHING_LATE, V1, make_sssa, make_task

from sssa.kinds.interface import ProvenTask
from sssa.kinds.registry import kind_of
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Checks, Rejection, RoundResults, Submission
from sssa.protocol.round import (
    AssessmentTask,
    GroupPlan,
    MetagraphSnapshot,
    MinerState,
    Neuron,
    RoundInput,
    RoundOutcome,
    RoundPlan,
)
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Sssa
from sssa.scoring import FindingKeys, ScoredTask, score_round

MCP = SkillType.MCP_SERVER
VALIDATOR = Signer.from_uri("//Validator", "ed25519")
NAMES = ("P1", "P2", "P3", "A1", "A2")
EXAMPLE = Path(__file__).parents[1] / "golden" / "worked-example.json"


class Settled(NamedTuple):
    """A settled round."""

    frozen: RoundInput
    plan: RoundPlan
    results: RoundResults
    outcome: RoundOutcome


@cache
def signer(name: str) -> Signer:
    """A miner's key; ed25519 signatures are the same every time."""
    return Signer.from_uri(f"//{name}", "ed25519")


def signed(task: AssessmentTask, name: str, analysis: Any, rules: Sequence[Any] = ()) -> Sssa:
    """The SSSA of `name`, its hotkey's signature over it, from plain data."""
    plain = msgspec.to_builtins(make_sssa(task)) | {"policy": {"rules": rules}, "analysis": analysis}
    return signer(name).sign_document(msgspec.convert(plain, Sssa))


def settled(  # noqa: PLR0913, PLR0917 - a round, and what tests vary of it
    task: AssessmentTask,
    sssas: Mapping[str, Sssa],
    failures: Mapping[str, Reason] | None = None,
    reputations: Mapping[str, float] | None = None,
    names: Sequence[str] = NAMES,
    keys: FindingKeys | None = None,
) -> Settled:
    """The settled round of one task: the first three of `names` are primaries; who neither answers nor fails is out."""
    hotkeys = {name: signer(name).hotkey for name in names}
    roles: dict[str, Any] = {name: "primary" if i < 3 else "auditor" for i, name in enumerate(names)}
    answers = tuple(
        Submission(
            task.task_id,
            hotkeys[name],
            roles[name],
            2.0,
            sssas[name],
            sha256_hex(canonical_bytes(sssas[name])),
            Checks(True, None, None, True, None),
        )
        for name in names
        if name in sssas
    )
    rejections = tuple(
        Rejection(task.task_id, hotkeys[name], roles[name], reason, 3.0) for name, reason in (failures or {}).items()
    )
    states = tuple(
        MinerState(
            hotkeys[name], (task.skill_type,), 2,
            {task.skill_type: (reputations or {}).get(name, 0.5)}, 0, {}, {},
        )
        for name in names
    )  # fmt: skip
    neurons = tuple(Neuron(hotkey, uid, 1.0, False, None) for uid, hotkey in enumerate(hotkeys.values()))
    frozen = RoundInput(
        input_version="1",
        scoring_version="1.0.0",
        round_id="5",
        validator_hotkey=VALIDATOR.hotkey,
        snapshot=MetagraphSnapshot(1, 100, "ab" * 32, 1_767_225_600, 40, 20, None, neurons),
        seed="cd" * 32,
        salt_commitment="ef" * 32,
        miners=states,
        tasks=(task,),
        **NOTHING_LATE,
    )
    members = [(hotkeys[name], roles[name]) for name in names if name in sssas or name in (failures or {})]
    group = GroupPlan(
        task.task_id,
        "full",
        tuple(hotkey for hotkey, role in members if role == "primary"),
        tuple(hotkey for hotkey, role in members if role == "auditor"),
        (),
        (),
        {},
    )
    plan = RoundPlan("5", (group,))
    results = RoundResults(answers, rejections)
    return Settled(frozen, plan, results, score_round(V1, frozen, plan, results, keys))


def group_proof(  # noqa: PLR0913, PLR0917 - a settled round is these four values
    frozen: RoundInput,
    plan: RoundPlan,
    results: RoundResults,
    outcome: RoundOutcome,
    task_id: str,
    keys: FindingKeys | None = None,
) -> ConsensusProof | None:
    """The proof of one task of a settled round."""
    task = next(task for task in frozen.tasks if task.task_id == task_id)
    group = next(group for group in outcome.groups if group.task_id == task_id)
    scored = ScoredTask(group, tuple(member for member in outcome.members if member.task_id == task_id))
    return kind_of(task).prove(ProvenTask(frozen, task, results.answers(task_id, task.answer), scored, keys))


@cache
def worked_example() -> Settled:
    """The source document's group: an MCP server, five miners, three findings, a majority of three."""
    task = make_task(MCP)
    miners = json.loads(EXAMPLE.read_text())
    sssas = {name: signed(task, name, miners[name]["analysis"], miners[name]["rules"]) for name in NAMES}
    return settled(task, sssas, reputations={"P1": 0.9, "P2": 0.8, "P3": 0.7})


def shuffled(round_: Settled, order: Sequence[int]) -> Settled:
    """The same round with members and answers in another order."""
    frozen, plan, results, outcome = round_
    group = plan.groups[0]
    return Settled(
        msgspec.structs.replace(frozen, miners=_permuted(frozen.miners, order)),
        msgspec.structs.replace(
            plan,
            groups=(
                msgspec.structs.replace(
                    group, primaries=_permuted(group.primaries, order), auditors=_permuted(group.auditors, order)
                ),
            ),
        ),
        msgspec.structs.replace(
            results,
            passed=_permuted(results.passed, order),
            rejections=_permuted(results.rejections, order),
        ),
        msgspec.structs.replace(outcome, members=_permuted(outcome.members, order)),
    )


def _permuted(values: tuple[Any, ...], order: Sequence[int]) -> tuple[Any, ...]:
    return tuple(values[i] for i in order if i < len(values))
