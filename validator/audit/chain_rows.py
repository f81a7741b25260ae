"""What the owner of a log has on its chain: an anchor, and the rows of weights (SPEC 16, D-28)."""

from typing import NamedTuple

from validator.audit.log.chain_evidence import Anchored, ChainRow, HeldRow, Reach, row_fault
from validator.audit.log.verify_report import Verified
from validator.audit.log.weight_vectors import Confirmed
from validator.chain.interface import Chain, MissingError
from validator.protocol.receipt import anchor_of
from validator.protocol.round import MetagraphSnapshot


async def anchored(chain: Chain, hotkey: str, netuid: int) -> Anchored:
    """Return what a hotkey has anchored (ChainError: the chain does not answer, or cannot be used)."""
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


async def held_rows(chain: Chain, found: Verified) -> tuple[HeldRow, ...]:
    """Hold the file against what its owner has on the chain, each mechanism that has anything to hold (ChainError)."""
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
    """Origin of a row: its subnet, its validator and its mechanism; `commits`: the subnet commits weights first."""

    snapshot: MetagraphSnapshot
    uid: int
    mechid: int
    commits: bool


async def _held(chain: Chain, found: Verified, place: Place, told: Confirmed | None) -> HeldRow | None:
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
        return f"it does not tell yet the fate of the vector of block {mechanism.open_since}; export it again"
    return None


async def _other_holder(chain: Chain, snapshot: MetagraphSnapshot, told: Confirmed) -> str | None:
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
