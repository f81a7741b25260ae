"""The golden files are what the client sends and what the gates take, and the documentation shows nothing else."""

import asyncio
import base64
import json
import re
from datetime import UTC, datetime

import msgspec
import pytest
from bittensor import http_auth
from bittensor_core import Keypair
from builders import V1
from golden_examples import (
    DOC,
    HOST,
    NAMES,
    Example,
    blocks,
    canonical_without_value,
    example_workflow,
    filled,
    load,
    signed_string,
    unpacked,
    worked,
)
from miner_servers import content, ok, raw_server, read_request

from sssa.kinds.assessment.judge import judge
from sssa.kinds.assessment.requests import dispatch_bodies
from sssa.kinds.judging import Expected
from sssa.protocol import limits
from sssa.protocol.answer import Dispatch, parse_answer, probe_values
from sssa.protocol.bundles import index_bundle
from sssa.protocol.capabilities import parse_capabilities
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Packed
from sssa.protocol.round import AssessmentTask
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.signatures import Signer, verify_document
from sssa.protocol.task import Windows
from sssa.protocol.workflow_plan import WorkflowDispatch, goal_of, parse_plan, plan_validity, workflow_bodies
from validator.miners.client import HttpMinerClient
from validator.outgoing.calls import Call

ASSESSMENTS = NAMES[1:3]
SIGNATURE = "X-Bittensor-Signature"
CRYPTO = {"ed25519": 0, "sr25519": 1}


def headers_of(example: Example) -> dict[str, str]:
    return dict(example["request"]["headers"])


def task_of(dispatch: Dispatch, bundle: bytes) -> AssessmentTask:
    window = (int(dispatch.t_min_s), int(dispatch.deadline_s))
    return AssessmentTask(
        task_id=dispatch.task_id,
        skill_type=dispatch.skill_type,
        slot=0,
        source_sha256="",
        bundle_sha256=dispatch.bundle_sha256,
        nonce=dispatch.nonce,
        windows=Windows(primary=window, auditor=window),
        provenance="none",
        truth=None,
        canary=dispatch.canary_spec,
        index=index_bundle(unpacked(base64.b64encode(bundle).decode())),
    )


@pytest.mark.parametrize("name", NAMES)
async def test_the_client_sends_the_golden_request(name: str) -> None:
    example = load(name)
    received: list[tuple[bytes, bytes]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await read_request(reader))
        writer.write(ok(b"{}"))

    signer = Signer.from_uri(example["validator"]["uri"], example["validator"]["crypto"])
    client = HttpMinerClient(signer, allow_private=True, time_ns=lambda: int(example["nonce_ns"]))
    method, path, _ = example["request"]["line"].split(" ")
    async with raw_server(handle) as axon:
        call = Call(example["miner"]["hotkey"], axon, path, example["request"]["body"].encode(), 10, 100)
        content(await (client.post(call) if method == "POST" else client.get(call)))
    await client.close()

    [(head, body)] = received
    assert body == example["request"]["body"].encode()
    sent = head.decode().replace(f"{axon.ip}:{axon.port}", HOST)
    lines = [example["request"]["line"], *(f"{name}: {value}" for name, value in example["request"]["headers"])]
    expected = "\r\n".join(lines) + "\r\n\r\n"
    if example["validator"]["crypto"] == "sr25519":  # random; that the golden one verifies is tested below
        sent, expected = (re.sub(f"{SIGNATURE}: 0x[0-9a-f]{{128}}", SIGNATURE, text) for text in (sent, expected))
        assert SIGNATURE in sent
    assert sent == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_golden_request_is_signed_as_documented(name: str) -> None:
    example = load(name)
    request, headers = example["request"], headers_of(example)
    method, path, _ = request["line"].split(" ")
    body = request["body"].encode()
    assert request["signed"] == signed_string(method, path, body, headers)
    sender = Keypair(ss58_address=headers["X-Bittensor-Hotkey"], crypto_type=CRYPTO[example["validator"]["crypto"]])
    assert sender.verify(request["signed"].encode(), bytes.fromhex(headers[SIGNATURE].removeprefix("0x")))
    caller = http_auth.verify(
        headers,
        body,
        method=method,
        path=path,
        self_hotkey_ss58=example["miner"]["hotkey"],
        nonce_store=http_auth.InMemoryNonceStore(),
        now_ns=int(example["nonce_ns"]),
    )
    assert caller.hotkey_ss58 == example["validator"]["hotkey"]


@pytest.mark.parametrize("name", ASSESSMENTS)
def test_the_golden_dispatch_is_what_a_task_gives(name: str) -> None:
    body = load(name)["request"]["body"].encode()
    dispatch = msgspec.json.decode(body, type=Dispatch)
    bundle = base64.b64decode(dispatch.bundle, validate=True)
    assert (
        dispatch_bodies(dispatch.round_id, dispatch.runtime_image or UNPUBLISHED, task_of(dispatch, bundle), bundle)[
            dispatch.role
        ]
        == body
    )
    assert dispatch.probe_spec == probe_values(dispatch.nonce)


@pytest.mark.parametrize("name", ASSESSMENTS)
def test_the_golden_answer_passes_every_gate(name: str) -> None:
    example = load(name)
    body = example["response"]["body"].encode()
    dispatch = msgspec.json.decode(example["request"]["body"], type=Dispatch)
    answer = parse_answer(body, limit=limits.MAX_BODY)
    assert verify_document(answer.sssa, example["miner"]["hotkey"])
    expected = Expected(
        task=task_of(dispatch, base64.b64decode(dispatch.bundle)),
        hotkey=example["miner"]["hotkey"],
        role=dispatch.role,
        image=dispatch.runtime_image or UNPUBLISHED,
        scoring_version="1.0.0",
    )
    judged = judge(expected, body, dispatch.deadline_s)
    assert (judged.reason, judged.detail) == (Reason.ACCEPTED, "")
    assert isinstance(judged.result, Packed)
    checks = getattr(judged.result.unpacked(), "checks", None)
    assert checks is not None
    assert checks.evidence_resolves
    assert checks.canary is (None if dispatch.canary_spec is None else True)


def test_the_golden_capabilities_are_valid() -> None:
    example = load("capabilities.json")
    body = example["response"]["body"].encode()
    hotkey = example["miner"]["hotkey"]
    document = parse_capabilities(body, hotkey=hotkey, now=datetime(2026, 1, 1, 6, tzinfo=UTC))
    assert document.hotkey == hotkey
    assert len(document.usable_types) == len(document.skill_types) == 3


def test_the_golden_plan_passes_its_gates() -> None:
    example = load("workflow.json")
    dispatch = msgspec.json.decode(example["request"]["body"], type=WorkflowDispatch)
    task = example_workflow()
    assert dispatch.goal == goal_of(task)
    plan = parse_plan(example["response"]["body"].encode())
    assert plan_validity(plan, task, dispatch.nonce, example["miner"]["hotkey"]) is None
    windows = {dispatch.role: V1.rules.workflow.windows.of(dispatch.role)}
    bodies = workflow_bodies(dispatch.round_id, dispatch.task_id, dispatch.nonce, windows, task)
    assert bodies == {dispatch.role: example["request"]["body"].encode()}


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_over_the_canonical_bytes_shown(name: str) -> None:
    example = load(name)
    document = json.loads(example["response"]["body"])
    document = document.get("sssa", document)
    shown = example["worked"]["canonical"].encode()
    assert shown == canonical_without_value(document)
    signature = document["signature"]
    miner = Keypair(ss58_address=example["miner"]["hotkey"], crypto_type=CRYPTO[signature["crypto"]])
    value = bytes.fromhex(signature["value"].removeprefix("0x"))
    assert miner.verify(shown, value)
    assert not miner.verify(shown + b" ", value)


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_response_is_whole(name: str) -> None:
    response = load(name)["response"]
    assert dict(response["headers"])["Content-Length"] == str(len(response["body"].encode()))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_worked_out_follows_from_request_and_response(name: str) -> None:
    example = load(name)
    assert example["worked"] == worked(example)
    hashes = json.loads(example["response"]["body"]).get("sssa", {}).get("evidence", {}).get("trace_hashes", {})
    shown = {file.removesuffix(".jsonl"): item["hash"] for file, item in example["worked"].get("hashed", {}).items()}
    assert shown == hashes


def test_the_documentation_shows_the_golden_files() -> None:
    text = DOC.read_text(encoding="utf-8")
    assert filled(text) == text
    shown = {(name, place) for name, place, _ in blocks(text)}
    assert {name for name, _ in shown} <= set(NAMES)
    assert all(f"(../tests/golden/{name})" in text for name in NAMES)
    assert len(shown) == text.count("<!-- golden: ")
    assert all(shown_text for _, _, shown_text in blocks(text))


def rows(table: str) -> list[list[str]]:
    """Return the cells of a table of the documentation, without its head."""
    text = DOC.read_text(encoding="utf-8").split(f"<!-- table: {table} -->\n\n", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_every_reason_that_a_miner_can_meet_is_explained() -> None:
    told = [code.strip("`") for row in rows("reasons") for code in row[0].split(", ")]
    others = (
        "sample_",
        "weights_",
        "skipped_",
        "settled",
        "abandoned_",
        "step_",
        "quality_",
        "execution_",
        "rerun_",
        "sandbox_",
        "code_",
    )
    waiting = ("local_descriptors", "local_disk", "local_clock", "local_store_damaged", "local_store_taken")
    assert sorted(told) == sorted(
        reason for reason in Reason if not reason.startswith((*others, *waiting, "digest_mismatch"))
    )


def test_the_limits_are_the_programs() -> None:
    assert [row[1].replace(",", "") for row in rows("document limits")] == [
        str(limit)
        for limit in (
            limits.MAX_FINDINGS,
            limits.MAX_DEPENDENCIES,
            limits.MAX_CAPABILITIES,
            limits.MAX_RULES,
            limits.MAX_CVES_PER_ENTRY,
            limits.MAX_CVES,
            limits.MAX_STRING,
            limits.MAX_DESCRIPTION,
            limits.MAX_JSON_DEPTH,
            limits.MAX_ATTESTATION,
        )
    ]
    transport = [row[1].split(" ")[0].replace(",", "") for row in rows("transport limits")]
    bodies = (limits.MAX_BODY, limits.MAX_BODY_RUNTIME_PRIMARY, limits.MAX_CAPABILITIES_BODY, limits.MAX_PLAN_BODY)
    assert transport == ["64", "8190", "32768", *map(str, bodies)]  # the first three: test_headers_are_bounded…
