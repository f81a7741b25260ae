"""Interface by which rooms report a condition by its name; `validator.health.board` implements it."""

from typing import Protocol


class Reports(Protocol):
    """Receiver of reports. A name that the catalogue of conditions does not have raises KeyError."""

    def raise_(self, name: str, detail: str = "", of: str = "", cause: str = "") -> None:
        """Note that the condition is active.

        Args:
            name: of the condition.
            detail: what was seen; any text.
            of: the part that it is active for, where several report: it ends when all have cleared it.
            cause: another one than before is logged, too.
        """

    def clear(self, name: str, of: str = "") -> None:
        """Note that the condition is not active; for this part, where several report."""

    def mark(self, name: str, detail: str | None, of: str = "", cause: str = "") -> None:
        """Note that the condition is active, or where the detail is None that it is not."""
