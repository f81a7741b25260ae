import asyncio
from typing import get_args

import pytest
from builders import V1, signatures
from miner_kit import Asked, bench, job
from test_honest_miners import BUNDLES, analysis_of, submission

from localnet.behaviours import behaviour_of
from localnet.planner.skills import HABITS
from localnet.roster import Kind, Resident, demo_roster
from localnet.shared_answers import Cohort
from miner.behaviours import (
    Behaviour,
    Replayed,
    answer_carelessly,
    answer_nothing,
    answer_thoroughly,
    careless,
    send_garbage,
    send_too_much,
    sign_with_another_key,
)
from sssa.protocol.answer import Role
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Sssa, check_sssa
from sssa.scoring import Member, claims_of, score_members

pytestmark = pytest.mark.attack

PYTHON = BUNDLES["python-backup-sync"]
CITY = BUNDLES["rag-city-guide"]
NOTES = BUNDLES["mcp-notes"]


async def ask(behaviour: Behaviour, bundle_name: str, role: Role = "primary", name: str = "Miner") -> Asked:
    bundle = BUNDLES[bundle_name]
    async with bench(behaviour, name) as miner:
        return await miner.ask(job(bundle.files, bundle.skill_type, canary=bundle.canary, truth=bundle.truth), role)


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (send_garbage, Reason.PARSE_SCHEMA),
        (send_too_much, Reason.PARSE_TOO_LARGE),
        (sign_with_another_key, Reason.VALIDITY_SIGNATURE),
        (Replayed(), Reason.VALIDITY_BUNDLE),
    ],
)
async def test_broken_answers_fail_with_their_reason(behaviour: Behaviour, reason: Reason, role: Role) -> None:
    for bundle_name in ("python-backup-sync", "rag-city-guide"):
        fresh = Replayed() if isinstance(behaviour, Replayed) else behaviour
        asked = await ask(fresh, bundle_name, role)
        assert asked.judged.reason == reason


async def test_garbage_is_the_same_for_the_same_task() -> None:
    assert (await ask(send_garbage, NOTES.name)).body == (await ask(send_garbage, NOTES.name)).body


async def test_a_wrong_signature_names_the_miner_s_own_hotkey() -> None:
    asked = await ask(sign_with_another_key, CITY.name)
    assert asked.answer.sssa.signature.hotkey == Signer.from_uri("//Miner").hotkey


async def test_a_replayed_answer_is_one_that_was_made_for_an_earlier_round() -> None:
    async with bench(Replayed()) as miner:
        first = await miner.ask(job(CITY.files, CITY.skill_type, round_id="1", nonce="11" * 32))
        same_round = await miner.ask(job(PYTHON.files, PYTHON.skill_type, round_id="1", nonce="12" * 32))
        other_type = await miner.ask(job(NOTES.files, NOTES.skill_type, round_id="2", nonce="21" * 32))
        again = await miner.ask(job(CITY.files, CITY.skill_type, round_id="3", nonce="31" * 32))
    assert [asked.judged.reason for asked in (first, same_round, other_type, again)] == [
        Reason.VALIDITY_BUNDLE,
        Reason.VALIDITY_BUNDLE,
        Reason.VALIDITY_SKILL_TYPE,
        Reason.VALIDITY_NONCE,
    ]
    assert again.answer.sssa.skill.nonce == "11" * 32


async def test_a_lazy_answer_passes_the_gates_and_says_nothing() -> None:
    asked = await ask(answer_nothing, PYTHON.name)
    assert asked.judged.reason == Reason.ACCEPTED
    said = asked.answer.sssa.analysis
    assert (said.verdict, said.risk_score, said.findings, said.dependencies) == ("ALLOW", 0.0, (), ())
    thorough = await ask(answer_thoroughly, PYTHON.name)
    assert signatures(asked.judged) != signatures(thorough.judged)  # of the bundle it ran nothing


async def test_a_sloppy_answer_passes_the_gates_and_is_the_same_again() -> None:
    first, again = [await ask(answer_carelessly, "agents-research-crew", "auditor") for _ in range(2)]
    assert first.judged.reason == Reason.ACCEPTED
    assert first.answer.sssa.analysis == again.answer.sssa.analysis
    assert first.answer.sssa.policy.rules == ()


def test_carelessness_is_about_as_large_as_meant() -> None:
    analyses = {name: analysis_of(bundle) for name, bundle in BUNDLES.items()}
    results = [
        (analysis, careless(analysis, BUNDLES[name].files, "5Miner", f"{name}-{number}"))
        for name, analysis in analyses.items()
        for number in range(30)
    ]
    alarms = [[finding for finding in result.findings if finding.id == "x1"] for _, result in results]
    assert 0.4 < sum(map(len, alarms)) / len(results) < 0.6
    total = sum(len(analysis.findings) for analysis, _ in results)
    kept = sum(len(result.findings) for _, result in results) - sum(map(len, alarms))
    exact = sum(len(set(result.findings) & set(analysis.findings)) for analysis, result in results)
    assert 0.28 < kept / total < 0.39
    assert 0.65 < exact / kept < 0.85
    assert all(0 <= result.risk_score <= 1 for _, result in results)
    assert all(result.rules == () for _, result in results)
    dependencies = [(len(result.dependencies), len(analysis.dependencies)) for analysis, result in results]
    assert 0.2 < sum(kept for kept, _ in dependencies) / sum(total for _, total in dependencies) < 0.5
    verdicts = [result.verdict != analysis.verdict for analysis, result in results if analysis.verdict != "REVIEW"]
    assert 0.4 < sum(verdicts) / len(verdicts) < 0.6


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize("name", BUNDLES)
async def test_cohort_members_say_the_same_and_pass_the_gates(name: str, role: Role) -> None:
    members = await asyncio.gather(*(ask(Cohort("shared"), name, role, f"Member{n}") for n in range(3)))
    assert {asked.judged.reason for asked in members} == {Reason.ACCEPTED}
    assert len({str(asked.answer.sssa.analysis) + str(asked.answer.sssa.policy) for asked in members}) == 1
    assert len({asked.answer.sssa.signature.value for asked in members}) == 3
    for asked in members:
        check_sssa(asked.answer.sssa)
        assert submission(asked.judged).checks.evidence_resolves


def agreement(one: Sssa, other: Sssa) -> float:
    """Return the first's agreement with the second as its only auditor."""
    pair = [Member("one", "primary", claims_of(one)), Member("other", "auditor", claims_of(other))]
    found = score_members(V1, pair)[1][0].with_auditors
    assert found is not None
    return found


async def test_what_the_cohort_makes_up_disagrees_with_who_looked() -> None:
    agreements = []
    for bundle in BUNDLES.values():
        members = [await ask(Cohort("shared"), bundle.name, "auditor", f"Member{n}") for n in range(2)]
        honest = (await ask(answer_thoroughly, bundle.name, "auditor")).answer.sssa
        made_up = [asked.answer.sssa for asked in members]
        assert agreement(made_up[0], made_up[1]) == pytest.approx(1)
        agreements.append(agreement(made_up[0], honest))
    assert sum(agreements) / len(agreements) < 0.55


async def test_the_cohort_is_thorough_before_it_turns() -> None:
    cohort = Cohort("shared", turns=4)
    honest = (await ask(answer_thoroughly, CITY.name, "auditor")).answer.sssa.analysis
    async with bench(cohort) as miner:
        for round_id, thorough in (("0", True), ("3", True), ("4", False), ("40", False), ("x", False)):
            asked = job(CITY.files, CITY.skill_type, round_id=round_id, canary=CITY.canary)
            assert ((await miner.ask(asked, "auditor")).answer.sssa.analysis == honest) is thorough


async def test_cohorts_with_other_secrets_or_tasks_say_something_else() -> None:
    one, other = [(await ask(Cohort(secret), PYTHON.name, "auditor")).answer.sssa.analysis for secret in "ab"]
    assert one != other


def test_every_kind_of_resident_has_a_behaviour() -> None:
    assert {resident.kind for resident in demo_roster()} <= {*get_args(Kind), *HABITS}
    assert all(callable(behaviour_of(Resident("one", kind), "seed")) for kind in get_args(Kind))


def test_a_bundle_of_nothing_can_be_made_up_about_too() -> None:
    async def go() -> None:
        async with bench(behaviour_of(Resident("c", "cohort"), "seed")) as miner:
            asked = await miner.ask(job({"empty.txt": b"", "odd#name.txt": b"x"}, SkillType.RAG_KNOWLEDGE))
            assert asked.judged.reason == Reason.ACCEPTED
            assert asked.answer.sssa.analysis.findings == ()

    asyncio.run(go())
