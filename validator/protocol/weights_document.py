"""What a vector came to, as the line of its receipt in the log says it (SPEC 11; SPEC 16, D-23, D-24, D-28)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from validator.protocol.limits import MAX_LOG_MINERS
from validator.protocol.receipt import Code, Decimal, Hotkey
from validator.protocol.sssa import Document, Unit

Score = Annotated[float, Meta(ge=0)]
U16 = Annotated[int, Meta(ge=0, le=65_535)]
Kind = Literal["assessments", "workflows"]


class WeightedMiner(Document, frozen=True):
    """A registered hotkey with a window.

    Attributes:
        hotkey, uid: whose, as of the snapshot.
        assessments, workflows: its score of each kind, 0 where the mechanism does not pay it or nothing of it is paid.
        weight: its share, capped; 0 where it has none.
        unpaid: skill type to reason, of its windows that do not pay; absent where all do.
    """

    hotkey: Hotkey
    uid: U16
    assessments: Score
    workflows: Score
    weight: Unit
    unpaid: dict[str, Code] | UnsetType = UNSET


class Owner(Document, frozen=True):
    """The subnet's owner, who takes what cannot be placed (D-11)."""

    hotkey: Hotkey
    uid: U16


class WeightsDocument(Document, frozen=True):
    """A mechanism's vector for an epoch.

    Attributes:
        kinds: what the mechanism pays for, assessments first.
        round_id: the newest round frozen before the snapshot, whose version computed it; None: there was none.
        next_round: rounds from this id on were not opened yet; those before it that the log does not hold were open.
        since_round: declarations are those of the rounds after this one; None: of all.
        owner: None where the chain names none that is registered.
        miners: by hotkey. Who has a window and is not among them was not registered, and is left out.
        workflow_share: of the pay, where the mechanism pays both kinds; else None.
        unallocated: share that no miner takes.
        row: [uid, u16] by uid, as the chain should store it; empty where no miner has a score.
    """

    kinds: tuple[Kind, ...]
    round_id: Decimal | None
    next_round: Decimal
    since_round: Decimal | None
    owner: Owner | None
    miners: Annotated[tuple[WeightedMiner, ...], Meta(max_length=MAX_LOG_MINERS)]
    workflow_share: Unit | None
    unallocated: Annotated[float, Meta(ge=-1, le=1)]
    row: Annotated[tuple[tuple[U16, U16], ...], Meta(max_length=MAX_LOG_MINERS + 1)]
