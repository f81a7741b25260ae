"""Rows of weights that an audit file is held against: one that is given, those on chain (SPEC 16, D-28)."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from validator.audit.log import ChainRow, Confirmed, Verified, read_row, row_fault
from validator.audit.log.rows import MAX_ROW
from validator.chain.base import Chain
from validator.cli.cases import require_regular
from validator.daemon.world import reading_chain
from validator.settings import Settings
from validator.sources import SystemClock


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


def rows_on_chain(settings: Settings, found: Verified) -> tuple[HeldRow, ...]:
    """Hold the file against what its owner has on the settings' chain, each mechanism that it confirmed a vector of.

    Raises:
        ChainError: the chain does not answer, or cannot be used.
    """
    return asyncio.run(_asked(reading_chain(settings, SystemClock()), found))


def row_lines(rows: Sequence[HeldRow], found: Verified, *, asked: bool) -> Iterator[str]:
    """Return a line for each; with none, that there is none, if the chain was asked."""
    if asked and not found.confirmed:
        yield "the file has no confirmed vector to hold against the chain"
    for held in rows:
        if held.fault is None:
            row = held.row
            yield f"the row of uid {row.uid} at block {row.block} is that of the newest confirmed vector, exactly"
        elif held.note is not None:
            yield f"{held.fault}; {held.note}"
        else:
            yield f"the row on chain is NOT that of the newest confirmed vector: {held.fault}"


async def held_rows(chain: Chain, found: Verified) -> tuple[HeldRow, ...]:
    """Hold the file against what its owner has on the chain."""
    return tuple([await _held(chain, found, told) for told in found.confirmed])


async def _asked(chain: Chain, found: Verified) -> tuple[HeldRow, ...]:
    try:
        return await held_rows(chain, found)
    finally:
        await chain.close()


async def _held(chain: Chain, found: Verified, told: Confirmed) -> HeldRow:
    snapshot = await chain.snapshot()
    me = snapshot.by_hotkey(found.hotkey)
    if me is None:
        row = ChainRow(snapshot.netuid, told.mechid, 0, snapshot.block, ())
        return HeldRow(row, f"{found.hotkey} is not registered on netuid {snapshot.netuid}")
    values = await chain.weights(told.mechid, me.uid)
    row = ChainRow(snapshot.netuid, told.mechid, me.uid, snapshot.block, tuple(sorted(values.items())))
    fault = row_fault(found, row)
    if fault is None or told.netuid != snapshot.netuid:
        return HeldRow(row, fault)
    if (await chain.parameters()).commit_reveal:
        return HeldRow(row, fault, "weights are committed first there: the row follows some epochs later")
    newer = await chain.last_update(told.mechid, me.uid)
    if newer > told.block:
        what = f"the chain has weights of block {newer}, the file's newest confirmed vector is in block {told.block}"
        return HeldRow(row, f"netuid {told.netuid}, mechanism {told.mechid}: {what}; export it again")
    return HeldRow(row, fault)
