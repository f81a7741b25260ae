"""Receipts, lines of an audit file, documents of weight vectors, and anchors of the log on chain (docs/auditors.md).

A line is `{"KIND":DOCUMENT}` in RFC 8785 bytes. Its digest is the sha256 of those bytes, without the newline behind it.
An anchor is text, so that explorers show it: `sssa-log:1:SEQUENCE:DIGEST`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sssa.protocol.canonical import canonical_bytes, canonical_plain, sha256_hex
from sssa.protocol.limits import MAX_LOG_MINERS, MAX_SAFE_INTEGER
from sssa.protocol.results import (
    Packed,
    RawAnswers,
    Rejection,
    Submission,
    VoidDispatch,
    VoidTask,
    WorkflowSubmission,
)
from sssa.protocol.round import (
    MAX_REASON,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    take_curated,
    take_truths,
)
from sssa.protocol.skill_types import Kind
from sssa.protocol.sssa import Document, Signature, Unit

RECEIPT_VERSION: Final = "1"

LineKind = Literal["receipt", "input", "plan", "answers", "sssa", "outcome", "proof", "weights", "truth", "curated"]
ReceiptKind = Literal["opening", "round", "closing", "weights", "fate", "key", "revocation"]
FateState = Literal["confirmed", "rejected", "unknown", "expired"]
RoundEndState = Literal["settled", "void", "skipped", "abandoned"]
Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
BlockHash = Annotated[str, Meta(pattern=r"\A[0-9a-f]{0,128}\Z")]
Code = Annotated[str, Meta(pattern=r"\A[a-z0-9_]{1,64}\Z")]
Decimal = Annotated[str, Meta(pattern=r"\A(0|[1-9][0-9]{0,15})\Z")]
Hotkey = Annotated[str, Meta(pattern=r"\A[1-9A-HJ-NP-Za-km-z]{1,64}\Z")]
Version = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z.+-]{1,40}\Z")]


class ProofNote(Document, frozen=True):
    """A task's proof: its checksum (SPEC 14) and the digest of its line."""

    task_id: Annotated[str, Meta(pattern=r"\A[0-9A-Za-z-]{1,64}\Z")]
    checksum: Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
    sha256: Digest


class RevealedSalt(Document, frozen=True):
    """The salt of an epoch that is over (SPEC 8), hex."""

    epoch: Count
    salt: Digest


class RoundLines(Document, frozen=True):
    """Digests of a round's lines; None where the round has no such line.

    Attributes:
        input: frozen input without its seed.
        answers: what came back; it names the attestations by their own digests.
        proofs: one per task of the outcome, in plan order.
    """

    input: Digest | None = None
    plan: Digest | None = None
    answers: Digest | None = None
    outcome: Digest | None = None
    proofs: tuple[ProofNote, ...] = ()


class RoundEnd(Document, frozen=True):
    """End of a round.

    Attributes:
        round_id, epoch, block, block_hash: which round, and what it was pinned to.
        state, reason: its end.
        scoring_version: None where it was not scored and its input is not known.
        lines: its other lines.
    """

    round_id: Decimal
    epoch: Count
    block: Count
    block_hash: BlockHash
    state: RoundEndState
    reason: Code
    scoring_version: Version | None
    lines: RoundLines

    @property
    def index(self) -> int:
        """The round's id as the number that the program counts and stores by."""
        return int(self.round_id)


class WeightsLink(Document, frozen=True):
    """A vector that was computed (SPEC 16, D-28).

    Attributes:
        block, block_hash: of the snapshot that it was computed on.
        scoring_version: that it was computed under.
        reason: code of why it is not sent; None where it is.
        sha256: digest of its line, which has its result.
    """

    netuid: Count
    mechid: Count
    epoch: Count
    block: Count
    block_hash: BlockHash
    scoring_version: Version
    reason: Code | None
    sha256: Digest


class FateLink(Document, frozen=True):
    """Fate of a submitted vector (SPEC 16, D-28).

    Attributes:
        weights: sequence number of the receipt of the vector.
        state: `confirmed`: on chain; `rejected`: refused; `unknown`: it may still arrive, or have arrived; `expired`:
            it is not on chain and cannot arrive any more. The last one of a vector counts.
        extrinsic: the chain's id, None where it gave none.
        block: of inclusion, None without one.
    """

    weights: Count
    state: FateState
    extrinsic: Annotated[str, Meta(max_length=128)] | None
    block: Count | None


class KeyStatement(Document, frozen=True):
    """An ed25519 key for which this hotkey vouches: it signs the validator's attestations (docs/attestations.md).

    Attributes:
        public_key: hex of its 32 bytes.
        valid_from, valid_until: SPEC 13 form; it signs nothing outside.
        replaces: the key of the statement before, which signs nothing from now on; None for the log's first.
    """

    public_key: Digest
    valid_from: str
    valid_until: str
    replaces: Digest | None


class Revocation(Document, frozen=True):
    """Permanent revocation of the validator's attestations.

    Attributes:
        what: the attestations of a bundle, or all that a key signed.
        subject: the bundle's sha256, or the public key.
        reason: the operator's words.
    """

    what: Literal["attestation", "key"]
    subject: Digest
    reason: Annotated[str, Meta(min_length=1, max_length=MAX_REASON)]


class Receipt(Document, frozen=True):
    """One entry of a validator's log (SPEC 8).

    Attributes:
        receipt_version: form of this document.
        sequence: 0, 1, 2, ... without gaps; 0 opens the log.
        kind: opening, round, closing, weights, fate, key or revocation.
        issued_at: SPEC 13 form; when the round ended, or when that was written.
        previous: digest of the previous receipt's line; None for the first.
        first_round: of the opening receipt only: the first round of the log.
        round: of a round's receipt only.
        epoch: the epoch that draws now, None before the first.
        commitment: sha256 of its salt, None before the first.
        next_commitment: sha256 of the salt that the next epoch will use.
        salts: of epochs that are over, by epoch.
        weights: of a receipt of that kind only; absent in others, and `fate`, `key` and `revocation` the same.
    """

    receipt_version: Literal["1"]
    sequence: Count
    kind: ReceiptKind
    validator_hotkey: Hotkey
    issued_at: str
    previous: Digest | None
    first_round: Decimal | None
    round: RoundEnd | None
    epoch: Count | None
    commitment: Digest | None
    next_commitment: Digest
    salts: tuple[RevealedSalt, ...]
    signature: Signature
    weights: WeightsLink | UnsetType = UNSET
    fate: FateLink | UnsetType = UNSET
    key: KeyStatement | UnsetType = UNSET
    revocation: Revocation | UnsetType = UNSET


def line(kind: LineKind, document: Any) -> bytes:
    """Return a document's line, without the newline."""
    return wrapped(kind, canonical_bytes(document))


def wrapped(kind: LineKind, canonical: bytes) -> bytes:
    """Return the line of a document's canonical bytes."""
    return b'{"%s":%s}' % (kind.encode(), canonical)


def input_line(frozen: RoundInput) -> bytes:
    """Return a round input's line; see `input_lines`."""
    return input_lines(msgspec.to_builtins(frozen))[0]


def input_lines(plain: dict[str, Any]) -> tuple[bytes, list[dict[str, Any]], dict[str, Any] | None]:
    """Return the line of an input's plain form, and the documents of truths and curated records that it commits to.

    It is without the seed, which follows from the salt once that is public (SPEC 8), and without those documents, which
    have their own lines (SPEC 16, D-31; SPEC 17). The form is used up.
    """
    del plain["seed"]
    truths, curated = take_truths(plain["tasks"]), take_curated(plain)
    return line("input", plain), truths, curated


def plan_line(plan: RoundPlan) -> bytes:
    """Return a plan's line."""
    return line("plan", plan)


class AnswersDocument(Document, frozen=True):
    """Results of a round as stored in the answers' line, each list in the order of the plan; see `RoundResults`.

    Of a submission the line has no `sssa`: each has its own line.
    """

    submissions: tuple[Submission, ...]
    rejections: tuple[Rejection, ...]
    void: tuple[VoidTask, ...]
    workflows: tuple[WorkflowSubmission, ...]
    void_dispatches: tuple[VoidDispatch, ...]
    raw: RawAnswers


def answers_line(  # noqa: PLR0913 - everything that came back
    passed: Iterable[Packed],
    *,
    rejections: Sequence[Any],
    void: Sequence[Any],
    alone: Sequence[Any],
    raw: Sequence[Any],
    commands: Mapping[str, Sequence[str]],
) -> bytes:
    """Return the line of what came back: attestations by digest, each with its own line, plans and runs in whole.

    Args:
        passed: of an attestation, its fields alone are looked at.
        rejections: these and the next three as in `RoundResults`, as values or as plain JSON.
        void: see there.
        alone: see there.
        raw: see there.
        commands: by task, the expected commands of a committed truth: a traced one of them is written as its place in
            the truth (SPEC 16, D-31).
    """
    submissions: list[Mapping[str, Any]] = []
    workflows: list[Mapping[str, Any]] = []
    for one in passed:
        if one.run is None:
            submissions.append(_without_commands(one.fields, commands.get(one.task_id, ())))
        else:
            workflows.append({**one.fields, "plan": msgspec.Raw(one.signed), "run": msgspec.Raw(one.run)})
    ends = {"rejections": rejections, "void": void, "void_dispatches": alone, "raw": raw}
    return canonical_plain(
        {"answers": {**msgspec.to_builtins(ends), "submissions": submissions, "workflows": workflows}}
    )


def _without_commands(submission: Mapping[str, Any], expected: Sequence[str]) -> Mapping[str, Any]:
    shown = submission["shell_commands"]
    if not expected or not shown:
        return submission
    return {**submission, "shell_commands": [str(expected.index(one)) for one in shown]}


def outcome_line(outcome: RoundOutcome) -> bytes:
    """Return an outcome's line."""
    return line("outcome", outcome)


def line_digest(data: bytes) -> str:
    """Return the digest of a line, given without its newline."""
    return sha256_hex(data)


Score = Annotated[float, Meta(ge=0)]
U16 = Annotated[int, Meta(ge=0, le=65_535)]


class PaidType(Document, frozen=True):
    """A paid type of a miner under 2.0.0: its six components, epsilon, quality x and presence h (D-41)."""

    findings: Unit
    verdict: Unit
    risk: Unit
    capabilities: Unit
    dependencies: Unit
    rules: Unit
    epsilon: Unit
    quality: Annotated[float, Meta(ge=0, le=2)]
    presence: Unit


class Pool(Document, frozen=True):
    """Values that all miners of a vector of 2.0.0 share (SPEC 17, D-41, D-42).

    Attributes:
        ratios: p, by component.
        verdicts: q, by skill type.
        risks: z, by skill type.
        share: lambda.
    """

    ratios: dict[str, Unit]
    verdicts: dict[str, dict[str, Unit]]
    risks: dict[str, Unit]
    share: Unit


class WeightedMiner(Document, frozen=True):
    """A registered hotkey with a window.

    Attributes:
        hotkey, uid: whose, as of the snapshot.
        assessments, workflows: its score of each kind, 0 where the mechanism does not pay it or nothing of it is paid.
        weight: its share, capped; 0 where it has none.
        unpaid: skill type to reason, of its windows that do not pay; absent where all do.
        parts: by skill type, of the windows of tallies that pay; unset before 2.0.0, as are the fields below.
        entries: n, their tallies; absent without any.
        factor: f of the curated record.
    """

    hotkey: Hotkey
    uid: U16
    assessments: Score
    workflows: Score
    weight: Unit
    unpaid: dict[str, Code] | UnsetType = UNSET
    parts: dict[str, PaidType] | UnsetType = UNSET
    entries: Count | UnsetType = UNSET
    factor: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET


class Owner(Document, frozen=True):
    """The subnet's owner, who takes what cannot be placed (D-11)."""

    hotkey: Hotkey
    uid: U16


class WeightsDocument(Document, frozen=True):
    """A mechanism's vector for an epoch.

    Attributes:
        kinds: what the mechanism pays for, assessments first.
        round_id: the newest round frozen before the snapshot, whose version computed it; None: there was none.
        next_round: rounds from this id on were not opened yet; those before it that the log does not hold were open.
        since_round: declarations are those of the rounds after this one; None: of all.
        owner: None where the chain names none that is registered.
        miners: by hotkey. Who has a window and is not among them was not registered, and is left out.
        workflow_share: of the pay, where the mechanism pays both kinds; else None.
        unallocated: share that no miner takes.
        row: [uid, u16] by uid, as the chain should store it; empty where no miner has a score.
        pool: what tallies are compared with; unset before 2.0.0.
    """

    kinds: tuple[Kind, ...]
    round_id: Decimal | None
    next_round: Decimal
    since_round: Decimal | None
    owner: Owner | None
    miners: Annotated[tuple[WeightedMiner, ...], Meta(max_length=MAX_LOG_MINERS)]
    workflow_share: Unit | None
    unallocated: Annotated[float, Meta(ge=-1, le=1)]
    row: Annotated[tuple[tuple[U16, U16], ...], Meta(max_length=MAX_LOG_MINERS + 1)]
    pool: Pool | UnsetType = UNSET


MAX_CONTENT: Final = 128  # bytes that one plain field of a commitment holds on chain
_FORM: Final = re.compile(rb"sssa-log:1:(0|[1-9][0-9]{0,15}):([0-9a-f]{64})")


class Anchor(NamedTuple):
    """A receipt of the log.

    Attributes:
        digest: sha256 of its line, lower-case hex.
    """

    sequence: int
    digest: str

    def content(self) -> bytes:
        """Return the bytes that are on chain, at most MAX_CONTENT."""
        return f"sssa-log:1:{self.sequence}:{self.digest}".encode()


def anchor_of(content: bytes | None) -> Anchor | None:
    """Return the anchor that `content` is, None if it is something else."""
    match = None if content is None else _FORM.fullmatch(content)
    return None if match is None else Anchor(int(match[1]), match[2].decode())
