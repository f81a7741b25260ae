"""Builders of valid protocol values with real signatures; tests bend them."""

import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from sssa.kinds.assessment.judge import PackedSignatures, Witnessed
from sssa.kinds.judging import Expected, Judged
from sssa.protocol.answer import Answer, CanarySpec, Role, canary_marker, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.bundles import index_bundle, read_bundle, with_canary
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.round import AssessmentTask
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import WINDOW_TYPES, SkillType, is_runtime, trace_names
from sssa.protocol.sssa import (
    Analysis,
    Evidence,
    Finding,
    Policy,
    SandboxManifest,
    Signature,
    Skill,
    Sssa,
)
from sssa.protocol.task import Windows
from sssa.protocol.traces import read_traces
from sssa.scoring import MinerStanding, TypeStanding, version

V1 = version("1.0.0")
_GOOD = TypeStanding(declared=True, reputation=0.5, dispatches=10, failures=0, proven=True)


def all_paid(hotkeys: Iterable[str]) -> dict[str, MinerStanding]:
    """A standing of miners whose windows of all types are paid."""
    return {hotkey: MinerStanding(0, dict.fromkeys(WINDOW_TYPES, _GOOD)) for hotkey in hotkeys}


NONCE = hashlib.sha256(b"nonce").hexdigest()
IMAGE = UNPUBLISHED
FILES = {"a.py": b"print(1)\nprint(2)\n", "docs/readme.md": b"one\ntwo\n"}
MINER = Signer.from_uri("//Miner")
OTHER = Signer.from_uri("//Other")

NOTHING_LATE: dict[str, Any] = {
    "runtime_image": UNPUBLISHED,
    "executes": False,
    "executions": (),
    "filled": (),
    "acts": (),
}
"""The fields of a `RoundInput` that most tests leave alone."""


def make_task(
    skill_type: SkillType = SkillType.EXECUTABLE_PYTHON, *, canary: str | None = None, **changes: Any
) -> AssessmentTask:
    source = pack(FILES)
    bundle = source if canary is None else with_canary(FILES, canary, NONCE)
    task = AssessmentTask(
        task_id="t1",
        skill_type=skill_type,
        slot=0,
        source_sha256=sha256_hex(source),
        bundle_sha256=sha256_hex(bundle),
        nonce=NONCE,
        windows=Windows((1, 10), (0, 5)),
        provenance="none",
        truth=None,
        canary=None if canary is None else CanarySpec(canary),
        index=index_bundle(read_bundle(bundle)),
    )
    return msgspec.structs.replace(task, **changes)


def signatures(judged: Judged) -> PackedSignatures | None:
    """Return the signatures of an answer for gate 7."""
    return judged.signatures if isinstance(judged, Witnessed) else None


def expect(task: AssessmentTask, role: Role = "primary", hotkey: str = MINER.hotkey) -> Expected[AssessmentTask]:
    return Expected(task, hotkey, role, IMAGE, "1.0.0")


def trace_records(nonce: str = NONCE) -> dict[str, list[dict[str, Any]]]:
    probes = probe_values(nonce)
    return {
        "network": [{"ts": 1.5, "domain": probes.dns_host, "dst_port": 53, "proto": "udp"}],
        "fs": [{"ts": 1, "op": "write", "path": probes.file_path}, {"ts": 2, "op": "read", "path": "/skill/a.py"}],
        "process": [{"ts": 1, "cmd": f"echo {probes.process_echo}"}],
        "secrets": [],
        "imports": [{"ts": 3, "module": "json"}],
        "shell_commands": [{"ts": 3, "cmd": "ls"}],
        "tool_calls": [{"ts": 3, "tool_name": "search"}],
        "agent_calls": [{"ts": 3, "caller": "a", "callee": "b"}],
    }


def trace_files(skill_type: SkillType, nonce: str = NONCE) -> dict[str, bytes]:
    records = trace_records(nonce)
    return {
        f"{name}.jsonl": b"".join(json.dumps(record).encode() + b"\n" for record in records[name])
        for name in trace_names(skill_type)
    }


def finding(category: str = "other", ref: str = "a.py#L1-L2", **changes: Any) -> Finding:
    base = Finding("f1", category, "low", "words", ref, (), "a.py")  # type: ignore[arg-type]
    return msgspec.structs.replace(base, **changes)


def canary_finding(task: AssessmentTask) -> Finding:
    if task.canary is None:
        raise ValueError("the task carries no canary")
    lines = {entry.path: entry.lines for entry in task.index}[task.canary.file]
    return finding("canary_match", f"s1::{task.canary.file}#L{lines}", target_pattern=canary_marker(task.nonce))


def make_sssa(task: AssessmentTask, findings: tuple[Finding, ...] = (), hashes: dict[str, str] | None = None) -> Sssa:
    runtime = is_runtime(task.skill_type)
    return Sssa(
        schema_version="1.0",
        skill=Skill(task.skill_type, task.bundle_sha256, task.nonce),
        analysis=Analysis("ALLOW", 0.1, findings, ("file_io",), ()),
        evidence=Evidence(
            hashes or {}, None, SandboxManifest(IMAGE.reference, IMAGE.digest, "1") if runtime else None, None
        ),
        policy=Policy(()),
        signature=Signature(MINER.hotkey, "sr25519", "0x" + "0" * 128),
    )


def make_answer(task: AssessmentTask, findings: tuple[Finding, ...] = (), signer: Signer = MINER) -> Answer:
    """A whole valid answer of a primary (an auditor's trace bundle is ignored)."""
    bundle, hashes = None, {}
    if is_runtime(task.skill_type):
        packed = pack(trace_files(task.skill_type, task.nonce))
        hashes = read_traces(packed, task.skill_type, probe_values(task.nonce)).hashes
        bundle = base64.b64encode(packed).decode()
    sssa = signer.sign_document(make_sssa(task, findings, hashes))
    return Answer(sssa, probe_values(task.nonce), bundle)


def bend(answer: Answer, path: str, value: Any, *, signer: Signer | None = MINER) -> bytes:
    """The answer's bytes with one field changed (dotted path); signed anew unless `signer` is None."""
    plain = msgspec.to_builtins(answer)
    at = plain
    *parents, last = path.split(".")
    for key in parents:
        at = at[key]
    at[last] = value
    if signer is not None and path.startswith("sssa") and "signature" not in path:
        unsigned = dict(plain["sssa"], signature={k: v for k, v in plain["sssa"]["signature"].items() if k != "value"})
        plain["sssa"]["signature"]["value"] = signer.sign(canonical_bytes(unsigned))
    return json.dumps(plain).encode()
