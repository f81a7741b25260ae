import asyncio
from typing import get_args

import pytest
from builders import signatures
from miner_kit import RUNTIME, bench, job

from miner.analysis import Analysis
from miner.analysis_pool import analyse_bundle
from miner.behaviours import LATENESS, answer_late, answer_thoroughly, answer_with_gaps, with_gaps
from miner.bundles.written import WrittenBundle, written_bundles
from sssa.kinds.judging import Judged
from sssa.protocol.answer import Role
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Packed, Submission
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.sources import SystemClock

BUNDLES = {bundle.name: bundle for bundle in written_bundles()}
BUSIEST = BUNDLES["agents-research-crew"]


def analysis_of(bundle: WrittenBundle) -> Analysis:
    return analyse_bundle(bundle.files, bundle.skill_type, None)


def submission(judged: Judged) -> Submission:
    assert isinstance(judged.result, Packed), judged
    answer = judged.result.unpacked()
    assert isinstance(answer, Submission)
    return answer


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize("name", BUNDLES)
async def test_a_thorough_answer_passes_every_gate_with_every_check(name: str, role: Role) -> None:
    bundle = BUNDLES[name]
    async with bench(answer_thoroughly) as miner:
        asked = await miner.ask(job(bundle.files, bundle.skill_type, canary=bundle.canary, truth=bundle.truth), role)
    result = submission(asked.judged)
    assert asked.judged.reason == Reason.ACCEPTED
    runtime_primary = role == "primary" and bundle.skill_type in RUNTIME
    assert result.checks.evidence_resolves
    assert result.checks.canary is (True if bundle.canary else None)
    assert (asked.answer.trace_bundle is not None) is runtime_primary
    assert (asked.answer.sssa.evidence.sandbox_manifest is not None) is runtime_primary
    if runtime_primary and bundle.truth.shell_commands:
        assert result.shell_commands == tuple(sorted(set(bundle.truth.shell_commands)))
    if bundle.skill_type is SkillType.MCP_SERVER:
        assert asked.answer.sssa.evidence.manifest_sha256 == bundle.truth.manifest_sha256


async def test_two_primaries_trace_their_own_runs_and_agree() -> None:
    bundle = BUNDLES["python-backup-sync"]
    asked = job(bundle.files, bundle.skill_type)
    async with bench(answer_thoroughly, "One") as one, bench(answer_thoroughly, "Two") as two:
        first, second = await asyncio.gather(one.ask(asked), two.ask(asked))
    assert first.answer.trace_bundle != second.answer.trace_bundle
    assert signatures(first.judged) == signatures(second.judged)
    assert first.answer.sssa.analysis == second.answer.sssa.analysis


async def test_a_foreign_bundle_is_analysed_and_not_run() -> None:
    bundle = BUNDLES["python-backup-sync"]
    asked = job(bundle.files, bundle.skill_type)
    probes_only = job({"README.md": b"x\n"}, bundle.skill_type)
    async with bench(answer_thoroughly, may_run=lambda _: False) as miner:
        foreign, nothing = await miner.ask(asked), await miner.ask(probes_only)
    assert foreign.judged.reason == Reason.ACCEPTED
    assert signatures(foreign.judged) == signatures(nothing.judged)  # the probes and nothing else
    assert foreign.answer.sssa.analysis.findings == analysis_of(bundle).findings


async def test_a_partial_answer_has_gaps_where_it_always_has_them() -> None:
    asked = job(BUSIEST.files, BUSIEST.skill_type)
    whole = analysis_of(BUSIEST)
    async with bench(answer_with_gaps, "Gaps") as miner:
        first, again = [(await miner.ask(asked, "auditor")).answer.sssa for _ in range(2)]
    assert first.analysis == again.analysis
    assert set(first.analysis.findings) <= set(whole.findings)
    assert first.analysis.verdict == whole.verdict
    assert first.policy.rules == whole.rules


def test_gaps_are_about_a_quarter_differ_between_miners_and_spare_canaries() -> None:
    analyses = [analysis_of(bundle) for bundle in BUNDLES.values()]
    total = sum(len(analysis.findings) for analysis in analyses)
    hotkeys = [Signer.from_uri(f"//Partial{number}").hotkey for number in range(20)]
    kept = [[with_gaps(analysis, hotkey).findings for analysis in analyses] for hotkey in hotkeys]
    share = sum(len(findings) for own in kept for findings in own) / (total * len(hotkeys))
    assert 0.65 < share < 0.85
    assert len({str(own) for own in kept}) == len(hotkeys)
    canary = BUNDLES["rag-vendor-faq"]
    marked = {path: content + b"CANARY-0123456789abcdef\n" for path, content in canary.files.items()}
    found = analyse_bundle(marked, canary.skill_type, "CANARY-0123456789abcdef")
    for hotkey in hotkeys:
        assert "canary_match" in {finding.category for finding in with_gaps(found, hotkey).findings}


async def test_a_slow_miner_waits_until_most_of_its_own_window_has_passed() -> None:
    class Impatient(SystemClock):
        def __init__(self) -> None:
            self.slept: list[float] = []

        async def sleep(self, seconds: float) -> None:
            self.slept.append(seconds)

    clock = Impatient()
    async with bench(answer_late, clock=clock) as miner:
        asked = await miner.ask(job(BUSIEST.files, BUSIEST.skill_type), "auditor")
    assert asked.judged.reason == Reason.ACCEPTED
    assert asked.reply.seconds is not None
    assert 0 < LATENESS * 60 - asked.reply.seconds <= clock.slept[0] < LATENESS * 60
