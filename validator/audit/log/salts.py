"""Commitments and salts of a log: announced before use, used by one epoch, public afterwards (SPEC 8)."""

from dataclasses import dataclass, field

from validator.protocol.canonical import sha256_hex
from validator.protocol.receipt import Receipt, RevealedSalt, RoundEnd


class WrongReceiptError(Exception):
    """A receipt does not follow from those before it; becomes a FaultError where the line is known."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path = path
        self.what = what


@dataclass(slots=True)
class SaltLog:
    """What is known of the epochs' salts.

    Attributes:
        secret: epoch to commitment, of the salts that are not public yet.
        first_epoch: the first epoch that the file knows.
        doubtful: an epoch whose salt may have become public before the file begins.
    """

    secret: dict[int, str] = field(default_factory=dict)
    first_epoch: int | None = None
    doubtful: int | None = None

    def add(self, last: Receipt | None, receipt: Receipt) -> None:
        """Check a receipt's commitments and salts and take them in.

        Raises:
            WrongReceiptError: they do not follow.
        """
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
