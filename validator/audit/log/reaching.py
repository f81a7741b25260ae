"""Whether an audit file reaches a receipt whose digest is known from elsewhere: nothing was cut away before it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader, parse, require_audit_file
from validator.protocol.limits import MAX_RECEIPT
from validator.protocol.receipt import Receipt
from validator.protocol.signatures import is_hotkey


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

    def look(self, path: Path) -> None:
        """Look through a file that `verify_file` found to hold: what its receipts say is taken from them.

        Raises:
            FaultError: it does not hold.
            OSError: it cannot be read.
        """
        with path.open("rb") as file:
            begun = False
            for found in LineReader(file).receipts():
                if not begun and (first := _receipt(found)).previous == self.digest:
                    self.at = Reached(first.sequence - 1, None)
                elif found.digest == self.digest:
                    self.at = Reached(_receipt(found).sequence, found.number)
                if self.at is not None:
                    return
                begun = True


def owner_of(path: Path) -> str:
    """Return the hotkey whose log the file says that it is; nothing is checked yet.

    Raises:
        NotAnAuditFileError: it is something else.
        FaultError: its first line is no receipt of a hotkey.
    """
    with path.open("rb") as file:
        require_audit_file(file)
        found = LineReader(file).next("receipt", None)
    if found is None:
        raise FaultError(1, "receipt", None, "the file has no receipt")
    hotkey = _receipt(found).validator_hotkey
    if not is_hotkey(hotkey):
        raise FaultError(1, "receipt", None, "is no ss58 address", "validator_hotkey")
    return hotkey


def _receipt(found: Line) -> Receipt:
    return parse(found, Receipt, found.document, None, MAX_RECEIPT)
