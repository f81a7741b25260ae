"""Rules of the weights loop: reasons not to sign, and the origin of an update on chain (ours or not). Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from sssa.protocol.reasons import Reason
from sssa.protocol.weight_rows import U16_MAX
from validator.store.rows import RowState, WeightMark, WeightsRecord
from validator.weights.chain_view import Blocker, ChainView, Slot

OPEN: Final = ("submitted", "unknown")
WRONG_ROWS: Final[Mapping[RowState, str]] = {"altered": "weights_altered", "reveal_failed": "weights_reveal_failed"}
"""The condition that each of these states raises."""
_CLOCK_SLACK: Final = timedelta(seconds=1)  # corrections by NTP


class KnownUpdates(NamedTuple):
    """The store's knowledge of our updates.

    Attributes:
        mark: the last update that was known; None before the first look at the chain.
        newest: the newest submission of the mechanism.
        highest_confirmed: the highest block with weights of ours, over all mechanisms.
        rows: the mechanism's submissions on chain, newest first: some of the newest, and all that are not yet compared
            with the row on chain.
    """

    mark: WeightMark | None
    newest: WeightsRecord | None
    highest_confirmed: int | None
    last_written: datetime | None
    rows: Sequence[WeightsRecord] = ()

    @property
    def open(self) -> WeightsRecord | None:
        """The newest submission, if its fate is not known."""
        return self.newest if self.newest is not None and self.newest.state in OPEN else None


class UpdateOrigin(Enum):
    """Origin of the last update that the chain shows for our slot."""

    SAME = "known"
    FRESH = "first look"
    REGISTERED = "registered again"
    OURS = "our submission of unknown fate"
    BEHIND = "older than a known one"
    STRANGER = "another program"


class Ruling(NamedTuple):
    """Decision after a look at the chain.

    Attributes:
        origin: of our slot's last update; None without a slot, or while it cannot be determined.
        blocker: why nothing may be signed; None if signing is allowed.
    """

    origin: UpdateOrigin | None
    blocker: Blocker | None


def rule(known: KnownUpdates, view: ChainView, now: datetime) -> Ruling:
    """Return the decision that follows from the chain and the store. Everything that signs or previews calls this."""
    refused = refusal(known, view, now)
    if refused is not None or view.slot is None:
        return Ruling(None, refused)
    origin = judge(known, view.slot, hidden=view.parameters.commit_reveal)
    return Ruling(origin, _objection(origin, known, view.slot, view.snapshot.block))


def _objection(origin: UpdateOrigin, known: KnownUpdates, slot: Slot, block: int) -> Blocker | None:
    seen, record = f"last update in block {slot.last_update}", known.open
    if origin is UpdateOrigin.STRANGER:
        return Blocker(Reason.WEIGHTS_LOCKED, seen, block + 1)
    if origin is UpdateOrigin.BEHIND and known.mark is not None:
        before = f"{seen}, but it was in {known.mark.last_update} before"
        return Blocker(Reason.WEIGHTS_CHAIN_BEHIND, before, block + 1)
    if record is None or origin is UpdateOrigin.OURS or block > (last := record.expiry_block or 0):
        return None
    return Blocker(Reason.WEIGHTS_UNKNOWN, f"epoch {record.epoch} may arrive until block {last}", block + 1)


def judge(known: KnownUpdates, slot: Slot, *, hidden: bool) -> UpdateOrigin:
    """Return the origin of the slot's last update."""
    mark, update = known.mark, slot.last_update
    again = mark is not None and slot.registered_at > mark.block
    known_one = mark is not None and not again and update == mark.last_update
    if known_one and not slot.lacks_update_block:
        return UpdateOrigin.SAME
    if known.newest is not None and explains(known.newest, slot, hidden=hidden):
        return UpdateOrigin.OURS
    if mark is not None and not again and slot.lacks_update_block:
        return UpdateOrigin.SAME
    if mark is None:
        return UpdateOrigin.FRESH
    if again:
        return UpdateOrigin.REGISTERED if update <= slot.registered_at else UpdateOrigin.STRANGER
    return UpdateOrigin.BEHIND if update < mark.last_update else UpdateOrigin.STRANGER


def explains(record: WeightsRecord, slot: Slot, *, hidden: bool) -> bool:
    """Return whether the slot's last update can be this submission.

    It must be between signing and expiry. Weights in the open must equal those that were sent; for an open submission
    other weights on the same targets also count, because a chain that alters a row is no reason to lock. Hidden weights
    are recognized by the update alone, unless there are two commitments and one was sent. If the chain keeps no block
    of the update, only the weights or the commitment can be compared.
    """
    update = slot.last_update
    if record.signed_block is None or record.state == "confirmed":
        return False
    since = [block for block in slot.commits if block >= record.signed_block]
    if slot.lacks_update_block:
        arrived = len(since) == 1 if hidden else record.sent is not None and same_weights(slot.weights, record.sent)
        return record.state in OPEN and arrived
    late = record.expiry_block is not None and update > record.expiry_block
    if late or update < record.signed_block or update <= slot.registered_at:
        return False
    if record.sent is None:
        return record.state in OPEN
    if not hidden:
        altered = record.state in OPEN and bool(slot.weights) and slot.weights.keys() <= record.sent.keys()
        return altered or same_weights(slot.weights, record.sent)
    return record.state in OPEN and len(since) <= 1


def same_weights(stored: Mapping[int, int], sent: Mapping[int, int]) -> bool:
    """Return whether two rows of u16 weights are equal to one step, regardless of scale."""
    if stored.keys() != sent.keys() or not stored:
        return False
    top, top_sent = max(stored.values()), max(sent.values())
    return all(abs(stored[uid] * U16_MAX / top - sent[uid] * U16_MAX / top_sent) <= 1 for uid in stored)


def row_state(record: WeightsRecord, known: KnownUpdates, view: ChainView, slot: Slot) -> RowState | None:
    """Return the result of comparing the row on chain with a confirmed submission; None: not known yet."""
    if record.row_state == "committed":
        return _revealed(record, known, view, slot)
    if slot.last_update == record.block or slot.lacks_update_block:
        return "as_sent" if slot.weights == record.sent else "altered"
    return "unseen" if view.snapshot.epoch > record.epoch else None


def _revealed(record: WeightsRecord, known: KnownUpdates, view: ChainView, slot: Slot) -> RowState | None:
    """Return the result of a reveal.

    The chain does not report a failed reveal: the commitment disappears and the row stays unchanged.
    """
    epoch, due = view.snapshot.epoch, record.epoch + view.parameters.reveal_epochs
    first, last = record.signed_block or 0, record.expiry_block or slot.last_update
    if any(first <= block <= last for block in slot.commits):
        return None if epoch <= due else "reveal_failed"
    if slot.weights == record.sent:
        return "revealed"
    if epoch < due:
        return None  # epochs of an older runtime change some blocks before or after its step
    same = [other.epoch for other in known.rows if other.sent == slot.weights]
    if any(other > record.epoch for other in same):
        return "unseen"
    if same or not slot.weights or not slot.weights.keys() <= (record.sent or {}).keys():
        return "reveal_failed"
    # The store keeps no content of an older row that was altered: it may be the one in force.
    older = any(other.row_state == "altered" for other in known.rows if other.epoch < record.epoch)
    return "undetermined" if older else "altered"


def refusal(known: KnownUpdates, view: ChainView, now: datetime) -> Blocker | None:
    """Return our own reason not to sign, although the chain would take it; None if there is none."""
    block, epoch, soon = view.snapshot.block, view.snapshot.epoch, view.snapshot.block + 1
    if known.last_written is not None and now < known.last_written - _CLOCK_SLACK:
        back = (
            f"the clock says {now:%Y-%m-%d %H:%M:%S}, the store was written at {known.last_written:%Y-%m-%d %H:%M:%S}"
        )
        return Blocker(Reason.WEIGHTS_CLOCK_BACK, f"{back} UTC", soon)
    if known.highest_confirmed is not None and block < known.highest_confirmed:
        behind = f"block {block}, but weights of ours are in block {known.highest_confirmed}"
        return Blocker(Reason.WEIGHTS_CHAIN_BEHIND, behind, soon)
    if known.newest is not None and epoch < known.newest.epoch:
        return Blocker(Reason.WEIGHTS_EPOCH_BACK, f"epoch {epoch} after epoch {known.newest.epoch}", soon)
    return None
