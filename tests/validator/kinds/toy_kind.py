"""A third kind of task as a whole room: miners sign an attestation of a hash alone, and a runner stamps it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

import msgspec

from sssa.kinds.interface import Kind, ProvenTask, Request
from sssa.kinds.judging import Expected, Judged, reject_answer
from sssa.kinds.task_explanation import TaskExplanation, TaskFacts, explain_task
from sssa.proofs.builder import ConsensusBuilder
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.records import VoteType
from sssa.protocol.answer import Role
from sssa.protocol.canonical import digest, sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Checks, Packed, Rejection, Submission, packed
from sssa.protocol.round import AssessmentTask, RoundInput
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.signatures import verify_document
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Sssa
from sssa.protocol.strict_json import JsonError, decode
from sssa.scoring import Fault, Version

PATH: Final = "/v1/toys"
LIMIT: Final = 100_000


def requests(
    round_id: str, _image: RuntimeImage, task: AssessmentTask, _bundle: bytes | None
) -> Mapping[Role, Request]:
    """A name, a hash and a nonce; no bundle."""
    asked = {"round_id": round_id, "type": task.skill_type, "sha256": task.bundle_sha256, "nonce": task.nonce}
    bodies = {role: msgspec.json.encode({**asked, "role": role}) for role in get_args(Role)}
    return {role: Request(PATH, body, LIMIT, sha256_hex(body)) for role, body in bodies.items()}


@dataclass(frozen=True, slots=True)
class Unstamped:
    """An attestation that passed; the stamp costs, so it is put once."""

    submission: Submission

    def as_ran(self, expected: Expected[AssessmentTask], seconds: float, stored: Packed | Rejection | None) -> Judged:
        if not isinstance(stored, Packed):
            return reject_answer(expected, Reason.ACCEPTED, seconds)
        return Judged(packed(self.submission), self.submission.reason(expected.task.windows))


class Stamper:
    """The toy's runner; counts its stamps."""

    def __init__(self) -> None:
        self.stamps = 0

    async def run(
        self, _round_id: str, _expected: Expected[AssessmentTask], accepted: Unstamped, _seconds: float
    ) -> Submission:
        self.stamps += 1
        return accepted.submission


def judge(expected: Expected[AssessmentTask], body: bytes, seconds: float) -> Unstamped | Judged:
    """Two gates: a document, and whose it is."""
    try:
        sssa = decode(body, Sssa, limit=LIMIT)
    except JsonError as error:
        return reject_answer(expected, Reason.PARSE_SCHEMA, seconds, str(error))
    if not verify_document(sssa, expected.hotkey):
        return reject_answer(expected, Reason.VALIDITY_SIGNATURE, seconds)
    checks = Checks(probes=True, traces=None, manifest_digest=None, evidence_resolves=True, canary=None)
    task = expected.task
    return Unstamped(Submission(task.task_id, expected.hotkey, expected.role, seconds, sssa, digest(sssa), checks))


def completed(_version: Version, judged: Mapping[str, Judged]) -> dict[str, Packed]:
    return {hotkey: one.result for hotkey, one in judged.items() if isinstance(one.result, Packed)}


def fault(_version: Version, _task: AssessmentTask, answer: Submission) -> Fault | None:
    return None if verify_document(answer.sssa, answer.hotkey) else Fault("sssa.signature", "is not the hotkey's")


def prove(settled: ProvenTask[AssessmentTask]) -> ConsensusProof | None:
    """Everybody who answered agrees to a toy."""
    members = settled.scored.members
    if not members:
        return None
    builder = ConsensusBuilder(settled.task.task_id, "Play.", metadata={"kind": "toy"})
    for member in sorted(members, key=lambda member: member.hotkey):
        builder.record_vote(member.hotkey, VoteType.AGREE, 1.0, str(member.reason))
    return builder.build("TOY", None, True, "a toy", rounds=1)


class ToyExplanation(TaskExplanation, frozen=True, tag="toy"):
    """The fields that every explanation has, and no more."""


def explain(frozen: RoundInput, about: TaskFacts[AssessmentTask], hotkey: str) -> ToyExplanation | None:
    common = explain_task(frozen, about, hotkey, gates)
    return None if common is None else ToyExplanation(**common)


def gates(_task: AssessmentTask, _role: Role) -> tuple[int, ...]:
    return (1, 2, 3)


def misstated(
    _version: Version, _expected: Expected[AssessmentTask], _answer: Submission, _witnesses: int
) -> Fault | None:
    return None


TOY: Final[Kind[AssessmentTask, Submission]] = Kind(
    name="toy",
    types=(SkillType.DECLARATIVE,),
    runs=True,
    send=requests,
    judge=judge,
    completed=completed,
    fault=fault,
    prove=prove,
    explain=explain,
    needs_truth=lambda _v, _t, _a: True,
    gates=gates,
    misstated=misstated,
)
