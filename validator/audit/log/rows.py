"""A row of weights on chain against the vector that a log says was confirmed last: exactly (SPEC 16, D-28)."""

from typing import Annotated, Final

from msgspec import Meta

from validator.audit.log.report import Verified
from validator.protocol.limits import MAX_LOG_MINERS, MIB
from validator.protocol.receipt import Count
from validator.protocol.sssa import Document
from validator.protocol.strict_json import decode
from validator.protocol.weights_document import U16

MAX_ROW: Final = MIB


class ChainRow(Document, frozen=True):
    """What a chain has stored for a validator.

    Attributes:
        netuid, mechid, uid: whose row, of which mechanism.
        block: at which it was read.
        row: [uid, u16] by uid.
    """

    netuid: Count
    mechid: Count
    uid: U16
    block: Count
    row: Annotated[tuple[tuple[U16, U16], ...], Meta(max_length=MAX_LOG_MINERS + 1)]


def read_row(data: bytes) -> ChainRow:
    """Return the row that a document tells.

    Raises:
        JsonError: it is none.
    """
    return decode(data, ChainRow, limit=MAX_ROW)


def row_fault(found: Verified, row: ChainRow) -> str | None:
    """Return what of the row is not as the log's newest confirmed vector says, None if nothing."""
    of = f"netuid {row.netuid}, mechanism {row.mechid}"
    told = next((one for one in found.confirmed if (one.netuid, one.mechid) == (row.netuid, row.mechid)), None)
    if told is None:
        return f"{of}: the file has no confirmed vector"
    if row.block < told.block:
        return f"{of}: the row was read at block {row.block}, the newest confirmed vector is in block {told.block}"
    ours, theirs = dict(told.row), dict(row.row)
    for uid in sorted(ours.keys() | theirs.keys()):
        if ours.get(uid) != theirs.get(uid):
            vector = f"the vector of epoch {told.epoch} (receipt {told.sequence})"
            return f"{of}, uid {uid}: {theirs.get(uid, 0)} on chain, {ours.get(uid, 0)} in {vector}"
    return None
