"""The receipts of a log as a chain: signed, numbered, linked, with salts that were committed to (SPEC 8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET

from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, parse, require_canonical
from validator.audit.log.salts import SaltLog, WrongReceiptError
from validator.protocol.limits import MAX_RECEIPT
from validator.protocol.receipt import Receipt, RoundEnd
from validator.protocol.signatures import verify_document
from validator.protocol.strict_json import SchemaError
from validator.protocol.times import parse_time

_ROUND_FIELDS: Final[Mapping[str, tuple[bool, bool]]] = {
    # kind: (has first_round, has round)
    "opening": (True, False),
    "round": (False, True),
    "closing": (False, False),
    "weights": (False, False),
    "fate": (False, False),
}


@dataclass(slots=True)
class Chain:
    """What the receipts read so far say; `hotkey` is whose log it must be, None until the first receipt tells.

    Attributes:
        hotkey: whose log it is.
        first, first_issued: number of the first receipt of the file, and when it was issued.
        last: the newest receipt.
        last_digest: of its line.
        next_round: id of the next round.
        salts: what is known of the epochs' salts.
    """

    hotkey: str | None = None
    first: int | None = None
    first_issued: str = ""
    last: Receipt | None = None
    last_digest: str | None = None
    next_round: int | None = None
    salts: SaltLog = field(default_factory=SaltLog)

    def add(self, found: Line) -> Receipt:
        """Check the next receipt against those before it and return it.

        Raises:
            FaultError: it does not follow from them.
        """
        receipt = _signed(found, self.hotkey)
        self.hotkey = receipt.validator_hotkey
        try:
            self._follow(receipt)
        except WrongReceiptError as wrong:
            raise FaultError(found.number, "receipt", _round_id(receipt), wrong.what, wrong.path) from None
        if self.first is None:
            self.first, self.first_issued = receipt.sequence, receipt.issued_at
        self.last, self.last_digest = receipt, found.digest
        return receipt

    def _follow(self, receipt: Receipt) -> None:
        _check_form(receipt)
        self._check_link(receipt)
        self._check_round_id(receipt)
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


def _signed(found: Line, hotkey: str | None) -> Receipt:
    receipt = parse(found, Receipt, found.document, None, MAX_RECEIPT)
    require_canonical(found, _round_id(receipt), receipt)

    def fault(path: str, what: str) -> FaultError:
        return FaultError(found.number, "receipt", _round_id(receipt), what, path)

    if hotkey is not None and receipt.validator_hotkey != hotkey:
        raise fault("validator_hotkey", f"is {receipt.validator_hotkey}, not {hotkey}")
    signature = receipt.signature
    if signature.value != signature.value.lower() or not verify_document(receipt, receipt.validator_hotkey):
        raise fault("signature", f"is not {receipt.validator_hotkey}'s over this receipt: it was changed")
    try:
        parse_time(receipt.issued_at, "issued_at")
    except SchemaError as error:
        raise fault("issued_at", str(error)) from None
    return receipt


def _check_form(receipt: Receipt) -> None:
    if (receipt.kind == "opening") != (receipt.sequence == 0):
        raise WrongReceiptError("kind", "receipt 0, and no other, opens the log")
    if (receipt.first_round is not None, receipt.round is not None) != _ROUND_FIELDS[receipt.kind]:
        raise WrongReceiptError("kind", f"a receipt of kind {receipt.kind} does not have these fields")
    told = (receipt.weights is not UNSET, receipt.fate is not UNSET)
    if told != (receipt.kind == "weights", receipt.kind == "fate"):
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
