"""Options and lines of `audit verify` about evidence from outside the file: a digest to reach, the chain (D-28)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from validator.audit.log.chain_evidence import (
    MAX_ROW,
    Anchored,
    ChainRow,
    HeldRow,
    Reach,
    anchored,
    held_rows,
    look_for,
    read_row,
)
from validator.audit.log.report import Verified
from validator.cancellation import run_whole
from validator.cli.files import require_regular

if TYPE_CHECKING:
    from validator.settings import Settings

_DIGEST: Final = re.compile("[0-9A-Fa-f]{64}")


class Beyond(NamedTuple):
    """The evidence of how far the file must go: a receipt that was named, and what its owner put on chain.

    None: not asked.
    """

    reach: Reach | None
    anchored: Anchored | None

    def look(self, path: Path) -> None:
        """Look for the receipts in a file that holds."""
        both = (self.reach, self.anchored and self.anchored.reach)
        look_for(path, [reach for reach in both if reach is not None])

    @property
    def reached(self) -> bool:
        """Whether the file goes as far as it must."""
        if self.reach is not None and self.reach.at is None:
            return False
        anchor = None if self.anchored is None else self.anchored.reach
        return anchor is None or anchor.at is not None

    def document(self) -> dict[str, Any]:
        """Return what `--json` says of it."""
        anchored = self.anchored
        if anchored is None:
            return {"against": _document(self.reach), "anchor": None}
        anchor = {"block": anchored.block, "problem": anchored.problem, **(_document(anchored.reach) or {})}
        return {"against": _document(self.reach), "anchor": anchor}

    def lines(self, found: Verified) -> Iterator[str]:
        """Return a line for each."""
        if self.reach is not None:
            yield _line(self.reach, found)
        if self.anchored is None:
            return
        if self.anchored.reach is None:
            yield f"NOT anchored: {self.anchored.problem}"
        else:
            yield f"anchored at block {self.anchored.block}: {_line(self.anchored.reach, found)}"


def named(digest: str | None) -> Reach | None:
    """Return what looks for a receipt by its digest (typer.BadParameter: it is none)."""
    if digest is None:
        return None
    if not _DIGEST.fullmatch(digest):
        raise typer.BadParameter("must be a sha256 as 64 hex digits", param_hint="--against")
    return Reach(digest.lower())


def given_row(file: Path) -> ChainRow:
    """Return the row in a file (JsonError: it is none; UnreadableError: it is no regular file)."""
    require_regular(file)
    with file.open("rb") as stream:
        return read_row(stream.read(MAX_ROW + 1))


def row_lines(rows: Sequence[HeldRow], found: Verified, *, asked: bool) -> Iterator[str]:
    """Return a line for each; with none, that there is none, if the chain was asked."""
    if asked and not rows and not found.confirmed:
        yield "the file has no confirmed vector to hold against the chain"
    for held in rows:
        if held.fault is None:
            row = held.row
            yield f"the row of uid {row.uid} at block {row.block} is that of the newest confirmed vector, exactly"
        elif held.note is not None:
            yield f"{held.fault}; {held.note}"
        else:
            yield f"the row on chain is NOT that of the newest confirmed vector: {held.fault}"


def ask_chain(settings: "Settings", found: Verified) -> tuple[Anchored, tuple[HeldRow, ...]]:
    """Return the anchor and the rows that a file's owner has on the settings' chain.

    No wallet is needed (ChainError).
    """
    from validator.chain.opening import reading_chain  # noqa: PLC0415 - verification loads no chain
    from validator.sources import SystemClock  # noqa: PLC0415 - see above

    chain = reading_chain(settings, SystemClock())

    async def ask() -> tuple[Anchored, tuple[HeldRow, ...]]:
        try:
            return await anchored(chain, found.hotkey, settings.validator.netuid), await held_rows(chain, found)
        finally:
            await chain.close()

    return run_whole(ask())


def _document(reach: Reach | None) -> dict[str, Any] | None:
    if reach is None:
        return None
    where = {"sequence": None, "line": None} if reach.at is None else reach.at._asdict()
    return {"digest": reach.digest, "reached": reach.at is not None, **where}


def _line(reach: Reach, found: Verified) -> str:
    at = reach.at
    if at is None:
        before = f" (receipts before {found.first} are not in it)" if found.first else ""
        return f"does NOT reach {reach.digest}: cut away before that receipt, or another history{before}"
    where = "the one before the file's first" if at.line is None else f"line {at.line}"
    return f"reaches {reach.digest}: receipt {at.sequence}, {where}; {found.last - at.sequence} more behind it"
