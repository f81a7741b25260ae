"""Every broken miner is told its fault in one line; a right one none, and what its answers are worth."""

import asyncio
import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from check_kit import AT_ONCE, check, check_at
from miner_kit import VALIDATOR, bench
from tracer.records import Records

from miner.analysis import Analysis
from miner.assessment import Assessment, Response, encode
from miner.behaviours import (
    Behaviour,
    Replayed,
    answer_nothing,
    answer_thoroughly,
    paced,
    send_garbage,
    send_too_much,
    sign_with_another_key,
)
from miner.check.report import Section, fault_lines
from miner.check.trials import Pace
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType

PYTHON = SkillType.EXECUTABLE_PYTHON


class Never:
    async def __call__(self, assessment: Assessment) -> Response:
        await asyncio.Event().wait()
        return b""


@dataclasses.dataclass
class Changed:
    """Thorough, and then something is changed: of the analysis, of the traces, of the answer as plain JSON."""

    analysis: Callable[[Analysis], Analysis] = lambda one: one
    traces: Callable[[Records], Records] | None = None
    answer: Callable[[Any], Any] = lambda one: one
    signed: bool = False

    async def __call__(self, assessment: Assessment) -> Response:
        analysis = self.analysis(await assessment.analysis())
        claims = self.traces(await assessment.traces(run=False)) if self.traces and assessment.runtime_primary else None
        answer = await assessment.answer(analysis, run=False, claims=claims)
        return msgspec.json.encode(self.answer(json.loads(encode(answer))))


class AuditorOnly:
    """Answers a primary's dispatch as an auditor would."""

    async def __call__(self, assessment: Assessment) -> Response:
        dispatch = msgspec.structs.replace(assessment.dispatch, role="auditor")
        other = dataclasses.replace(assessment, dispatch=dispatch)
        return encode(await other.answer(await other.analysis()))


class OtherKey:
    """Signs rightly, with a hotkey that is not the miner's."""

    async def __call__(self, assessment: Assessment) -> Response:
        kit = dataclasses.replace(assessment.kit, signer=Signer.from_uri("//Other"))
        other = dataclasses.replace(assessment, kit=kit)
        return encode(await other.answer(await other.analysis()))


def wrong_canary(analysis: Analysis) -> Analysis:
    moved = [
        msgspec.structs.replace(one, evidence_ref=one.evidence_ref.partition("#")[0] + "#L1")
        if one.category == "canary_match"
        else one
        for one in analysis.findings
    ]
    return dataclasses.replace(analysis, findings=tuple(moved))


def nowhere(analysis: Analysis) -> Analysis:
    found = [msgspec.structs.replace(one, evidence_ref="nowhere.md#L1") for one in analysis.findings]
    kept = [one for one in analysis.findings if one.category == "canary_match"]
    return dataclasses.replace(analysis, findings=(*kept, *found[:1]))


def at(path: str, value: object) -> Callable[[Any], Any]:
    """Set a field of the answer after it was signed."""

    def change(answer: Any) -> Any:
        *way, last = path.split(".")
        inside = answer
        for name in way:
            inside = inside[name]
        inside[last] = value
        return answer

    return change


def less(records: Records) -> Records:
    return records | {"network": []}


# What is wrong; what the one line says: the code, what was seen or meant.
BROKEN: dict[str, tuple[Behaviour, tuple[str, ...]]] = {
    "garbage": (send_garbage, ("parse_schema, gate 2 (parse)", "JSON is malformed")),
    "oversized": (send_too_much, ("parse_too_large", "more than 4194304 bytes")),
    "wrong_signature": (sign_with_another_key, ("validity_signature, gate 3 (validity)",)),
    "replayed": (Replayed(), ("validity_bundle",)),
    "other_key": (OtherKey(), ("validity_hotkey",)),
    "late": (Never(), ("deadline_late, gate 1 (deadline)", "time is up")),
    "wrong_canary": (
        Changed(wrong_canary),
        (
            "canary [",
            "The marker is not reported as canary_match at the file",
            "canary not reported at its line (docs/",
        ),
    ),
    "nowhere": (Changed(nowhere), ("evidence_resolves", "points at nothing")),
    "unknown_field": (
        Changed(answer=at("sssa.\x1b[31mshape", 1)),
        ("parse_schema", r"`\u001b[31mshape` - at `$.sssa`"),
    ),
    "wrong_type": (
        Changed(answer=at("sssa.analysis.risk_score", "high")),
        ("parse_schema", "Expected `float`, got `str` - at `$.sssa.analysis.risk_score`"),
    ),
    "other_nonce": (Changed(answer=at("sssa.skill.nonce", "00" * 32)), ("validity_nonce",)),
    "other_type": (
        Changed(answer=at("sssa.skill.skill_type", "declarative")),
        ("validity_skill_type",),
    ),
    "tampered": (Changed(answer=at("sssa.analysis.risk_score", 0.123)), ("validity_signature",)),
    "wrong_echo": (
        Changed(answer=at("probe_evidence.dns_host", "example.invalid")),
        ("probes_echo, gate 6 (probes)",),
    ),
}
BROKEN_RUNS: dict[str, tuple[Behaviour, tuple[str, ...]]] = {
    "wrong_role": (
        AuditorOnly(),
        ("manifest_missing, gate 4 (manifest)", "primary"),
    ),
    "other_image": (
        Changed(answer=at("sssa.evidence.sandbox_manifest", None)),
        ("validity_signature",),  # the gates are passed in order
    ),
    "no_traces": (Changed(answer=at("trace_bundle", None)), ("traces_missing, gate 5 (traces)",)),
    "no_archive": (Changed(answer=at("trace_bundle", "AAAA")), ("traces_undecodable",)),
    "no_probes": (Changed(traces=less), ("probes_absent, gate 6 (probes)",)),
}


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_broken_miner_is_told_its_fault_in_one_line(fault: str) -> None:
    behaviour, said = BROKEN[fault]
    pace = Pace(t_min_s=0.0, deadline_s=0.2) if fault == "late" else AT_ONCE
    (line,) = fault_lines(await check(behaviour, pace=pace))
    assert [part for part in said if part not in line] == [], line
    assert line.isprintable()
    assert "rag_knowledge primary, rag-city-guide" in line


@pytest.mark.parametrize("fault", BROKEN_RUNS)
async def test_a_broken_run_is_told_its_fault_in_one_line(fault: str) -> None:
    behaviour, said = BROKEN_RUNS[fault]
    (line,) = fault_lines(await check(behaviour, types=(PYTHON,)))
    assert [part for part in said if part not in line] == [], line


async def test_a_miner_that_is_gone_is_told_so() -> None:
    report = await check(answer_thoroughly, dies_after={VALIDATOR.hotkey})
    (line,) = fault_lines(report)
    assert "deadline_connect, gate 1 (deadline)" in line
    assert "and 3 more" in line
    async with bench(answer_thoroughly) as one:
        hotkey, axon = one.miner.hotkey, one.axon
    report = await check_at(hotkey, axon)
    assert report.declared is None
    assert fault_lines(report)[0].startswith("deadline_connect, gate 1 (deadline) [declaration]")


async def test_a_miner_that_answers_others_is_told_so() -> None:
    async with bench(answer_thoroughly, validators=frozenset({"somebody"})) as one:
        report = await check_at(one.miner.hotkey, one.axon)
    (line,) = fault_lines(report)
    assert re.match(r"deadline_status, gate 1 \(deadline\) \[declaration\]: .* status 403", line), line
    assert not report.outcomes


async def test_a_right_miner_passes_and_reads_what_its_answers_are_worth() -> None:
    names: list[str] = []
    async with bench(paced(answer_thoroughly, pace_s=0.0)) as one:
        report = await check_at(
            one.miner.hotkey,
            one.axon,
            Section.ANSWERS,
            Section.WINDOWS,
            types=(SkillType.RAG_KNOWLEDGE,),
            report_end=names.append,
        )
    assert fault_lines(report) == []
    assert [one.reason for one in report.outcomes] == [Reason.ACCEPTED] * 6
    assert all(one.quality is not None and one.quality.epsilon == 1 for one in report.outcomes)
    assert all(one.score == one.quality.quality > 0.9 for one in report.outcomes if one.quality)
    assert len(names) == 1 + 6
    late = next(one for one in report.outcomes if one.trial == "late start")
    assert late.seconds is not None
    assert late.seconds >= late.t_min_s == 0.2
    roles = {(one.trial, one.role) for one in report.outcomes if one.part is Section.ANSWERS}
    assert ("rag-vendor-faq", "primary") in roles
    assert ("rag-city-guide", "auditor") in roles


async def test_a_hasty_miner_is_told_to_wait_and_earns_nothing() -> None:
    report = await check(answer_nothing, Section.WINDOWS)
    (line,) = fault_lines(report)
    assert "accepted_early [rag_knowledge auditor, late start and 1 more]" in line
    assert [one.entry for one in report.outcomes] == [0.0, 0.0]


async def test_gate_seven_holds_traces_against_a_run_of_the_tracer() -> None:
    ran = (await check(answer_thoroughly, types=(PYTHON,))).outcomes
    lazy = (await check(answer_nothing, types=(PYTHON,))).outcomes
    assert {one.semantic_subset for one in ran if one.role == "primary"} == {1.0}
    assert {one.semantic_subset for one in ran if one.role == "auditor"} == {None}
    assert all(one.semantic_subset is not None and one.semantic_subset < 0.9 for one in lazy if one.role == "primary")
    assert not [fault for one in lazy for fault in one.faults]  # it passes, and is worth little
    assert max(one.score or 0 for one in lazy if one.trial == "python-backup-sync") < 0.5
