"""Evidence from outside an audit file: a digest that it must reach, and what its owner has on chain (SPEC 16, D-28)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from validator.audit.log.chain_evidence import MAX_ROW, ChainRow, Reach, look_for, read_row, row_fault
from validator.audit.log.report import Verified
from validator.audit.log.weights import Confirmed
from validator.cancellation import run_whole
from validator.cli.files import require_regular
from validator.protocol.receipt import anchor_of
from validator.protocol.round import MetagraphSnapshot

if TYPE_CHECKING:
    from validator.chain.base import Chain
    from validator.settings import Settings

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


class HeldRow(NamedTuple):
    """A row beside the newest confirmed vector of its mechanism.

    Attributes:
        row: as it stands on chain.
        fault: what of it is not as the file says; None where it is, exactly.
        note: why that is no fault; None where it is one.
    """

    row: ChainRow
    fault: str | None
    note: str | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the file."""
        return self.fault is None or self.note is not None

    def document(self) -> dict[str, Any]:
        """Return what `--json` says of it."""
        place = {"netuid": self.row.netuid, "mechid": self.row.mechid, "uid": self.row.uid, "block": self.row.block}
        return {**place, "equal": self.fault is None, "problem": self.fault, "note": self.note}


def given_row(file: Path) -> ChainRow:
    """Return the row in a file.

    Raises:
        JsonError: it is none.
        UnreadableError: it is no regular file.
    """
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
    """Return the anchor and the rows that a file's owner has on the settings' chain; no wallet is needed.

    Raises:
        ChainError: the chain does not answer, or cannot be used.
    """
    from validator.chain.opening import reading_chain  # noqa: PLC0415 - verification loads no chain
    from validator.sources import SystemClock  # noqa: PLC0415 - see above

    chain = reading_chain(settings, SystemClock())

    async def ask() -> tuple[Anchored, tuple[HeldRow, ...]]:
        try:
            return await _anchored(chain, found.hotkey, settings.validator.netuid), await held_rows(chain, found)
        finally:
            await chain.close()

    return run_whole(ask())


async def _anchored(chain: "Chain", hotkey: str, netuid: int) -> Anchored:
    from validator.chain.base import MissingError  # noqa: PLC0415 - verification loads no chain

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


async def held_rows(chain: "Chain", found: Verified) -> tuple[HeldRow, ...]:
    """Hold the file against what its owner has on the chain, each mechanism of the subnet that has anything to hold.

    Raises:
        ChainError: the chain does not answer, or cannot be used.
    """
    snapshot, parameters = await chain.snapshot(), await chain.parameters()
    me = snapshot.by_hotkey(found.hotkey)
    told = {one.mechid: one for one in found.confirmed if one.netuid == snapshot.netuid}
    if me is None:
        row = ChainRow(snapshot.netuid, min(told, default=0), 0, snapshot.block, ())
        what = f"{found.hotkey} is not registered on netuid {snapshot.netuid}"
        return (HeldRow(row, what),) if found.confirmed else ()
    asked = [
        await _held(chain, found, Place(snapshot, me.uid, mechid, commits=parameters.commit_reveal), told.get(mechid))
        for mechid in sorted({*told, *range(parameters.mechanisms)})
    ]
    return tuple(one for one in asked if one is not None)


class Place(NamedTuple):
    """Where a row stands: on which subnet, whose, of which mechanism; `commits`: weights are committed first there."""

    snapshot: MetagraphSnapshot
    uid: int
    mechid: int
    commits: bool


async def _held(chain: "Chain", found: Verified, place: Place, told: Confirmed | None) -> HeldRow | None:
    values = await chain.weights(place.mechid, place.uid)
    if told is None and not values:
        return None
    here = (place.snapshot.netuid, place.mechid, place.uid, place.snapshot.block)
    row = ChainRow(*here, tuple(sorted(values.items())))
    fault = row_fault(found, row)
    if fault is None and told is not None:
        return HeldRow(row, await _other_holder(chain, place.snapshot, told))
    if place.commits:
        return HeldRow(row, fault, "weights are committed first there: the row follows some epochs later")
    newer = await chain.last_update(place.mechid, place.uid)
    if told is not None and newer <= told.block:
        return HeldRow(row, fault)
    newest = "none" if told is None else f"that of block {told.block}"
    what = f"the chain has weights of block {newer}, the newest confirmed vector of the file is {newest}"
    note = _not_told(found, place, newer)
    if note is None and found.blocks is not None:
        what += f", and it goes from block {found.blocks[0]} to block {found.blocks[1]}: it does not tell what was sent"
    return HeldRow(row, f"netuid {place.snapshot.netuid}, mechanism {place.mechid}: {what}", note)


def _not_told(found: Verified, place: Place, block: int) -> str | None:
    """Return why the file need not tell of weights that are on chain since a block; None where it must."""
    key = (place.snapshot.netuid, place.mechid)
    mechanism = next((one for one in found.mechanisms if (one.netuid, one.mechid) == key), None)
    if found.blocks is None or block >= found.blocks[1]:
        return "export it again"
    if mechanism is None:
        return "they are older than the file" if block < found.blocks[0] else None
    if block < mechanism.since:
        return "they are older than its first vector"
    if mechanism.open_since is not None and block >= mechanism.open_since:
        return f"it does not tell yet what became of the vector of block {mechanism.open_since}; export it again"
    return None


async def _other_holder(chain: "Chain", snapshot: MetagraphSnapshot, told: Confirmed) -> str | None:
    """Return which uid of a row was somebody else's when the vector was sent; None: each belonged to whom it says.

    What changed hands since is nobody's fault.
    """
    holders = {neuron.uid: neuron.hotkey for neuron in snapshot.neurons}
    for (uid, _), hotkey in zip(told.row, told.hotkeys, strict=True):
        if (holder := holders.get(uid)) in {None, hotkey}:
            continue
        since = await chain.registered_at(uid)
        if since <= told.block:
            of = f"netuid {told.netuid}, mechanism {told.mechid}, uid {uid}"
            return f"{of}: {holder} on chain since block {since}, {hotkey} in the vector of block {told.block}"
    return None


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
