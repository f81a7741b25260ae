"""What is wrong with an audit file, and where."""

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable

_SHOWN = 400


class NotAnAuditFileError(ValidatorError):
    """Not an audit file."""


class FaultError(ValidatorError):
    """The audit file does not hold.

    Args:
        line: its number, from 1.
        kind: what the line is or should be.
        round_id: whose line it is, None outside rounds.
        what: what is wrong; made printable here.
        path: the place inside the document, empty where the whole line is meant.
    """

    def __init__(self, line: int, kind: str, round_id: str | None, what: str, path: str = "") -> None:
        self.line = line
        self.kind = printable(kind, 40)
        self.round_id = round_id
        self.what = printable(what, _SHOWN)
        self.path = printable(path, _SHOWN)
        of_round = "" if round_id is None else f" of round {round_id}"
        at = f", {self.path}" if path else ""
        super().__init__(f"line {line}, {self.kind}{of_round}{at}: {self.what}")
