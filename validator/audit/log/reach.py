"""Whether an audit file reaches a receipt whose digest is known from elsewhere: nothing was cut away before it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from validator.audit.log.lines import Line, LineReader, parse
from validator.protocol.limits import MAX_RECEIPT
from validator.protocol.receipt import Receipt


class Reached(NamedTuple):
    """Where the receipt stands.

    Attributes:
        sequence: its number in the log.
        line: its number in the file, from 1; None where the file begins right behind it and names its digest.
    """

    sequence: int
    line: int | None


@dataclass(slots=True)
class Reach:
    """Looks for a receipt in a file.

    Args:
        digest: sha256 of the receipt's line, lower-case hex.

    Attributes:
        at: where it stands; None while it was not seen.
    """

    digest: str
    at: Reached | None = field(init=False, default=None)

    def see(self, found: Line, *, first: bool) -> None:
        """Look at the next receipt's line; the first one of the file names the one before it."""
        if first and (receipt := _receipt(found)).previous == self.digest:
            self.at = Reached(receipt.sequence - 1, None)
        elif found.digest == self.digest:
            self.at = Reached(_receipt(found).sequence, found.number)


def look_for(path: Path, wanted: Sequence[Reach]) -> None:
    """Look for receipts in a file that `verify_file` found to hold, in one pass: what they say is taken from them.

    Raises:
        FaultError: it does not hold.
        OSError: it cannot be read.
    """
    left = list(wanted)
    with path.open("rb") as file:
        first = True
        for found in LineReader(file).receipts() if left else ():
            for one in left:
                one.see(found, first=first)
            left = [one for one in left if one.at is None]
            first = False
            if not left:
                return


def _receipt(found: Line) -> Receipt:
    return parse(found, Receipt, found.document, None, MAX_RECEIPT)
