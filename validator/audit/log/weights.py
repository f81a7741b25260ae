"""The vectors of a log: each is read with its line, and what became of it follows (SPEC 11; SPEC 16, D-28)."""

from dataclasses import dataclass, field

from msgspec import UNSET

from validator.audit.log.fates import Fates
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader, parse
from validator.audit.log.salts import WrongReceiptError
from validator.protocol.canonical import canonical_bytes
from validator.protocol.receipt import Receipt
from validator.protocol.weights_document import WeightsDocument


@dataclass(slots=True)
class Vectors:
    """The vectors of a log, as far as it was read.

    Attributes:
        fates: what became of them.
        told: how many there are.
    """

    fates: Fates = field(default_factory=Fates)
    told: int = 0

    def add(self, reader: LineReader, found: Line, receipt: Receipt) -> None:
        """Read what a receipt says of weights; of other kinds it says nothing.

        Raises:
            FaultError: the line is missing, was changed, or does not hold.
        """
        self.fates.begin(receipt.sequence)
        if receipt.fate is not UNSET:
            try:
                self.fates.add(receipt.sequence, receipt.fate)
            except WrongReceiptError as wrong:
                raise FaultError(found.number, "receipt", None, wrong.what, wrong.path) from None
        if receipt.weights is UNSET:
            return
        number = reader.require("weights", None, receipt.weights.sha256)
        document = parse(number, WeightsDocument, number.document, None)
        if canonical_bytes(document) != number.document:
            raise FaultError(number.number, "weights", None, "is not in canonical form (RFC 8785)")
        self.fates.sent(receipt.sequence, receipt.weights, document.row)
        self.told += 1
