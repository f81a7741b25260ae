"""Every gate with real signatures: each fault gets its own reason, in the spec's order (SPEC 5)."""

import base64
import json
import math
import unicodedata
from dataclasses import replace
from typing import Literal

import msgspec
import pytest
from builders import (
    IMAGE,
    MINER,
    NONCE,
    OTHER,
    V1,
    bend,
    canary_finding,
    expect,
    finding,
    make_answer,
    make_task,
    signatures,
    trace_files,
)

from sssa.kinds.assessment.gates import GATES
from sssa.kinds.assessment.judge import judge, subsets_of
from sssa.kinds.judging import Judged
from sssa.protocol import limits
from sssa.protocol.answer import CanarySpec, Role, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.bundles import IndexEntry
from sssa.protocol.reasons import GATE_NAMES, Reason
from sssa.protocol.results import Packed, Rejection, Submission
from sssa.protocol.round import AssessmentTask
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.task import Windows
from sssa.protocol.traces import read_traces

PYTHON = make_task()
RAG = make_task(SkillType.RAG_KNOWLEDGE)


def body(task: AssessmentTask = PYTHON) -> bytes:
    return msgspec.json.encode(make_answer(task))


def submission(judged: Judged) -> Submission:
    assert isinstance(judged.result, Packed), judged
    answer = judged.result.unpacked()
    assert isinstance(answer, Submission)
    return answer


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
@pytest.mark.parametrize("role", ["primary", "auditor"])
def test_a_good_answer_passes(skill_type: SkillType, role: str) -> None:
    task = make_task(skill_type)
    judged = judge(expect(task, role), body(task), 4.5)  # type: ignore[arg-type]
    assert judged.reason == Reason.ACCEPTED
    runtime_primary = role == "primary" and skill_type not in (SkillType.RAG_KNOWLEDGE, SkillType.DECLARATIVE)
    assert submission(judged).checks.traces is (True if runtime_primary else None)
    assert (signatures(judged) is not None) == runtime_primary


def test_the_gates_have_the_names_and_the_order_that_pages_tell() -> None:
    assert tuple(gate.__name__ for gate in GATES) == GATE_NAMES[:-1]


def test_ed25519_hotkeys_sign_too() -> None:
    signer = type(MINER).from_uri("//Ed", "ed25519")
    answer = make_answer(RAG, signer=signer)
    assert judge(expect(RAG, hotkey=signer.hotkey), msgspec.json.encode(answer), 2).reason == Reason.ACCEPTED


def test_an_early_answer_counts_but_says_so() -> None:
    judged = judge(expect(PYTHON), body(), 0.5)
    assert judged.reason == Reason.ACCEPTED_EARLY
    assert isinstance(judged.result, Packed)


@pytest.mark.parametrize(("role", "opens"), [("primary", 1.0), ("auditor", 0.5)])
def test_an_answer_at_the_opening_of_its_window_is_not_early(role: Role, opens: float) -> None:
    task = make_task(windows=Windows((1, 10), (0.5, 5)))
    at, before = (judge(expect(task, role), body(task), seconds) for seconds in (opens, math.nextafter(opens, 0)))
    assert (at.reason, before.reason) == (Reason.ACCEPTED, Reason.ACCEPTED_EARLY)


WRONG_FIELDS = [
    ("sssa.skill.skill_type", "rag_knowledge", Reason.VALIDITY_SKILL_TYPE),
    ("sssa.skill.bundle_sha256", "0" * 64, Reason.VALIDITY_BUNDLE),
    ("sssa.skill.nonce", "0" * 64, Reason.VALIDITY_NONCE),
    ("sssa.skill.nonce", NONCE.upper(), Reason.VALIDITY_NONCE),
    ("sssa.skill.nonce", "xyz", Reason.PARSE_SCHEMA),
    ("sssa.signature.hotkey", OTHER.hotkey, Reason.VALIDITY_HOTKEY),
    ("sssa.signature.value", "0x" + "1" * 128, Reason.VALIDITY_SIGNATURE),
    ("sssa.signature.value", "0x12", Reason.PARSE_SCHEMA),
    ("sssa.signature.crypto", "ed25519", Reason.VALIDITY_SIGNATURE),
    ("sssa.analysis.risk_score", 1.01, Reason.PARSE_SCHEMA),
    ("sssa.analysis.risk_score", True, Reason.PARSE_SCHEMA),
    ("sssa.analysis.verdict", "allow", Reason.PARSE_SCHEMA),
    ("sssa.analysis.capabilities", ["x"] * 1025, Reason.PARSE_SCHEMA),
    ("sssa.analysis.capabilities", ["x" * 4097], Reason.PARSE_SCHEMA),
    ("sssa.schema_version", "1.1", Reason.PARSE_SCHEMA),
    ("sssa.evidence.sandbox_manifest", None, Reason.MANIFEST_MISSING),
    ("sssa.evidence.sandbox_manifest.digest", "", Reason.MANIFEST_MISSING),
    ("sssa.evidence.sandbox_manifest.digest", "sha256:" + "2" * 64, Reason.MANIFEST_DIGEST),
    ("sssa.evidence.trace_hashes", {}, Reason.TRACES_HASH),
    ("sssa.evidence.trace_hashes.fs", "sha256:" + "0" * 64, Reason.TRACES_HASH),
    ("trace_bundle", None, Reason.TRACES_MISSING),
    ("trace_bundle", "not base64!", Reason.TRACES_UNDECODABLE),
    ("trace_bundle", "A" * (12 * limits.MIB), Reason.TRACES_TOO_LARGE),
    ("probe_evidence.dns_host", "elsewhere.invalid", Reason.PROBES_ECHO),
    ("probe_evidence.more", "x", Reason.PARSE_SCHEMA),
    ("extra", 1, Reason.PARSE_SCHEMA),
]


@pytest.mark.parametrize(("path", "value", "reason"), WRONG_FIELDS)
def test_each_fault_has_its_reason(path: str, value: object, reason: Reason) -> None:
    judged = judge(expect(PYTHON), bend(make_answer(PYTHON), path, value), 2)
    assert judged.reason == reason
    assert isinstance(judged.result, Rejection)
    assert judged.result.gate == reason.gate


@pytest.mark.parametrize("use", ["finding_enrichment", "mitre_owasp_mapping", "cve_explanation", "verdict_reasoning"])
def test_a_model_may_be_used_for_three_things_only(use: str) -> None:
    llm = {"model_id": "m", "prompt_sha256": "0" * 64, "response_sha256": "0" * 64, "allowed_use": use}
    judged = judge(expect(PYTHON), bend(make_answer(PYTHON), "sssa.evidence.llm_evidence", llm), 2)
    assert judged.reason == (Reason.VALIDITY_LLM_USE if use == "verdict_reasoning" else Reason.ACCEPTED)


@pytest.mark.parametrize(
    "raw",
    [b"", b"null", b"[]", b'{"sssa": 1}', b"\xff\xfe", b'"' + b"a" * 100, b'{"sssa":{}', b"1e999"],
)
def test_what_is_no_answer_is_refused(raw: bytes) -> None:
    assert judge(expect(PYTHON), raw, 2).reason == Reason.PARSE_SCHEMA


def test_deep_nesting_and_repeated_keys_are_named() -> None:
    assert judge(expect(PYTHON), b"[" * 100_000, 2).reason == Reason.PARSE_TOO_DEEP
    twice = body().replace(b'"trace_bundle":', b'"trace_bundle":null,"trace_bundle":', 1)
    assert judge(expect(PYTHON), twice, 2).reason == Reason.PARSE_DUPLICATE_KEY
    escaped = body().replace(b'"verdict":"ALLOW"', b'"verdict":"BLOCK","verdic\\u0074":"ALLOW"', 1)
    assert judge(expect(PYTHON), escaped, 2).reason == Reason.PARSE_DUPLICATE_KEY


def test_a_body_over_the_limit_is_refused_by_role() -> None:
    padded = body() + b" " * (limits.MAX_BODY + 1)
    assert judge(expect(PYTHON, "auditor"), padded, 2).reason == Reason.PARSE_TOO_LARGE
    assert judge(expect(PYTHON, "primary"), padded, 2).reason == Reason.ACCEPTED


def test_a_bad_evidence_reference_makes_the_document_invalid() -> None:
    answer = make_answer(PYTHON, (finding(ref="../etc/passwd"),))
    judged = judge(expect(PYTHON), msgspec.json.encode(answer), 2)
    assert judged.reason == Reason.PARSE_SCHEMA
    assert "sssa.analysis.findings[0].evidence_ref" in judged.detail


def test_late_comes_before_everything_else() -> None:
    assert judge(expect(PYTHON), b"garbage", 10.1).reason == Reason.DEADLINE_LATE
    assert judge(expect(PYTHON, "auditor"), b"garbage", 5.1).reason == Reason.DEADLINE_LATE
    assert judge(expect(PYTHON), body(), 10.0).reason == Reason.ACCEPTED


def _with_traces(files: dict[str, bytes], *, honest_hashes: bool = True) -> bytes:
    packed = pack(files)
    answer = make_answer(PYTHON)
    if honest_hashes:
        hashes = read_traces(packed, PYTHON.skill_type, probe_values(NONCE)).hashes
        answer = msgspec.json.decode(bend(answer, "sssa.evidence.trace_hashes", hashes), type=type(answer))
    return bend(answer, "trace_bundle", base64.b64encode(packed).decode())


@pytest.mark.parametrize("name", ["network", "fs", "process"])
def test_each_probe_must_show_in_the_traces(name: str) -> None:
    files = trace_files(SkillType.EXECUTABLE_PYTHON) | {f"{name}.jsonl": b'{"ts": 1, "cmd": "ls"}\n'}
    assert judge(expect(PYTHON), _with_traces(files), 2).reason == Reason.PROBES_ABSENT
    assert judge(expect(PYTHON, "auditor"), _with_traces(files), 2).reason == Reason.ACCEPTED


@pytest.mark.parametrize(
    "broken",
    [
        {"fs.jsonl": b'{"path": "no ts"}\n'},
        {"fs.jsonl": b'{"ts": true}\n'},
        {"fs.jsonl": b'{"ts": NaN}\n'},
        {"fs.jsonl": b"[1]\n"},
        {"fs.jsonl": b'{"ts": 1}\n\n{"ts": 2}\n'},
        {"fs.jsonl": b'{"ts": 1, "ts": 2}\n'},
        {"fs.jsonl": b'{"ts": 9007199254740993}\n'},
        {"fs.jsonl": b'{"ts": 1, "a": ' + b"[" * 40 + b"]" * 40 + b"}\n"},
        {"extra.jsonl": b""},
        {"../fs.jsonl": b""},
    ],
)
def test_broken_traces_are_undecodable(broken: dict[str, bytes]) -> None:
    files = trace_files(SkillType.EXECUTABLE_PYTHON) | broken
    assert judge(expect(PYTHON), _with_traces(files, honest_hashes=False), 2).reason == Reason.TRACES_UNDECODABLE


def test_a_missing_trace_file_is_undecodable() -> None:
    files = trace_files(SkillType.EXECUTABLE_PYTHON)
    del files["secrets.jsonl"]
    assert judge(expect(PYTHON), _with_traces(files, honest_hashes=False), 2).reason == Reason.TRACES_UNDECODABLE


@pytest.mark.parametrize("content", [b"\n" * 200_001, b" " * (16 * limits.MIB + 1)])
def test_traces_over_their_caps_are_too_large(content: bytes) -> None:
    files = trace_files(SkillType.EXECUTABLE_PYTHON) | {"fs.jsonl": content}
    assert judge(expect(PYTHON), _with_traces(files, honest_hashes=False), 2).reason == Reason.TRACES_TOO_LARGE


def test_the_order_of_trace_lines_and_their_spelling_do_not_change_the_hash() -> None:
    files = trace_files(SkillType.EXECUTABLE_PYTHON)
    lines = files["fs.jsonl"].splitlines()
    respelled = [json.dumps(json.loads(line), indent=None, separators=(" ,  ", " : ")).encode() for line in lines[::-1]]
    shuffled = files | {"fs.jsonl": b"\n".join(respelled)}
    ours = read_traces(pack(files), SkillType.EXECUTABLE_PYTHON, probe_values(NONCE))
    theirs = read_traces(pack(shuffled), SkillType.EXECUTABLE_PYTHON, probe_values(NONCE))
    assert ours == theirs


def test_the_canary_must_be_reported_at_its_line() -> None:
    task = make_task(SkillType.RAG_KNOWLEDGE, canary="docs/readme.md")
    right = judge(expect(task), msgspec.json.encode(make_answer(task, (canary_finding(task),))), 2)
    wrong_line = judge(
        expect(task), msgspec.json.encode(make_answer(task, (finding("canary_match", "docs/readme.md#L1"),))), 2
    )
    silent = judge(expect(task), body(task), 2)
    assert submission(right).checks.canary is True
    assert submission(wrong_line).checks.canary is False
    assert submission(silent).checks.canary is False
    assert submission(judge(expect(RAG), body(RAG), 2)).checks.canary is None


@pytest.mark.parametrize(
    ("ref", "resolves"),
    [("a.py", True), ("a.py#L2", True), ("a.py#L1-L3", False), ("b.py", False), ("s::./docs//readme.md#L2", True)],
)
def test_evidence_resolves_only_inside_the_bundle(ref: str, resolves: bool) -> None:
    judged = judge(expect(RAG), msgspec.json.encode(make_answer(RAG, (finding(ref=ref),))), 2)
    assert submission(judged).checks.evidence_resolves is resolves


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_place_is_found_however_its_path_is_composed(form: Literal["NFC", "NFD"]) -> None:
    path = "docs/résumé.md"
    task = make_task(SkillType.RAG_KNOWLEDGE, canary="docs/readme.md", index=(IndexEntry(path, 20, 2),))
    task = msgspec.structs.replace(task, canary=CanarySpec(path))
    marker = finding("canary_match", unicodedata.normalize(form, path) + "#L2")
    checks = submission(judge(expect(task), msgspec.json.encode(make_answer(task, (marker,))), 2)).checks
    assert (checks.evidence_resolves, checks.canary) == (True, True)


def test_semantic_subset_needs_two_primaries_and_measures_the_majority() -> None:
    judged = judge(expect(PYTHON), body(), 2)
    whole = signatures(judged)
    assert whole is not None
    assert subsets_of(V1, {MINER.hotkey: whole}) == {MINER.hotkey: None}
    files = trace_files(SkillType.EXECUTABLE_PYTHON)
    less = judge(
        expect(PYTHON),
        _with_traces(files | {"fs.jsonl": files["fs.jsonl"].splitlines()[0] + b"\n"}),
        2,
    )
    fewer = signatures(less)
    assert fewer is not None
    trio = {"a": whole, "b": whole, "c": fewer}
    assert subsets_of(V1, trio) == {"a": 1.0, "b": 1.0, "c": (1 + 0.5 + 1 + 1) / 4}


def test_a_runtime_primary_runs_the_image_of_the_dispatch_and_no_other() -> None:
    expected = expect(PYTHON)
    other = replace(expected, image=RuntimeImage(IMAGE.reference, "sha256:" + "2" * 64))
    assert judge(other, body(), 2).reason == Reason.MANIFEST_DIGEST
    moved = replace(expected, image=RuntimeImage("mirror.example/sssa-runner", IMAGE.digest))
    assert judge(moved, body(), 2).reason == Reason.ACCEPTED
