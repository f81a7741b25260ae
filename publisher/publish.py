"""Signed attestations from the records of past rounds, for the API and `validator attestation`. Reads store and key.

Nothing is published that could help a miner: only bundles that this validator never dispatches again have one, and
none that was planted, was a canary, or was given with a marker. Where that cannot be known there is none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import UNSET

from publisher.keys import PublishingKeyError, key_file_of, load_key, newest_statement
from publisher.packages import purls_of
from sssa.attestation.dsse import PublishingKey
from sssa.attestation.statement import (
    Agreement,
    AttestedFinding,
    Origin,
    Predicate,
    Signer,
    payload_of,
    statement_of,
)
from sssa.attestation.verify import key_fault
from sssa.protocol import typed
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.receipt import ProofNote, Receipt
from sssa.protocol.results import Submission
from sssa.protocol.round import AssessmentTask, GroupOutcome, GroupPlan, RoundInput
from sssa.protocol.sssa import Finding, Rule
from sssa.protocol.task import Truth
from sssa.protocol.times import format_time, parse_time
from sssa.scoring import Claims, FindingKeys, Version, compare_answers, version
from sssa.sources import Clock
from validator import __version__
from validator.settings.model import Settings
from validator.store import Transaction
from validator.store.repositories.receipts import receipt_of
from validator.store.rows import TaskRecord

_KEPT: Final = 256  # statements in memory


class Published(NamedTuple):
    """An attestation as it is handed out.

    Attributes:
        sha256: of the bundle.
        purl: of the package that it was packed from; None where that is not known.
        document: `{"envelope":…,"key":…}` in RFC 8785 bytes; `key` is the receipt that vouches for the key. The same
            bytes until the key is replaced.
    """

    sha256: str
    purl: str | None
    document: bytes


class Revoked(NamedTuple):
    """A bundle whose attestation was taken back: the line of the receipt that says so."""

    sha256: str
    line: bytes


class Refused(NamedTuple):
    """A bundle without an attestation. `why` is for the operator alone: it could help a miner."""

    sha256: str
    why: str


Answer = Published | Revoked | Refused


class _SilentError(Exception):
    """No attestation of a bundle is published."""


class _Facts(NamedTuple):
    """Signed facts about a bundle: the round, the validity, and the statement's bytes."""

    round_id: int
    until: datetime
    payload: bytes


@dataclass(slots=True)
class Publisher:
    """The attestations of a validator, for readers of its store.

    Args:
        key: that signs; None where none is read yet, or nothing is signed.
        valid: how long after its round an attestation holds.
        purls: sha256 of a bundle to the URL of its package.
        clock: for the validity of the key and of statements.
        file: of the key, read again when the log has another; None where nothing is signed, or `key` is all there is.
    """

    key: PublishingKey | None
    valid: timedelta
    purls: Mapping[str, str]
    clock: Clock
    file: Path | None = None
    _made: dict[str, _Facts] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, clock: Clock) -> "Publisher":
        """Return that of the settings (TaskError: the manifest cannot be used)."""
        chosen = settings.attestations
        file = key_file_of(settings) if chosen.enabled else None
        return cls(None, timedelta(days=chosen.valid_days), purls_of(chosen.package_manifest), clock, file)

    def bundles_of(self, purl: str) -> tuple[str, ...]:
        """Return the sha256 of every bundle that was packed from the package with this URL."""
        return tuple(sorted(sha256 for sha256, url in self.purls.items() if url == purl))

    async def attestation_of(self, tx: Transaction, sha256: str) -> Answer:
        """Return the attestation of a bundle (DamagedError: a record cannot be read)."""
        revoked = await tx.receipts.about("revocation", sha256)
        if revoked is not None:
            return Revoked(sha256, revoked.line)
        try:
            key, statement = await self._vouched(tx)
            facts = await self._facts(tx, sha256)
            if self.clock.now() >= facts.until:
                raise _SilentError(f"what round {facts.round_id} found held until {format_time(facts.until)}")
        except _SilentError as silent:
            return Refused(sha256, str(silent))
        document = b'{"envelope":%b,"key":%b}' % (canonical_bytes(key.sign(facts.payload)), statement)
        return Published(sha256, self.purls.get(sha256), document)

    async def _vouched(self, tx: Transaction) -> tuple[PublishingKey, bytes]:
        """Return the key, and the line of the receipt that vouches for it."""
        if self.key is None and self.file is None:
            raise _SilentError("attestations.enabled is false")
        newest = await newest_statement(tx)
        if newest is None:
            raise _SilentError("there is no key (validator attestation key --new)")
        receipt, statement = newest
        if self.file is not None and (self.key is None or self.key.public != statement.public_key):
            try:
                self.key = load_key(self.file)
            except PublishingKeyError as error:
                raise _SilentError(str(error)) from None
        if self.key is None or self.key.public != statement.public_key:
            raise _SilentError("the newest key in the log is not the one here (validator attestation key --new)")
        fault = key_fault(statement, self.clock.now())
        if fault is not None or await tx.receipts.about("revocation", statement.public_key) is not None:
            raise _SilentError(f"{fault or 'its key was revoked'} (validator attestation key --new)")
        return self.key, receipt.line

    async def _facts(self, tx: Transaction, sha256: str) -> _Facts:
        settled = await _newest_task(tx, sha256)
        kept = self._made.get(sha256)
        if kept is None or kept.round_id != settled.round_id:
            kept = self._made[sha256] = await self._read(tx, settled)
            if len(self._made) > _KEPT:
                del self._made[next(iter(self._made))]
        return kept

    async def _read(self, tx: Transaction, task_record: TaskRecord) -> _Facts:
        """Return what the record of a task's round says of its bundle."""
        round_id, task_id = task_record.round_id, task_record.task_id
        head, record = await tx.records.head(round_id), await tx.receipts.of_round(round_id)
        outcome, plan = await tx.records.outcome(round_id), await tx.records.plan(round_id)
        if head is None or head.input is None or outcome is None or plan is None or record is None:
            raise _SilentError(f"round {round_id} has no whole record, or no receipt")
        receipt, frozen = receipt_of(record), typed.decode(head.input, RoundInput)
        proofs = () if receipt.round is None else receipt.round.lines.proofs
        proof = next((one for one in proofs if one.task_id == task_id), None)
        task = next(one for one in frozen.tasks if one.task_id == task_id)
        if proof is None or not isinstance(task, AssessmentTask):
            raise _SilentError("its task has no proof, or no bundle")
        group = next(one for one in outcome.groups if one.task_id == task_id)
        _require_plain(task, group)
        planned = next(one for one in plan.groups if one.task_id == task_id)
        results = await tx.submissions.results(round_id, [task_id])
        issued = parse_time(receipt.issued_at, "issued_at")
        predicate = _predicate(
            group,
            len(planned.members) - sum(one.task_id == task_id for one in results.alone),
            _compared(version(frozen.scoring_version), task, planned, results.answers(task_id, Submission)),
            _origin(frozen, task, receipt, record.sha256, proof),
            (receipt.issued_at, format_time(issued + self.valid)),
        )
        payload = payload_of(statement_of(task.bundle_sha256, self.purls.get(task.bundle_sha256), predicate))
        if payload is None:
            raise _SilentError("its statement would be larger than anybody reads")
        return _Facts(round_id, issued + self.valid, payload)


async def _newest_task(tx: Transaction, sha256: str) -> TaskRecord:
    """Return the newest task of a bundle, which may never be dispatched again."""
    given = await tx.tasks.of_source(sha256)
    submitted = await tx.submitted.get(sha256)
    if submitted is not None and [task.round_id for task, _ in given] != [submitted.round_id]:
        submitted = None
    if submitted is None and not await tx.retired.among([sha256]):
        raise _SilentError("it may be dispatched again: it is not retired (validator tasks retire)")
    if any(state == "open" for _, state in given):
        raise _SilentError("an open round has it")
    if any(task.provenance == "canary" for task, _ in given):
        raise _SilentError("it was a canary")
    settled = next((task for task, state in given if state == task.state == "settled"), None)
    if settled is None:
        raise _SilentError("no settled round had it")
    return settled


def _require_plain(task: AssessmentTask, group: GroupOutcome) -> None:
    """Refuse a bundle that was given with a marker or planted faults, and a verdict that is known to be wrong."""
    truth = task.truth
    if task.canary is not None or task.planted or task.bundle_sha256 != task.source_sha256:
        raise _SilentError("it was given with a marker, or made here")
    if truth is not None and (truth.injections or truth.mark is not UNSET or _has_planted(truth)):
        raise _SilentError("its truth has planted faults")
    if group.verdict is None or (truth is not None and truth.verdict != group.verdict):
        raise _SilentError("its answers gave no verdict, or not that of its truth")


def _has_planted(truth: Truth) -> bool:
    return any("/" in finding.kind for finding in (truth.findings or ()))


class _Compared(NamedTuple):
    """The valid answers of a task: the group's claims, its findings by key, the answers in the order of the plan."""

    claims: Claims
    findings: Mapping[str, AttestedFinding]
    answers: tuple[Submission, ...]


def _compared(scored_by: Version, task: AssessmentTask, planned: GroupPlan, answers: Sequence[Submission]) -> _Compared:
    keys = FindingKeys()
    compared = compare_answers(scored_by, task, planned, answers, keys)
    if compared.group is None:
        raise _SilentError("too few answers are valid")
    reporters = Counter(key for member in compared.members for key in member.claims.findings)
    findings = {
        key: _attested(keys.parts(finding), finding, reporters[key])
        for answer in answers
        for finding in answer.sssa.analysis.findings
        if (key := keys.key(finding)) in compared.group.findings
    }
    by_hotkey = {answer.hotkey: answer for answer in answers}
    return _Compared(compared.group, findings, tuple(by_hotkey[member.hotkey] for member in compared.members))


def _attested(parts: tuple[str, str, str, str, str], finding: Finding, reporters: int) -> AttestedFinding:
    _, _, place, cves, target = parts
    return AttestedFinding(
        finding.category, finding.severity, place, tuple(cves.split(",")) if cves else (), target, reporters
    )


def _predicate(
    group: GroupOutcome, member_count: int, compared: _Compared, origin: Origin, times: tuple[str, str]
) -> Predicate:
    claims = compared.claims
    if claims.verdict != group.verdict:
        raise _SilentError("its answers no longer give the verdict of its round")
    signers = tuple(
        Signer(one.hotkey, one.role, one.sssa.analysis.verdict, one.sssa_sha256) for one in compared.answers
    )
    roles = Counter(signer.role for signer in signers if signer.verdict == claims.verdict)
    agreement = Agreement(
        asked=member_count,
        valid=len(signers),
        agreeing=roles.total(),
        primaries=roles["primary"],
        auditors=roles["auditor"],
        threshold=group.threshold,
        detects_copies=False,
        signers=signers,
    )
    return Predicate(
        verdict=claims.verdict,
        risk=claims.risk,
        findings=tuple(compared.findings[key] for key in sorted(compared.findings)),
        capabilities=tuple(sorted(claims.capabilities)),
        policy=tuple(Rule(*rule) for rule in sorted(claims.rules)),
        agreement=agreement,
        origin=origin,
        issued_at=times[0],
        until=times[1],
    )


def _origin(frozen: RoundInput, task: AssessmentTask, receipt: Receipt, digest: str, proof: ProofNote) -> Origin:
    return Origin(
        validator_hotkey=receipt.validator_hotkey,
        netuid=frozen.snapshot.netuid,
        round_id=frozen.round_id,
        task_id=task.task_id,
        block=frozen.snapshot.block,
        skill_type=task.skill_type,
        program_version=__version__,
        scoring_version=frozen.scoring_version,
        receipt=receipt.sequence,
        receipt_sha256=digest,
        proof_checksum=proof.checksum,
        proof_sha256=proof.sha256,
        truth_known=task.truth is not None,
    )
