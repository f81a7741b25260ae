"""Commitments of a simulated subnet: a few bytes for each hotkey that everybody can read, as the chain keeps them."""

from collections.abc import Iterable
from typing import Final

from validator.chain.base import Commitment, WeightsResult
from validator.chain.state import CommitmentRow, SubnetRules

_LEAST: Final = 100  # bytes of its space that a commitment takes, however short it is


class Commitments:
    """The newest commitment of each hotkey, and how much of an epoch's space it has taken.

    Args:
        rows: what there is.
        rules: the subnet's.
    """

    def __init__(self, rows: Iterable[CommitmentRow], rules: SubnetRules) -> None:
        self._rules = rules
        self._rows = {row.hotkey: row for row in rows}

    @property
    def rows(self) -> tuple[CommitmentRow, ...]:
        """All of them, by hotkey."""
        return tuple(self._rows[hotkey] for hotkey in sorted(self._rows))

    def of(self, hotkey: str) -> Commitment | None:
        """Return what a hotkey has committed to, None if nothing."""
        row = self._rows.get(hotkey)
        return None if row is None else Commitment(row.block, bytes.fromhex(row.content))

    def include(self, hotkey: str, content: bytes, block: int, *, registered: bool) -> WeightsResult:
        """Take a commitment in `block`, or refuse it with the pallet's name for the reason."""
        if not registered:
            return WeightsResult(False, "AccountNotAllowedCommit", None, None)
        last, length = self._rows.get(hotkey), self._rules.tempo + 1
        before = last.space if last is not None and last.block // length == block // length else 0
        space = before + max(_LEAST, len(content))
        if space > self._rules.commitment_space:
            return WeightsResult(False, "SpaceLimitExceeded", None, None)
        self._rows[hotkey] = CommitmentRow(hotkey, block, content.hex(), space)
        return WeightsResult(True, "", block, f"{block}-9000")
