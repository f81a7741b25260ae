"""Anchor and rows of weights of a log's owner on its chain (SPEC 16, D-28)."""

from typing import NamedTuple

from sssa.log.chain_evidence import Anchored, ChainRow, ComparedRow, Reach, row_fault
from sssa.log.verify_report import Verified
from sssa.log.weight_vectors import Confirmed
from sssa.protocol.receipt import anchor_of
from sssa.protocol.round import MetagraphSnapshot
from validator.chain.interface import Chain, MissingError


async def anchored(chain: Chain, hotkey: str, netuid: int) -> Anchored:
    """Return the anchor of a hotkey (ChainError: the chain does not answer, or cannot be used)."""
    try:
        commitment = await chain.commitment(hotkey)
    except MissingError as error:
        return Anchored(None, None, f"the chain keeps no commitments: {error.detail}")
    if commitment is None:
        return Anchored(None, None, f"{hotkey} has committed to nothing on subnet {netuid}")
    anchor = anchor_of(commitment.content)
    if anchor is None:
        return Anchored(None, None, f"what {hotkey} committed to in block {commitment.block} is no anchor of a log")
    return Anchored(Reach(anchor.digest), commitment.block, "")


async def compare_rows(chain: Chain, verified: Verified) -> tuple[ComparedRow, ...]:
    """Compare the file with its owner's rows on chain, in each mechanism that has any (ChainError)."""
    snapshot, parameters = await chain.snapshot(), await chain.parameters()
    me = snapshot.by_hotkey(verified.hotkey)
    confirmed = {one.mechid: one for one in verified.confirmed if one.netuid == snapshot.netuid}
    if me is None:
        row = ChainRow(snapshot.netuid, min(confirmed, default=0), 0, snapshot.block, ())
        what = f"{verified.hotkey} is not registered on netuid {snapshot.netuid}"
        return (ComparedRow(row, what),) if verified.confirmed else ()
    rows = [
        await _compare_row(
            chain, verified, Place(snapshot, me.uid, mechid, commits=parameters.commit_reveal), confirmed.get(mechid)
        )
        for mechid in sorted({*confirmed, *range(parameters.mechanisms)})
    ]
    return tuple(one for one in rows if one is not None)


class Place(NamedTuple):
    """Origin of a row: its subnet, its validator and its mechanism; `commits`: the subnet commits weights first."""

    snapshot: MetagraphSnapshot
    uid: int
    mechid: int
    commits: bool


async def _compare_row(
    chain: Chain, verified: Verified, place: Place, confirmed: Confirmed | None
) -> ComparedRow | None:
    values = await chain.weights(place.mechid, place.uid)
    if confirmed is None and not values:
        return None
    here = (place.snapshot.netuid, place.mechid, place.uid, place.snapshot.block)
    row = ChainRow(*here, tuple(sorted(values.items())))
    fault = row_fault(verified, row)
    if fault is None and confirmed is not None:
        return ComparedRow(row, await _other_holder(chain, place.snapshot, confirmed))
    if place.commits:
        return ComparedRow(row, fault, "weights are committed first there: the row follows some epochs later")
    newer = await chain.last_update(place.mechid, place.uid)
    if confirmed is not None and newer <= confirmed.block:
        return ComparedRow(row, fault)
    newest = "none" if confirmed is None else f"that of block {confirmed.block}"
    what = f"the chain has weights of block {newer}, the newest confirmed vector of the file is {newest}"
    note = _missing_reason(verified, place, newer)
    if note is None and verified.blocks is not None:
        what += f", and it goes from block {verified.blocks[0]} to block {verified.blocks[1]}:"
        what += " it does not tell what was sent"
    return ComparedRow(row, f"netuid {place.snapshot.netuid}, mechanism {place.mechid}: {what}", note)


def _missing_reason(verified: Verified, place: Place, block: int) -> str | None:
    """Return why the file need not tell of weights that are on chain since a block; None where it must."""
    key = (place.snapshot.netuid, place.mechid)
    mechanism = next((one for one in verified.mechanisms if (one.netuid, one.mechid) == key), None)
    if verified.blocks is None or block >= verified.blocks[1]:
        return "export it again"
    if mechanism is None:
        return "they are older than the file" if block < verified.blocks[0] else None
    if block < mechanism.since:
        return "they are older than its first vector"
    if mechanism.open_since is not None and block >= mechanism.open_since:
        return f"it does not tell yet the fate of the vector of block {mechanism.open_since}; export it again"
    return None


async def _other_holder(chain: Chain, snapshot: MetagraphSnapshot, confirmed: Confirmed) -> str | None:
    """Return the first uid of a row that had another hotkey when the vector was sent; None if all were right.

    What changed hands since is nobody's fault.
    """
    holders = {neuron.uid: neuron.hotkey for neuron in snapshot.neurons}
    for (uid, _), hotkey in zip(confirmed.row, confirmed.hotkeys, strict=True):
        if (holder := holders.get(uid)) in {None, hotkey}:
            continue
        since = await chain.registered_at(uid)
        if since <= confirmed.block:
            of = f"netuid {confirmed.netuid}, mechanism {confirmed.mechid}, uid {uid}"
            return f"{of}: {holder} on chain since block {since}, {hotkey} in the vector of block {confirmed.block}"
    return None
