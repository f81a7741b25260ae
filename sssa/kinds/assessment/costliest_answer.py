"""The costliest legal answer, judged at a start in a worker process to learn the cost of judging (SPEC 5, D-27)."""

import base64
import time
from typing import Final

import msgspec

from sssa.kinds.assessment.judge import judge
from sssa.kinds.judging import Expected
from sssa.protocol import limits
from sssa.protocol.answer import Answer, ProbeEvidence, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessmentTask
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType, trace_names
from sssa.protocol.sssa import (
    Analysis,
    Dependency,
    Evidence,
    Finding,
    Policy,
    Rule,
    SandboxManifest,
    Signature,
    Skill,
    Sssa,
)
from sssa.protocol.task import Windows
from sssa.protocol.traces import read_traces
from sssa.scoring import CURRENT

SHARE: Final = 10
"""The answer is a tenth of the largest one: judging is linear, and starting a validator should cost little."""
MARGIN: Final = 1.25
"""For what a whole one costs beyond ten tenths (it fits the caches less)."""
_TYPE: Final = SkillType.AGENT_COMPOSITION
_NONCE: Final = sha256_hex(b"the dearest answer")
# As many together as an attestation of `MAX_ATTESTATION` holds.
_RULES: Final = limits.MAX_RULES // 3
_DEPENDENCIES: Final = limits.MAX_DEPENDENCIES // 3
_RECORD: Final = limits.MAX_TRACES_EXPANDED // limits.MAX_TRACE_RECORDS


def dearest_cost() -> float:
    """Return the seconds of CPU that judging the dearest legal answer costs on this machine.

    It is a runtime primary's, whose attestation and traces are at their limits. Takes half a second of CPU.

    Raises:
        RuntimeError: it did not pass the gates.
    """
    expected, body = dearest_answer(SHARE)
    began = time.process_time()
    judged = judge(expected, body, 1.0)
    cost = time.process_time() - began
    if judged.reason != Reason.ACCEPTED:
        raise RuntimeError(f"the dearest legal answer is {judged.reason}: {judged.detail}")
    return cost * SHARE * MARGIN


def dearest_answer(share: int) -> tuple[Expected[AssessmentTask], bytes]:
    """Return a legal answer with one `share`-th of each limit, and its dispatch."""
    signer = Signer.from_uri("//Dearest")
    task = AssessmentTask("dearest", _TYPE, 0, _NONCE, _NONCE, _NONCE, Windows((0, 2), (0, 2)), "none", None, None, ())
    probes = probe_values(_NONCE)
    packed = pack(_trace_files(probes, limits.MAX_TRACE_RECORDS // share))
    sssa = Sssa(
        "1.0",
        Skill(_TYPE, _NONCE, _NONCE),
        _analysis(share),
        Evidence(
            read_traces(packed, _TYPE, probes).hashes,
            None,
            SandboxManifest(UNPUBLISHED.reference, UNPUBLISHED.digest, "1"),
            None,
        ),
        Policy(tuple(Rule(f"{i}", "", "") for i in range(_RULES // share))),
        Signature(signer.hotkey, "sr25519", "0x" + "0" * 128),
    )
    answer = Answer(signer.sign_document(sssa), probes, base64.b64encode(packed).decode("ascii"))
    return Expected(task, signer.hotkey, "primary", UNPUBLISHED, CURRENT), msgspec.json.encode(answer)


def _analysis(share: int) -> Analysis:
    return Analysis(
        "BLOCK",
        1.0,
        tuple(Finding(f"{i}", "other", "low", "", f"f{i}", (), "") for i in range(limits.MAX_FINDINGS // share)),
        tuple(f"{i}" for i in range(limits.MAX_CAPABILITIES // share)),
        tuple(Dependency(f"{i}", "", ()) for i in range(_DEPENDENCIES // share)),
    )


def _trace_files(probes: ProbeEvidence, records: int) -> dict[str, bytes]:
    """Return trace files with that many records, nearly all of them different file accesses at the limit of values."""
    files: dict[str, list[str]] = {name: [] for name in trace_names(_TYPE)}
    files["network"].append(f'{{"ts":0,"domain":"{probes.dns_host}"}}')
    files["process"].append(f'{{"ts":0,"cmd":"{probes.process_echo}"}}')
    files["fs"] += [f'{{"ts":0,"path":"{probes.file_path}"}}', *(_record(number) for number in range(records - 3))]
    return {f"{name}.jsonl": "".join(f"{line}\n" for line in lines).encode() for name, lines in files.items()}


def _record(number: int) -> str:
    head = f'{{"ts":{number}.25,"op":"w","z":[[],[]],"path":"/{number:06}'
    return head + "x" * (_RECORD - len(head) - 3) + '"}'
