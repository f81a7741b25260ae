"""Rules of the weights loop: reasons to refuse signing, and whose an update on chain is (ours or not). Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from validator.chain.weight_rows import U16_MAX
from validator.protocol.reasons import Reason
from validator.store.rows import RowState, WeightMark, WeightsRecord
from validator.weights.chain_view import Hindrance, Sight, Slot

OPEN: Final = ("submitted", "unknown")
WRONG_ROWS: Final[Mapping[RowState, str]] = {"altered": "weights_altered", "reveal_failed": "weights_reveal_failed"}
"""The condition that each of these states raises."""
_CLOCK_SLACK: Final = timedelta(seconds=1)  # corrections by NTP


class Known(NamedTuple):
    """The store's knowledge of our updates: what was last known (None before the first look), the newest submission.

    `highest_confirmed` is the highest block with weights of ours, over all mechanisms. `rows` are the mechanism's
    submissions on chain, newest first: some of the newest, and all that are not compared with the row on chain.
    """

    mark: WeightMark | None
    newest: WeightsRecord | None
    highest_confirmed: int | None
    last_written: datetime | None
    rows: Sequence[WeightsRecord] = ()

    @property
    def open(self) -> WeightsRecord | None:
        """The newest submission, if it may still arrive or have arrived unseen."""
        return self.newest if self.newest is not None and self.newest.state in OPEN else None


class Finding(Enum):
    """Result of inspecting our last update."""

    SAME = "it is the one we know"
    FRESH = "there is nothing to compare it with"
    REGISTERED = "the hotkey registered again, and nobody has written since"
    OURS = "the submission of unknown fate has arrived"
    BEHIND = "the chain shows an older one than we have seen"
    STRANGER = "we did not write it"


class Ruling(NamedTuple):
    """Decision after a look at the chain.

    Attributes:
        finding: whose our slot's last update is; None without a slot, or where the look says nothing yet.
        hindrance: why nothing may be signed, None if nothing speaks against it.
    """

    finding: Finding | None
    hindrance: Hindrance | None


def rule(known: Known, sight: Sight, now: datetime) -> Ruling:
    """Return what follows from what the chain shows and the store knows; anyone who signs or only looks asks here."""
    refused = refusal(known, sight, now)
    if refused is not None or sight.slot is None:
        return Ruling(None, refused)
    finding = judge(known, sight.slot, hidden=sight.parameters.commit_reveal)
    return Ruling(finding, _objection(finding, known, sight.slot, sight.snapshot.block))


def _objection(finding: Finding, known: Known, slot: Slot, block: int) -> Hindrance | None:
    seen, record = f"last update in block {slot.last_update}", known.open
    if finding is Finding.STRANGER:
        return Hindrance(Reason.WEIGHTS_LOCKED, seen, block + 1)
    if finding is Finding.BEHIND and known.mark is not None:
        before = f"{seen}, but it was in {known.mark.last_update} before"
        return Hindrance(Reason.WEIGHTS_CHAIN_BEHIND, before, block + 1)
    if record is None or finding is Finding.OURS or block > (last := record.expiry_block or 0):
        return None
    return Hindrance(Reason.WEIGHTS_UNKNOWN, f"epoch {record.epoch} may arrive until block {last}", block + 1)


def judge(known: Known, slot: Slot, *, hidden: bool) -> Finding:
    """Return whose the slot's last update is."""
    mark, update = known.mark, slot.last_update
    again = mark is not None and slot.registered_at > mark.block
    known_one = mark is not None and not again and update == mark.last_update
    if known_one and not slot.untold:
        return Finding.SAME
    if known.newest is not None and explains(known.newest, slot, hidden=hidden):
        return Finding.OURS
    if mark is not None and not again and slot.untold:
        return Finding.SAME
    if mark is None:
        return Finding.FRESH
    if again:
        return Finding.REGISTERED if update <= slot.registered_at else Finding.STRANGER
    return Finding.BEHIND if update < mark.last_update else Finding.STRANGER


def explains(record: WeightsRecord, slot: Slot, *, hidden: bool) -> bool:
    """Return whether the slot's last update can be this submission.

    It must be between signing and expiry. Weights in the open must be those that were sent, or for an open submission
    targets of it with other weights: a chain that alters a row is no reason to lock. Hidden ones are told by the update
    alone, unless there are two commitments where one was sent. Where the chain keeps no block of it, the weights or the
    commitment are all that tells.
    """
    update = slot.last_update
    if record.signed_block is None or record.state == "confirmed":
        return False
    since = [block for block in slot.commits if block >= record.signed_block]
    if slot.untold:
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


def row_state(record: WeightsRecord, known: Known, sight: Sight, slot: Slot) -> RowState | None:
    """Return the result of comparing the row on chain with a confirmed submission's; None: it cannot be told yet."""
    if record.row_state == "committed":
        return _revealed(record, known, sight, slot)
    if slot.last_update == record.block or slot.untold:
        return "as_sent" if slot.weights == record.sent else "altered"
    return "unseen" if sight.snapshot.epoch > record.epoch else None


def _revealed(record: WeightsRecord, known: Known, sight: Sight, slot: Slot) -> RowState | None:
    """Return the result of a reveal.

    Nothing on chain tells that one has failed: the commitment goes, and the row stays as it was.
    """
    epoch, due = sight.snapshot.epoch, record.epoch + sight.parameters.reveal_epochs
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
    older = any(other.row_state == "altered" for other in known.rows if other.epoch < record.epoch)  # may still show
    altered = not (same or older) and bool(slot.weights) and slot.weights.keys() <= (record.sent or {}).keys()
    return "altered" if altered else "reveal_failed"


def refusal(known: Known, sight: Sight, now: datetime) -> Hindrance | None:
    """Return why nothing may be signed although the chain would take it, None if nothing."""
    block, epoch, soon = sight.snapshot.block, sight.snapshot.epoch, sight.snapshot.block + 1
    if known.last_written is not None and now < known.last_written - _CLOCK_SLACK:
        back = (
            f"the clock says {now:%Y-%m-%d %H:%M:%S}, the store was written at {known.last_written:%Y-%m-%d %H:%M:%S}"
        )
        return Hindrance(Reason.WEIGHTS_CLOCK_BACK, f"{back} UTC", soon)
    if known.highest_confirmed is not None and block < known.highest_confirmed:
        behind = f"block {block}, but weights of ours are in block {known.highest_confirmed}"
        return Hindrance(Reason.WEIGHTS_CHAIN_BEHIND, behind, soon)
    if known.newest is not None and epoch < known.newest.epoch:
        return Hindrance(Reason.WEIGHTS_EPOCH_BACK, f"epoch {epoch} after epoch {known.newest.epoch}", soon)
    return None
