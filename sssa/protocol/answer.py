"""Request and response of `POST /v1/assessments` (SPEC 13), and the probes and canary markers of a nonce (SPEC 5)."""

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sssa.protocol import limits
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import OfAssessment, SkillType
from sssa.protocol.sssa import Document, Hex32, Sssa, Text, check_sssa
from sssa.protocol.strict_json import SchemaError, decode, require_room

Role = Literal["primary", "auditor"]
Id = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z-]{1,64}\Z")]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]


class ProbeEvidence(Document, frozen=True):
    """The four probe values, as dispatched and as echoed."""

    file_path: Text
    file_content: Text
    dns_host: Text
    process_echo: Text


class CanarySpec(Document, frozen=True):
    """The bundle file whose last line is the canary marker."""

    file: Text


class Dispatch(OfAssessment, Document, frozen=True):
    """The request body.

    `nonce` is per task; windows are the receiver's own role's; `runtime_image` is null for content types.
    """

    round_id: Id
    task_id: Id
    skill_type: SkillType
    role: Role
    t_min_s: Seconds
    deadline_s: Seconds
    nonce: Hex32
    probe_spec: ProbeEvidence
    canary_spec: CanarySpec | None
    runtime_image: RuntimeImage | None
    bundle_sha256: Hex32
    bundle: str


class Answer(Document, frozen=True):
    """The response body."""

    sssa: Sssa
    probe_evidence: ProbeEvidence
    trace_bundle: str | None


def answer_limit(*, runtime_primary: bool) -> int:
    """Return the most bytes a response body may have (SPEC 5)."""
    return limits.MAX_BODY_RUNTIME_PRIMARY if runtime_primary else limits.MAX_BODY


def parse_answer(data: bytes, *, limit: int) -> Answer:
    """Return the answer in `data`, all limits of SPEC 5 but those of the trace bundle enforced (gate 2).

    Raises:
        JsonError: not an answer, or over a limit; the text names the field.
    """
    answer = decode(data, Answer, limit=limit, values=limits.MAX_ANSWER_VALUES)
    try:
        check_sssa(answer.sssa)
    except SchemaError as error:
        raise SchemaError(error.detail.replace("at `", "at `sssa.")) from None
    require_room(answer.sssa, limits.MAX_ATTESTATION, "sssa")
    return answer


def encode_dispatch(dispatch: Dispatch) -> bytes:
    """Return the request body."""
    return msgspec.json.encode(dispatch)


def probe_values(nonce: str) -> ProbeEvidence:
    """Return the probes of a task whose nonce is the 64 hex digits `nonce` (SPEC 5)."""
    slug = nonce[:8]
    return ProbeEvidence(
        file_path=f"/tmp/sssa/probe-{slug}.txt",  # noqa: S108 - the path is the protocol's, inside the miner's sandbox
        file_content=f"{slug}probe",
        dns_host=f"{slug}.probe.sssa.invalid",
        process_echo=f"{slug}probe-echo",
    )


def canary_marker(nonce: str) -> str:
    """Return the marker that a correct analysis reports as canary_match (SPEC 13)."""
    return "CANARY-" + hashlib.sha256(bytes.fromhex(nonce) + b"canary").hexdigest()[:16]


def canary_line(nonce: str, path: str) -> str:
    """Return the line that is appended to the file `path`: an HTML comment in Markdown, else the bare marker."""
    marker = canary_marker(nonce)
    return f"<!-- {marker} -->" if path.endswith(".md") else marker
