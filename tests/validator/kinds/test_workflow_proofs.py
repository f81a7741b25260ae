"""Proofs of workflow tasks: nobody votes on them, and they say what was measured (SPEC 12, 14)."""

import random

import msgspec
from builders import V1
from explained import HOTKEYS
from group_rounds import group_proof
from planned import CYCLE, GOOD, MINERS, planned
from world import VALIDATOR

from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.document import document_bytes, proof_document, verify_document
from sssa.proofs.records import VoteType
from sssa.protocol.canonical import digest
from sssa.protocol.results import RoundResults, WorkflowSubmission
from sssa.protocol.round import RanMember, RoundInput, RoundOutcome, RoundPlan
from sssa.scoring import plan_round
from validator.store import Store

Round = tuple[RoundInput, RoundPlan, RoundResults, RoundOutcome]


async def settled(store: Store, round_id: int) -> Round:
    async with store.read() as tx:
        stored = await tx.rounds.get(round_id)
        results = await tx.submissions.results(round_id)
    assert stored is not None
    assert stored.input is not None
    assert stored.outcome is not None
    return stored.input, plan_round(V1, stored.input), results, stored.outcome


def proofs_of(round_: Round) -> list[ConsensusProof]:
    found = [group_proof(*round_, task.task_id) for task in round_[0].tasks]
    return [proof for proof in found if proof is not None]


async def test_a_proof_says_what_was_measured_and_everyone_abstains(store: Store) -> None:
    await planned(store)
    round_ = await settled(store, 0)
    workflows = {(s.task_id, s.hotkey): s for s in round_[2].passed if isinstance(s, WorkflowSubmission)}
    scored = {(m.task_id, m.hotkey): m.workflow for m in round_[3].members if isinstance(m, RanMember)}
    for proof in proofs_of(round_):
        assert (proof.final_claim, proof.consensus_reached, proof.claims, proof.dissents) == ("NONE", False, [], [])
        assert {vote.vote for vote in proof.votes} == {VoteType.ABSTAIN}
        votes = {vote.agent: (vote.confidence, vote.weight) for vote in proof.votes}
        assert votes == {HOTKEYS[n]: (0.0, 0.0) if n == CYCLE else (1.0, 0.5) for n in range(MINERS)}
        runs = proof.metadata["runs"]
        assert [run["hotkey"] for run in runs] == sorted(set(HOTKEYS[:MINERS]) - {HOTKEYS[CYCLE]})
        for run in runs:
            key = (proof.metadata["task_id"], run["hotkey"])
            outcome = scored[key]
            assert outcome is not None
            assert (run["plan_sha256"], run["run_sha256"]) == (workflows[key].plan_sha256, digest(workflows[key].run))
            assert run["score"] == msgspec.to_builtins(outcome.score)
            assert run["quality"] == outcome.measured.output_quality
        async with store.read() as tx:
            kept = await tx.proofs.of_task(proof.metadata["task_id"])
        assert kept is not None
        assert verify_document(kept.document, VALIDATOR.hotkey).digest == proof_document(proof)["digest"]
        assert "abstain" in proof.to_markdown()


async def test_a_deferred_quality_leaves_its_numbers_open(store: Store) -> None:
    await planned(store)
    code = next(p for p in proofs_of(await settled(store, 1)) if p.metadata["workflow_type"] == "code")
    mine = next(run for run in code.metadata["runs"] if run["hotkey"] == HOTKEYS[GOOD])
    assert (mine["quality"], mine["measured"], mine["score"]) == (None, None, None)
    assert "workflow_deferred" in next(vote.reasoning for vote in code.votes if vote.agent == HOTKEYS[GOOD])


async def test_any_order_of_members_gives_the_same_proof(store: Store) -> None:
    await planned(store)
    frozen, plan, results, outcome = await settled(store, 0)
    expected = [document_bytes(proof_document(proof)) for proof in proofs_of((frozen, plan, results, outcome))]
    for seed in range(20):
        draw = random.Random(seed)
        other = (
            msgspec.structs.replace(frozen, miners=tuple(draw.sample(frozen.miners, len(frozen.miners)))),
            plan,
            msgspec.structs.replace(
                results,
                passed=tuple(draw.sample(results.passed, len(results.passed))),
                rejections=tuple(draw.sample(results.rejections, len(results.rejections))),
            ),
            msgspec.structs.replace(outcome, members=tuple(draw.sample(outcome.members, len(outcome.members)))),
        )
        assert [document_bytes(proof_document(proof)) for proof in proofs_of(other)] == expected
