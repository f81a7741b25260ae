"""How far an audit file goes: to a digest that is given, or to what its owner anchored on chain."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer

from validator.audit.log import Reach, Verified, look_for
from validator.chain.base import Chain, MissingError
from validator.protocol.anchor import anchor_of

_DIGEST: Final = re.compile("[0-9A-Fa-f]{64}")


class Anchored(NamedTuple):
    """What stands on chain.

    Attributes:
        reach: looks for the anchored receipt; None where there is no anchor.
        block: in which it was anchored; None likewise.
        problem: why there is none; empty where there is one.
    """

    reach: Reach | None
    block: int | None
    problem: str


class Beyond(NamedTuple):
    """What is known from elsewhere of how far the file must go.

    Attributes:
        reach: a receipt that was named; None where none was.
        anchored: what its owner put on chain; None where the chain was not asked.
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


async def ask_anchor(chain: Chain, hotkey: str, netuid: int) -> Anchored:
    """Ask the chain what `hotkey` has anchored.

    Raises:
        ChainError: the chain does not answer, or cannot be used.
    """
    try:
        found = await chain.commitment(hotkey)
    except MissingError as error:
        return Anchored(None, None, f"the chain keeps no commitments: {error.detail}")
    if found is None:
        return Anchored(None, None, f"{hotkey} has committed to nothing on subnet {netuid}")
    anchor = anchor_of(found.content)
    if anchor is None:
        return Anchored(None, None, f"what {hotkey} committed to in block {found.block} is no anchor of a log")
    return Anchored(Reach(anchor.digest), found.block, "")


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
