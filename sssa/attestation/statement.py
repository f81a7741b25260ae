"""Content of a published attestation: an in-toto Statement v1 with a predicate of ours, closed and bounded. Pure."""

import re
from collections import Counter
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sssa.attestation.dsse import MAX_PAYLOAD, EnvelopeError
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.limits import MAX_CAPABILITIES, MAX_FINDINGS, MAX_RULES
from sssa.protocol.receipt import Count, Decimal, Digest, Hotkey, Version
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Category, Cves, Document, Rule, Severity, Text, Unit, Verdict
from sssa.protocol.strict_json import JsonError, SchemaError, decode
from sssa.protocol.times import parse_time

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:sssa:skill-safety:v1"
_DEPTH: Final = 8
_VALUES: Final = 50_000
PURL: Final = re.compile(r"\Apkg:[A-Za-z0-9.+_~%/@:-]{1,500}\Z")
Purl = Annotated[str, Meta(pattern=PURL.pattern)]


class Sha256(Document, frozen=True):
    """A digest as in-toto names it."""

    sha256: Digest


class Subject(Document, frozen=True):
    """The bundle: its file's name, its digest, and the package URL of what was packed, where that is known."""

    name: Annotated[str, Meta(max_length=200)]
    digest: Sha256
    uri: Purl | UnsetType = UNSET


class AttestedFinding(Document, frozen=True):
    """A finding that a majority of the valid answers reports, in the normal form of its key (SPEC 3).

    Attributes:
        place: normal form of the evidence reference; empty for an advisory on a dependency, which `target` names.
        reporters: number of valid answers with this finding.
    """

    category: Category
    severity: Severity
    place: Text
    cve_ids: Cves
    target: Text
    reporters: Count


class Signer(Document, frozen=True):
    """A miner with a valid answer, and the sha256 of its attestation's canonical bytes."""

    hotkey: Hotkey
    role: Literal["primary", "auditor"]
    verdict: Verdict
    sssa_sha256: Digest


class Agreement(Document, frozen=True):
    """The support of the verdict.

    Attributes:
        asked: dispatches of the task that count.
        valid: answers that passed every gate.
        agreeing: valid answers with the verdict, `primaries` and `auditors` of them by role.
        threshold: number of valid answers that makes a finding, a capability or a rule one of the group.
        detects_copies: false: copied answers look like agreement (SPEC 17).
        signers: one per valid answer.
    """

    asked: Count
    valid: Count
    agreeing: Count
    primaries: Count
    auditors: Count
    threshold: Count
    detects_copies: Literal[False]
    signers: Annotated[tuple[Signer, ...], Meta(max_length=64)]


class Origin(Document, frozen=True):
    """The round behind the statement.

    Attributes:
        receipt, receipt_sha256: number and digest of the round's receipt in the validator's log.
        proof_checksum, proof_sha256: of the task's consensus proof (SPEC 14).
        truth_known: the validator knew the verdict before, and it is this one.
    """

    validator_hotkey: Hotkey
    netuid: Count
    round_id: Decimal
    task_id: Annotated[str, Meta(max_length=64)]
    block: Count
    skill_type: SkillType
    program_version: Version
    scoring_version: Version
    receipt: Count
    receipt_sha256: Digest
    proof_checksum: Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
    proof_sha256: Digest
    truth_known: bool


class Predicate(Document, frozen=True):
    """The group's answer to "may I give this skill to my agent?".

    Attributes:
        risk: mean of the valid answers.
        capabilities: sorted; those that `agreement.threshold` valid answers name, as are `policy`'s rules.
        issued_at: when the round ended, SPEC 13 form, as is `until`, from which on it does not hold.
    """

    verdict: Verdict
    risk: Unit
    findings: Annotated[tuple[AttestedFinding, ...], Meta(max_length=MAX_FINDINGS)]
    capabilities: Annotated[tuple[Text, ...], Meta(max_length=MAX_CAPABILITIES)]
    policy: Annotated[tuple[Rule, ...], Meta(max_length=MAX_RULES)]
    agreement: Agreement
    origin: Origin
    issued_at: str
    until: str


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename={"type": "_type"}):
    """An in-toto Statement v1 with one subject."""

    type: Literal["https://in-toto.io/Statement/v1"]
    subject: Annotated[tuple[Subject, ...], Meta(min_length=1, max_length=1)]
    predicateType: Literal["urn:sssa:skill-safety:v1"]  # noqa: N815 - in-toto's name
    predicate: Predicate

    @property
    def sha256(self) -> str:
        """The bundle's digest."""
        return self.subject[0].digest.sha256


def statement_of(sha256: str, purl: str | None, predicate: Predicate) -> Statement:
    """Return the statement about a bundle."""
    subject = Subject(f"{sha256}.tar.gz", Sha256(sha256), purl or UNSET)
    return Statement(STATEMENT_TYPE, (subject,), PREDICATE_TYPE, predicate)


def payload_of(statement: Statement) -> bytes | None:
    """Return a statement's canonical bytes; None where it is larger than anybody would read."""
    data = canonical_bytes(statement)
    return data if len(data) <= MAX_PAYLOAD else None


def parse_statement(data: bytes) -> Statement:
    """Return the statement in an envelope's payload (EnvelopeError: it is none; the text names the field)."""
    try:
        parsed = decode(data, Statement, limit=MAX_PAYLOAD, depth=_DEPTH, values=_VALUES)
        for name in ("issued_at", "until"):
            parse_time(getattr(parsed.predicate, name), name)
        _require_support(parsed.predicate)
    except (JsonError, SchemaError) as error:
        raise EnvelopeError(f"its statement: {error}") from None
    return parsed


def _require_support(predicate: Predicate) -> None:
    """Check that the signers give the verdict and its counts (SchemaError: they do not)."""
    agreed = predicate.agreement
    votes = Counter(signer.verdict for signer in agreed.signers)
    roles = Counter(signer.role for signer in agreed.signers if signer.verdict == predicate.verdict)
    counted = (len(agreed.signers), roles.total(), roles["primary"], roles["auditor"])
    if counted != (agreed.valid, agreed.agreeing, agreed.primaries, agreed.auditors):
        raise SchemaError("agreement: its counts are not those of its signers")
    if votes[predicate.verdict] < max([1, *votes.values()]):
        raise SchemaError(f"agreement: its signers do not say {predicate.verdict}")
    if len({signer.hotkey for signer in agreed.signers}) != len(agreed.signers):
        raise SchemaError("agreement: a signer counts twice")
