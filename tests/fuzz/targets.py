"""Every parser of outside bytes as a fuzz target: how it is called, and valid documents to start from."""

import asyncio
import base64
import gzip
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from archive_forms import SOUND
from attested import document_in
from audit_file import export
from builders import MINER, expect, finding, make_answer, make_task, trace_files
from old_rounds import play
from task_builders import numbered
from workflow_builders import task_document

from localnet.chain.subnet import SimulatedSubnet, SubnetRules, load_state
from sssa.attestation.gate import read_policy
from sssa.attestation.statement import parse_statement
from sssa.attestation.verify import Handed, parse_handed, verify_attestation
from sssa.cli.score import ConsensusCase, WeightsCase
from sssa.kinds.assessment.judge import judge
from sssa.log.chain_evidence import read_row
from sssa.log.verify import verify_file
from sssa.proofs.debate import debate_proof, parse_debate
from sssa.proofs.document import verify_document
from sssa.protocol import limits
from sssa.protocol.answer import parse_answer, probe_values
from sssa.protocol.archives import pack, unpack
from sssa.protocol.capabilities import Capabilities, parse_capabilities
from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.strict_archives import read_archive
from sssa.protocol.strict_json import decode
from sssa.protocol.task import parse_task
from sssa.protocol.times import format_time
from sssa.protocol.traces import read_traces
from sssa.protocol.workflow_plan import parse_plan
from sssa.protocol.workflow_run import StepAnswer, StepOutput, parse_code_report, parse_step_answer
from sssa.protocol.workflow_task import parse_workflow_task
from sssa.scoring import finding_key
from sssa.sources import VirtualClock
from validator.settings.load import load_settings
from validator.store import open_store
from validator.tasks.package_manifest import read_packages
from validator.tasks.wire import TasksAnswer, TasksQuery, accept_tasks, parse_query

NOW: Final = datetime(2026, 11, 20, tzinfo=UTC)
TESTS: Final = Path(__file__).parents[1]
RUNTIME: Final = make_task(SkillType.EXECUTABLE_PYTHON)
RAG: Final = make_task(SkillType.RAG_KNOWLEDGE)
PROBES: Final = probe_values("ab" * 32)
EXPECTED: Final = TasksQuery(MINER.hotkey, "17", SkillType.DECLARATIVE, 8, NOW)
UNSIGNED: Final = Signature(MINER.hotkey, "sr25519", "0x" + "0" * 128)
DECLARED: Final = Capabilities(
    "1.0", MINER.hotkey, ASSESSED_TYPES, "fuzz", "2026-11-20T00:00:00Z", "2026-11-20T12:00:00Z", UNSIGNED
)


@dataclass(frozen=True, slots=True)
class Target:
    """One parser. `read` may raise a `ValidatorError`; anything else is a finding.

    Attributes:
        read: takes the bytes.
        seeds: makes valid documents.
        most: bytes of an input.
        budget_s: processor time that an input may cost.
    """

    read: Callable[[bytes], Any]
    seeds: Callable[[], Sequence[bytes]]
    most: int = 64 * 1024
    budget_s: float = 0.25


_place: Final = tempfile.TemporaryDirectory(prefix="fuzz")  # removed when the process ends
_FOLDER: Final = Path(_place.name)


def _from_file(read: Callable[[Path], Any], name: str) -> Callable[[bytes], Any]:
    def written(data: bytes) -> Any:
        file = _FOLDER / name
        file.write_bytes(data)
        return read(file)

    return written


def _golden(name: str) -> bytes:
    document = json.loads((TESTS / "golden" / name).read_bytes())
    return bytes(document["response"]["body"], "utf-8")


def _answers() -> Sequence[bytes]:
    found = (finding(), finding("dependency_cve", target_pattern="pkg:pypi/requests@2.19.0"))
    return [msgspec.json.encode(make_answer(task, found)) for task in (RUNTIME, RAG)]


class RefusedError(ValidatorError):
    """A gate failed."""


def _judged(data: bytes) -> None:
    judged = judge(expect(RAG), data, 5.0)
    if judged.reason is not Reason.ACCEPTED:
        raise RefusedError(judged.reason)
    for one in judged.result.unpacked().sssa.analysis.findings:  # type: ignore[union-attr]
        finding_key(one)


def _traces(data: bytes) -> Any:
    return read_traces(
        pack(trace_files(SkillType.EXECUTABLE_PYTHON) | {"fs.jsonl": data}), SkillType.EXECUTABLE_PYTHON, PROBES
    )


def _archive(data: bytes) -> Any:
    return list(
        unpack(gzip.compress(data, 1), expanded=limits.MIB, file_size=limits.MIB, entries=limits.MAX_BUNDLE_ENTRIES)
    )


def _strict_archive(data: bytes) -> Any:
    return read_archive(data, expanded=limits.MIB, entries=limits.MAX_BUNDLE_ENTRIES)


def _log() -> Sequence[bytes]:
    async def exported() -> bytes:
        url = f"sqlite:///{_FOLDER}/played.sqlite"
        await play(url)
        async with open_store(url) as store:
            return (await export(store, _FOLDER / "played.jsonl")).read_bytes()

    return [asyncio.run(exported())]


def _attestation() -> Sequence[bytes]:
    (folder := _FOLDER / "attested").mkdir(exist_ok=True)
    (folder / "store.sqlite").unlink(missing_ok=True)
    return [asyncio.run(document_in(folder))]


def _statement() -> Sequence[bytes]:
    return [base64.b64decode(decode(_attestation()[0], Handed, limit=limits.MIB).envelope.payload)]


def _attested(data: bytes) -> Any:
    return verify_attestation(*parse_handed(data), datetime(2026, 1, 2, tzinfo=UTC))


def _chain() -> Sequence[bytes]:
    file, clock = _FOLDER / "chain.json", VirtualClock()
    rules = SubnetRules(seed="f", genesis=int(clock.now().timestamp()))
    SimulatedSubnet.create(rules, clock, file).register(MINER.hotkey, stake_tao=1.0)
    return [file.read_bytes()]


def _vectors(folder: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [
        msgspec.json.encode(json.loads(file.read_bytes())["input"])
        for file in sorted((TESTS / "vectors" / folder).glob("*.json"))[:4]
    ]


def _plain(*documents: Any) -> Callable[[], Sequence[bytes]]:
    return lambda: [one if isinstance(one, bytes) else msgspec.json.encode(one) for one in documents]


TARGETS: Final[Mapping[str, Target]] = {
    "answer": Target(lambda data: parse_answer(data, limit=limits.MAX_BODY), _answers),
    "judged answer": Target(_judged, lambda: _answers()[1:]),
    "plan": Target(parse_plan, lambda: [_golden("workflow.json")]),
    "capabilities": Target(
        lambda data: parse_capabilities(data, hotkey=MINER.hotkey, now=NOW),
        lambda: [msgspec.json.encode(MINER.sign_document(DECLARED))],
    ),
    "traces": Target(_traces, lambda: list(trace_files(SkillType.EXECUTABLE_PYTHON).values())),
    "strict tar": Target(_strict_archive, lambda: [gzip.decompress(pack({"a.py": b"1", "docs/é.md": b"2"}))]),
    "strict zip": Target(_strict_archive, lambda: [SOUND["a zip"], SOUND["a deflated zip with times"]]),
    "archive": Target(_archive, lambda: [gzip.decompress(pack({"a.py": b"1", "docs/é.md": b"2"}))]),
    "task": Target(parse_task, lambda: [msgspec.json.encode(numbered(1, one).task) for one in ASSESSED_TYPES]),
    "workflow task": Target(
        parse_workflow_task, lambda: [msgspec.json.encode(task_document(kind)) for kind in ("rag", "code")]
    ),
    "tasks of a server": Target(
        lambda data: accept_tasks(data, EXPECTED),
        lambda: [
            msgspec.json.encode(
                MINER.sign_document(TasksAnswer((numbered(1).task,), format_time(NOW), EXPECTED.nonce, UNSIGNED))
            )
        ],
    ),
    "query": Target(
        lambda data: parse_query(data.decode(errors="surrogateescape")),
        _plain(b"skill_type=declarative&count=4&exclude=" + b"ab" * 32),
    ),
    "step answer": Target(
        parse_step_answer,
        lambda: [
            msgspec.json.encode(
                MINER.sign_document(StepAnswer("ab" * 32, StepOutput("a", None, [1, None]), 0.001, UNSIGNED))
            )
        ],
    ),
    "code report": Target(parse_code_report, _plain({"passed": 1, "total": 2, "findings": 0})),
    "audit log": Target(_from_file(verify_file, "log.jsonl"), _log, limits.MIB, 2.0),
    "proof": Target(verify_document, lambda: [(TESTS / "golden" / "group-proof.json").read_bytes()]),
    "debate": Target(
        lambda data: debate_proof(parse_debate(data)),
        lambda: [(TESTS.parent / "docs" / "examples" / "debate.json").read_bytes()],
    ),
    "row of the chain": Target(read_row, _plain({"netuid": 1, "mechid": 0, "uid": 0, "block": 9, "row": [[1, 65535]]})),
    "simulated chain": Target(_from_file(load_state, "state.json"), _chain),
    "consensus case": Target(lambda data: decode(data, ConsensusCase, limit=64 * limits.MIB), _vectors("consensus")),
    "weights case": Target(lambda data: decode(data, WeightsCase, limit=64 * limits.MIB), _vectors("weights")),
    "attestation": Target(_attested, _attestation),
    "statement": Target(parse_statement, _statement),
    "policy of a gate": Target(
        _from_file(read_policy, "policy.toml"),
        lambda: [(TESTS.parent / "docs" / "examples" / "attestations" / "policy.toml").read_bytes()],
    ),
    "settings": Target(
        _from_file(lambda file: load_settings(file, {}), "validator.toml"),
        lambda: [(TESTS.parent / "config" / name).read_bytes() for name in ("validator.toml", "demo.toml")],
    ),
    "package manifest": Target(
        _from_file(read_packages, "packages.json"),
        _plain(
            {
                "manifest_version": "1.0",
                "packages": [
                    {
                        "name": "vulture",
                        "source": "./vulture-2.14.tar.gz",
                        "package": "pypi:vulture==2.14",
                        "version": None,
                        "artifact": {"name": "vulture-2.14.tar.gz", "sha256": "ab" * 32},
                        "bundle_sha256": "ab" * 32,
                        "skill_type": "executable_python",
                        "canary": None,
                        "windows": None,
                    }
                ],
            }
        ),
    ),
}
