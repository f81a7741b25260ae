"""The receipts of a log as a chain: signed, numbered, linked, with salts that were committed to (SPEC 8). No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET

from sssa.log.lines import Line
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.limits import MAX_RECEIPT
from sssa.protocol.receipt import KeyStatement, Receipt, RevealedSalt, RoundEnd
from sssa.protocol.signatures import verify_document
from sssa.protocol.strict_json import SchemaError
from sssa.protocol.times import parse_time


class WrongReceiptError(Exception):
    """A receipt does not follow from those before it; becomes a FaultError where the line is known."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path = path
        self.what = what


@dataclass(slots=True)
class SaltLog:
    """The salts of a log's epochs: commitments of those that are not public yet, the first epoch that the file knows.

    `doubtful` is an epoch whose salt may have become public before the file begins.
    """

    secret: dict[int, str] = field(default_factory=dict)
    first_epoch: int | None = None
    doubtful: int | None = None

    def add(self, last: Receipt | None, receipt: Receipt) -> None:
        """Check a receipt's commitments and salts and take them in (WrongReceiptError: they do not follow)."""
        new_epoch = last is None or receipt.epoch != last.epoch
        if last is not None:
            self._check_commitments(last, receipt)
        if receipt.round is not None and receipt.round.state != "skipped":
            self._check_drawn(receipt, receipt.round, new_epoch=new_epoch)
        if new_epoch and receipt.epoch is not None and receipt.commitment is not None:
            self.secret[receipt.epoch] = receipt.commitment
            if self.first_epoch is None:
                self.first_epoch = receipt.epoch
        if last is None and receipt.sequence and (receipt.round is None or receipt.round.state == "skipped"):
            self.doubtful = receipt.epoch
        self._reveal(receipt)
        self._require_due(receipt.epoch)

    def _check_commitments(self, last: Receipt, receipt: Receipt) -> None:
        if receipt.kind != "round" or receipt.epoch == last.epoch:
            if _commitments(receipt) != _commitments(last):
                raise WrongReceiptError("commitment", "epoch and commitments are not those of the receipt before")
            return
        if receipt.epoch is None or (last.epoch is not None and receipt.epoch < last.epoch):
            raise WrongReceiptError("epoch", "went back")
        if receipt.commitment != last.next_commitment:
            raise WrongReceiptError("commitment", "is not what the receipt before announced for the next epoch")
        if receipt.next_commitment in {last.next_commitment, *self.secret.values()}:
            raise WrongReceiptError("next_commitment", "is that of an epoch that drew already")

    def _check_drawn(self, receipt: Receipt, end: RoundEnd, *, new_epoch: bool) -> None:
        if end.epoch != receipt.epoch:
            raise WrongReceiptError("round.epoch", f"{end.epoch} in epoch {receipt.epoch}")
        if not new_epoch and end.epoch not in self.secret:
            raise WrongReceiptError("round.epoch", "the round was drawn after the epoch's salt was public")

    def _reveal(self, receipt: Receipt) -> None:
        epochs = [revealed.epoch for revealed in receipt.salts]
        if epochs != sorted(set(epochs)):
            raise WrongReceiptError("salts", "must be sorted by epoch, each once")
        over = -1 if receipt.epoch is None else receipt.epoch - (receipt.kind != "closing")
        for i, revealed in enumerate(receipt.salts):
            if revealed.epoch > over:
                raise WrongReceiptError(f"salts[{i}].epoch", "is not over")
            self._publish(revealed, f"salts[{i}]")

    def _publish(self, revealed: RevealedSalt, path: str) -> None:
        if revealed.epoch in self.secret:
            if sha256_hex(bytes.fromhex(revealed.salt)) != self.secret.pop(revealed.epoch):
                raise WrongReceiptError(f"{path}.salt", "is not the salt that was committed to")
        elif self.first_epoch is None or revealed.epoch >= self.first_epoch:
            raise WrongReceiptError(f"{path}.epoch", "has no salt that is still secret")

    def _require_due(self, epoch: int | None) -> None:
        due = sorted(each for each in self.secret if epoch is not None and each < epoch)
        if due and due[0] == self.doubtful:
            del self.secret[due.pop(0)]
        if due:
            raise WrongReceiptError("salts", f"the salt of epoch {due[0]} is due here and missing")


def _commitments(receipt: Receipt) -> tuple[int | None, str | None, str]:
    return receipt.epoch, receipt.commitment, receipt.next_commitment


_ABOUT: Final = ("weights", "fate", "key", "revocation")
_ROUND_FIELDS: Final[Mapping[str, tuple[bool, bool]]] = {
    # kind: (has first_round, has round)
    "opening": (True, False),
    "round": (False, True),
    "closing": (False, False),
    "weights": (False, False),
    "fate": (False, False),
    "key": (False, False),
    "revocation": (False, False),
}


@dataclass(slots=True)
class Chain:
    """The receipts read so far.

    Attributes:
        hotkey: whose log it must be, None until the first receipt tells.
        key: the newest publishing key that the hotkey vouched for, None where the file has none so far.
    """

    hotkey: str | None = None
    first: int | None = None
    first_issued: str = ""
    last: Receipt | None = None
    last_digest: str | None = None
    next_round: int | None = None
    salts: SaltLog = field(default_factory=SaltLog)
    key: str | None = None

    def add(self, line: Line) -> Receipt:
        """Check the next receipt against those before it and return it (FaultError: it does not follow from them)."""
        receipt = _signed(line, self.hotkey)
        self.hotkey = receipt.validator_hotkey
        try:
            self._follow(receipt)
        except WrongReceiptError as wrong:
            raise line._replace(round_id=_round_id(receipt)).fault(wrong.what, wrong.path) from None
        if self.first is None:
            self.first, self.first_issued = receipt.sequence, receipt.issued_at
        self.last, self.last_digest = receipt, line.digest
        return receipt

    def _follow(self, receipt: Receipt) -> None:
        _check_form(receipt)
        self._check_link(receipt)
        self._check_round_id(receipt)
        if receipt.key is not UNSET:
            self._check_key(receipt.key)
        self.salts.add(self.last, receipt)

    def _check_link(self, receipt: Receipt) -> None:
        last = self.last
        if last is None:
            if (receipt.sequence == 0) != (receipt.previous is None):
                raise WrongReceiptError("previous", "the first receipt of a log, and no other, follows no receipt")
            return
        if receipt.sequence != last.sequence + 1:
            raise WrongReceiptError(
                "sequence", f"{receipt.sequence} follows {last.sequence}: missing, repeated or out of order"
            )
        if receipt.previous != self.last_digest:
            raise WrongReceiptError("previous", "is not the digest of the receipt before it")
        if receipt.issued_at < last.issued_at:
            raise WrongReceiptError(
                "issued_at", f"{receipt.issued_at} is before {last.issued_at}, of the receipt before it"
            )

    def _check_key(self, stated: KeyStatement) -> None:
        """Check that a key replaces the one before, which a file that begins later may not show."""
        begins = (self.first or 0) == 0
        if stated.replaces != self.key and (begins or self.key is not None):
            raise WrongReceiptError("key.replaces", "is not the key of the statement before")
        try:
            valid = parse_time(stated.valid_from, "valid_from") < parse_time(stated.valid_until, "valid_until")
        except SchemaError as error:
            raise WrongReceiptError("key", str(error)) from None
        if not valid:
            raise WrongReceiptError("key.valid_until", "is not after `valid_from`")
        self.key = stated.public_key

    def _check_round_id(self, receipt: Receipt) -> None:
        if receipt.first_round is not None:
            self.next_round = int(receipt.first_round)
        if receipt.round is None:
            return
        round_id = receipt.round.index
        if self.next_round is not None and round_id != self.next_round:
            raise WrongReceiptError(
                "round.round_id", f"{round_id} where {self.next_round} is the next: there is a hole"
            )
        self.next_round = round_id + 1


def _signed(line: Line, hotkey: str | None) -> Receipt:
    receipt = line.parsed(Receipt, limit=MAX_RECEIPT)
    line = line._replace(round_id=_round_id(receipt))
    line.require_canonical(receipt)
    if hotkey is not None and receipt.validator_hotkey != hotkey:
        raise line.fault(f"is {receipt.validator_hotkey}, not {hotkey}", "validator_hotkey")
    signature = receipt.signature
    if signature.value != signature.value.lower() or not verify_document(receipt, receipt.validator_hotkey):
        raise line.fault(f"is not {receipt.validator_hotkey}'s over this receipt: it was changed", "signature")
    try:
        parse_time(receipt.issued_at, "issued_at")
    except SchemaError as error:
        raise line.fault(str(error), "issued_at") from None
    return receipt


def _check_form(receipt: Receipt) -> None:
    if (receipt.kind == "opening") != (receipt.sequence == 0):
        raise WrongReceiptError("kind", "receipt 0, and no other, opens the log")
    if (receipt.first_round is not None, receipt.round is not None) != _ROUND_FIELDS[receipt.kind]:
        raise WrongReceiptError("kind", f"a receipt of kind {receipt.kind} does not have these fields")
    if any((getattr(receipt, kind) is not UNSET) != (receipt.kind == kind) for kind in _ABOUT):
        raise WrongReceiptError("kind", f"a receipt of kind {receipt.kind} does not have these fields")
    if (receipt.epoch is None) != (receipt.commitment is None):
        raise WrongReceiptError("commitment", "goes with an epoch")
    if receipt.round is not None:
        _check_lines(receipt.round)


def _check_lines(end: RoundEnd) -> None:
    lines = end.lines
    named = (lines.input is not None, lines.plan is not None, lines.answers is not None, lines.outcome is not None)
    allowed = {
        "settled": [(True, True, True, True)],
        "void": [(True, True, True, False)],
        "skipped": [(False, False, False, False)],
        "abandoned": [(True, True, True, False), (False, False, False, False)],
    }[end.state]
    if named not in allowed or (lines.proofs and end.state != "settled"):
        raise WrongReceiptError("round.lines", f"are not those of a round that is {end.state}")
    if lines.input is not None and end.scoring_version is None:
        raise WrongReceiptError("round.scoring_version", "is missing")


def _round_id(receipt: Receipt) -> str | None:
    return None if receipt.round is None else receipt.round.round_id
