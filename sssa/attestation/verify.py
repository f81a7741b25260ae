"""Verification of attestations with nothing but themselves: no I/O. For consumers, commands and the gate.

Everything must hold now: the envelope, the key, its statement by the hotkey, and the time until which it was given.
What was taken back shows only to those who have the receipts of it (`Withdrawn`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import BinaryIO, Final, NamedTuple

from msgspec import UNSET

from sssa.attestation.dsse import MAX_ENVELOPE, Envelope, key_id, opened
from sssa.attestation.statement import Statement, parse_statement
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import CLOCK_TOLERANCE_S, MAX_RECEIPT
from sssa.protocol.receipt import KeyStatement, Receipt
from sssa.protocol.signatures import verify_document
from sssa.protocol.sssa import Document, Verdict
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.times import parse_time

MAX_HANDED: Final = MAX_ENVELOPE + 64 * 1024
_DEPTH: Final = 8
_VALUES: Final = 2_000
_LINE: Final = b'{"receipt":{'


class AttestationError(ValidatorError):
    """The attestation does not hold."""


class ReceiptLine(Document, frozen=True):
    """The line of a receipt."""

    receipt: Receipt


class Handed(Document, frozen=True):
    """An attestation as it is handed out; see `publish.Published`."""

    envelope: Envelope
    key: ReceiptLine


class Verified(NamedTuple):
    """An attestation that holds: its statement, whose it is, and the id of the key that signed it."""

    statement: Statement
    hotkey: str
    keyid: str

    @property
    def sha256(self) -> str:
        """The bundle's digest."""
        return self.statement.sha256

    @property
    def verdict(self) -> Verdict:
        """The group's verdict."""
        return self.statement.predicate.verdict


@dataclass(slots=True)
class Withdrawn:
    """Signed receipts that take something back: by hotkey, the revoked bundles, and keys revoked or replaced."""

    bundles: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, line: bytes) -> None:
        """Take in the line of a receipt; others than of keys and revocations say nothing (AttestationError: forged)."""
        receipt = parse_receipt(line)
        hotkey = receipt.validator_hotkey
        if receipt.revocation is not UNSET:
            known = self.bundles if receipt.revocation.what == "attestation" else self.keys
            known[hotkey].add(receipt.revocation.subject)
        elif receipt.key is not UNSET and receipt.key.replaces is not None:
            self.keys[hotkey].add(receipt.key.replaces)

    def read(self, file: BinaryIO) -> None:
        """Take in an audit file, or the lines of receipts alone (AttestationError: a receipt in it is forged)."""
        for line in _receipts(file):
            self.add(line)


def _receipts(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of receipts of keys and revocations; a line that is longer than any receipt is passed over."""
    begins = True
    while raw := file.readline(MAX_RECEIPT + 1):
        whole = raw.endswith(b"\n") or len(raw) <= MAX_RECEIPT
        if begins and whole and raw.startswith(_LINE) and (b'"kind":"key"' in raw or b'"kind":"revocation"' in raw):
            yield raw.rstrip()
        begins = raw.endswith(b"\n")


def parse_receipt(line: bytes) -> Receipt:
    """Return a receipt that its hotkey signed (AttestationError: it is none, or was changed)."""
    try:
        receipt = decode(line, ReceiptLine, limit=MAX_RECEIPT, depth=_DEPTH, values=_VALUES).receipt
    except JsonError as error:
        raise AttestationError(f"no receipt: {error}") from None
    return _signed(receipt)


def _signed(receipt: Receipt) -> Receipt:
    if not verify_document(receipt, receipt.validator_hotkey):
        raise AttestationError(f"its receipt is not signed by {receipt.validator_hotkey}: it was changed")
    return receipt


def stated(receipt: Receipt) -> KeyStatement:
    """Return the statement in a receipt (AttestationError: it has none)."""
    if receipt.key is UNSET:
        raise AttestationError(f"a receipt of kind {receipt.kind} vouches for no key")
    return receipt.key


def key_fault(statement: KeyStatement, at: datetime) -> str | None:
    """Return why a key signs nothing at a moment, None where it may (SchemaError: a time is none)."""
    if at < parse_time(statement.valid_from, "valid_from"):
        return f"its key is valid from {statement.valid_from} on"
    if at >= parse_time(statement.valid_until, "valid_until"):
        return f"its key was valid until {statement.valid_until}"
    return None


def parse_handed(data: bytes, keys: Collection[Receipt] = ()) -> tuple[Envelope, Receipt]:
    """Return an envelope and the receipt that vouches for its key.

    Args:
        data: a document as the API hands it out, or an envelope alone.
        keys: receipts for envelopes alone, of which the one is taken whose key the envelope names.

    Raises:
        AttestationError: it is neither, or no receipt vouches for its key.
    """
    alone = b'"envelope"' not in data
    try:
        if not alone:
            handed = decode(data, Handed, limit=MAX_HANDED, depth=_DEPTH, values=_VALUES)
            return handed.envelope, _signed(handed.key.receipt)
        envelope = decode(data, Envelope, limit=MAX_HANDED, depth=_DEPTH, values=_VALUES)
    except JsonError as error:
        raise AttestationError(str(error)) from None
    named = {signature.keyid for signature in envelope.signatures}
    vouched = next((one for one in keys if key_id(stated(one).public_key) in named), None)
    if vouched is None:
        raise AttestationError("nothing vouches for its key: give the key's statement (--key)")
    return envelope, vouched


def verify_attestation(
    envelope: Envelope, vouched: Receipt, now: datetime, withdrawn: Withdrawn | None = None
) -> Verified:
    """Return what an attestation says (AttestationError, EnvelopeError, SchemaError: it does not hold, and why)."""
    hotkey, key = vouched.validator_hotkey, stated(vouched)
    fault = key_fault(key, now)
    if fault is not None:
        raise AttestationError(fault)
    if withdrawn is not None and key.public_key in withdrawn.keys[hotkey]:
        raise AttestationError("its key was revoked or replaced")
    statement = parse_statement(opened(envelope, key.public_key))
    predicate = statement.predicate
    if predicate.origin.validator_hotkey != hotkey:
        raise AttestationError(f"it names {predicate.origin.validator_hotkey}, its key is vouched for by {hotkey}")
    if parse_time(predicate.issued_at, "issued_at") > now + timedelta(seconds=CLOCK_TOLERANCE_S):
        raise AttestationError(f"it is of {predicate.issued_at}, which is to come")
    if parse_time(predicate.until, "until") <= now:
        raise AttestationError(f"it held until {predicate.until}")
    if withdrawn is not None and statement.sha256 in withdrawn.bundles[hotkey]:
        raise AttestationError("it was revoked")
    return Verified(statement, hotkey, key_id(key.public_key))
