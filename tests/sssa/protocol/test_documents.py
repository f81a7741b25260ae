"""Capabilities, tasks, times, signatures and reasons."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from bittensor_core import Keypair, encode_ss58
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.capabilities import Capabilities, parse_capabilities
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer, is_hotkey, verify, verify_document
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.strict_json import JsonError, SchemaError
from sssa.protocol.task import parse_task
from sssa.protocol.times import format_time, parse_time

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ALICE = Signer.from_uri("//Alice")
BLANK = Signature(ALICE.hotkey, "sr25519", "0x" + "0" * 128)


def capabilities(**changes: Any) -> Capabilities:
    document = Capabilities(
        document_version="1.0",
        hotkey=ALICE.hotkey,
        skill_types=(SkillType.RAG_KNOWLEDGE, SkillType.MCP_SERVER, SkillType.EXECUTABLE_PYTHON),
        software="miner 1",
        issued_at=format_time(NOW),
        expires_at=format_time(NOW + timedelta(hours=24)),
        signature=BLANK,
    )
    return ALICE.sign_document(msgspec.structs.replace(document, **changes))


def test_a_valid_declaration_counts_types_in_the_order_of_the_specification() -> None:
    document = parse_capabilities(msgspec.json.encode(capabilities()), hotkey=ALICE.hotkey, now=NOW)
    assert document.usable_types == (
        SkillType.RAG_KNOWLEDGE,
        SkillType.EXECUTABLE_PYTHON,
        SkillType.MCP_SERVER,
    )
    assert document.concurrency == 2
    assert b"max_concurrent" not in msgspec.json.encode(document)
    four = parse_capabilities(msgspec.json.encode(capabilities(max_concurrent=4)), hotkey=ALICE.hotkey, now=NOW)
    assert four.concurrency == 4


@pytest.mark.parametrize(
    ("changes", "now", "field"),
    [
        ({"expires_at": format_time(NOW + timedelta(hours=24, seconds=1))}, NOW, "expires_at"),
        ({"expires_at": format_time(NOW)}, NOW, "expires_at"),
        ({}, NOW + timedelta(hours=24, seconds=61), "expires_at"),
        ({}, NOW - timedelta(seconds=61), "issued_at"),
        ({"issued_at": "2026-11-20 12:00:00"}, NOW, "issued_at"),
        ({"max_concurrent": 5}, NOW, "max_concurrent"),
        ({"hotkey": Signer.from_uri("//Bob").hotkey}, NOW, "hotkey"),
    ],
)
def test_a_declaration_that_cannot_count_names_the_field(changes: dict[str, Any], now: datetime, field: str) -> None:
    with pytest.raises(JsonError, match=field):
        parse_capabilities(msgspec.json.encode(capabilities(**changes)), hotkey=ALICE.hotkey, now=now)


def test_a_declaration_signed_by_another_or_changed_is_refused() -> None:
    forged = Signer.from_uri("//Bob").sign_document(capabilities())
    changed = msgspec.structs.replace(capabilities(), software="other")
    for document in (forged, changed):
        with pytest.raises(SchemaError, match="signature"):
            parse_capabilities(msgspec.json.encode(document), hotkey=ALICE.hotkey, now=NOW)


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
def test_both_schemes_sign_and_verify(crypto: str) -> None:
    signer = Signer.from_uri("//Carol", crypto)
    document = signer.sign_document(capabilities())
    assert verify_document(document, signer.hotkey)
    assert not verify_document(document, ALICE.hotkey)
    for value in ("0x", "0x12", "zz", document.signature.value[:-2] + "00"):
        assert not verify(b"data", value, signer.hotkey, crypto)
    assert not verify(b"data", "0x" + "1" * 128, "no hotkey", crypto)


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
def test_a_signature_over_wrapped_bytes_is_one_over_other_bytes(crypto: str) -> None:
    signer = Signer.from_uri("//Carol", crypto)
    assert verify(b"data", signer.sign(b"data"), signer.hotkey, crypto)
    assert not verify(b"data", signer.sign(b"<Bytes>data</Bytes>"), signer.hotkey, crypto)


@given(st.binary(max_size=300), st.integers(0, 511), st.integers(0, 255))
def test_the_sdk_and_we_agree_on_changed_signatures(data: bytes, bit: int, key_bit: int) -> None:
    value = bytearray.fromhex(ALICE.sign(data)[2:])
    value[bit // 8] ^= 1 << bit % 8
    assert verify(data, "0x" + value.hex(), ALICE.hotkey, "sr25519") == ALICE.keypair.verify(data, bytes(value))
    public_key = bytearray(ALICE.keypair.public_key)
    public_key[key_bit // 8] ^= 1 << key_bit % 8
    other = Keypair(ss58_address=encode_ss58(bytes(public_key), 42))
    signed = ALICE.sign(data)
    assert verify(data, signed, other.ss58_address, "sr25519") == other.verify(data, bytes.fromhex(signed[2:]))


def test_workflow_may_be_declared_and_is_no_bundle_type() -> None:
    document = capabilities(skill_types=("workflow", "declarative"))
    parsed = parse_capabilities(msgspec.json.encode(document), hotkey=ALICE.hotkey, now=NOW)
    assert parsed.usable_types == (SkillType.DECLARATIVE, SkillType.WORKFLOW)
    with pytest.raises(JsonError, match="skill_type"):
        parse_task(task(skill_type="workflow"))
    with pytest.raises(JsonError, match="skill_types"):
        parse_capabilities(msgspec.json.encode(capabilities(skill_types=("novel",))), hotkey=ALICE.hotkey, now=NOW)


def test_hotkeys_are_checked() -> None:
    assert is_hotkey(ALICE.hotkey)
    assert not is_hotkey("5" * 48)
    assert not is_hotkey("")


def task(**changes: Any) -> bytes:
    truth = dict.fromkeys(
        [
            "policy_rules",
            "injections",
            "reference_risk",
            "shell_commands",
            "manifest_sha256",
            "poisoned_tools",
            "transitive_risk",
        ]
    )
    plain = {
        "task_version": "1.0",
        "skill_type": "rag_knowledge",
        "windows": None,
        "bundle_sha256": "ab" * 32,
        "provenance": "curated",
        "truth": truth | {"verdict": "ALLOW"},
        "canary": {"file": "docs/a.md"},
    }
    return json.dumps(plain | changes).encode()


def test_a_task_is_read() -> None:
    assert parse_task(task()).provenance == "curated"
    assert parse_task(task(truth=None, provenance="none", canary=None)).truth is None
    assert parse_task(task(windows={"primary": [0, 6], "auditor": [0, 3]})).windows is not None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"windows": {"primary": [6, 6], "auditor": [0, 3]}}, "windows.primary"),
        ({"windows": {"primary": [0, 6], "auditor": [0, 7]}}, "windows.auditor"),
        ({"windows": {"primary": [0, 6], "auditor": [4, 3]}}, "windows.auditor"),
        ({"windows": {"primary": [-1, 6], "auditor": [0, 3]}}, "windows.primary"),
        ({"truth": None}, "truth"),
        ({"provenance": "none"}, "truth"),
        ({"skill_type": "mcp_server"}, "canary"),
        ({"canary": {"file": "/abs"}}, "canary.file"),
        ({"task_version": "2.0"}, "task_version"),
        ({"extra": 1}, "extra"),
        ({"bundle_sha256": "ab"}, "bundle_sha256"),
    ],
)
def test_a_task_that_contradicts_itself_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(JsonError, match=field):
        parse_task(task(**changes))


FINDING = {
    "category": "prompt_injection",
    "severity": "high",
    "evidence_ref": "docs/a.md#L7",
    "cve_ids": [],
    "target_pattern": "docs/a.md",
    "kind": "injection/hidden-comment",
}


def task_with(findings: Any, version: str = "1.1") -> bytes:
    truth = json.loads(task())["truth"]
    return task(task_version=version, truth=truth if findings is msgspec.UNSET else truth | {"findings": findings})


@pytest.mark.parametrize("findings", [None, [], [FINDING], [FINDING | {"cve_ids": ["CVE-2024-1234"], "kind": "hand"}]])
def test_a_task_of_1_1_names_what_is_to_be_found(findings: Any) -> None:
    document = task_with(findings)
    assert json.loads(msgspec.json.encode(parse_task(document))) == json.loads(document)


def test_a_task_of_1_0_is_written_as_it_was_read() -> None:
    assert json.loads(msgspec.json.encode(parse_task(task()))) == json.loads(task())


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (task_with([], "1.0"), "truth.findings"),
        (task_with(msgspec.UNSET), "truth.findings"),
        (task_with([FINDING | {"category": "canary_match"}]), r"truth.findings\[0\].category"),
        (task_with([FINDING | {"category": "novel"}]), r"findings\[0\].category"),
        (task_with([FINDING | {"severity": "none"}]), "severity"),
        (task_with([FINDING, FINDING | {"evidence_ref": "/abs"}]), r"truth.findings\[1\].evidence_ref"),
        (task_with([FINDING | {"cve_ids": ["CVE-1"]}]), r"truth.findings\[0\].cve_ids\[0\]"),
        (task_with([FINDING | {"target_pattern": "x" * 4_097}]), "target_pattern"),
        (task_with([FINDING | {"kind": "a/b/c"}]), "kind"),
        (task_with([{**FINDING, "kind": "Secret"}]), "kind"),
        (task_with([FINDING | {"extra": 1}]), "extra"),
        (task_with([FINDING] * 513), "findings"),
    ],
)
def test_what_is_to_be_found_is_checked_field_by_field(document: bytes, field: str) -> None:
    with pytest.raises(JsonError, match=field):
        parse_task(document)


@pytest.mark.parametrize("text", ["2026-02-30T00:00:00Z", "2026-01-01T00:00:00+00:00", "٢٠٢٦-01-01T00:00:00Z", ""])
def test_times_have_one_form(text: str) -> None:
    with pytest.raises(SchemaError, match="when"):
        parse_time(text, "when")
    assert parse_time(format_time(NOW), "when") == NOW


def test_every_reason_explains_itself_and_gates_are_one_to_six() -> None:
    for reason in Reason:
        assert reason.meaning.endswith(".")
        assert reason.gate in range(7)
        assert str(reason) == reason.value == reason.value.lower()
    assert {reason.gate for reason in Reason} == set(range(7))
