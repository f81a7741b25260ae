"""What the store says of rounds, miners, weights and executions."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from validator.audit.views import MinerView, miner_list, round_list
from validator.protocol.reasons import Reason
from validator.settings import Settings
from validator.store import Transaction
from validator.store.errors import DamagedError
from validator.store.records import RoundRecord, WeightsRecord
from validator.store.signed import LogHead
from validator.weights.plan import mechanisms

_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Miners:
    """How many hotkeys there are of each kind; a hotkey may be of several.

    Attributes:
        seen: ever; validators among them.
        registered: that the newest stored metagraph names.
        declaring: of those, with a declaration that counts now.
        scored: of those, with a score above 0.
        flagged: with a standing flag.
        ejected: with so many that they are in no group.
    """

    seen: int
    registered: int
    declaring: int
    scored: int
    flagged: int
    ejected: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored, as of one moment.

    Attributes:
        rounds: the newest ones, newest first; one in hand is `open`.
        weights: the newest submission of each mechanism that has one, by mechanism.
        miners: how many of each kind.
        flags: standing ones.
        unpaid: how many windows would not be paid now, by reason (SPEC 16, D-23).
        executions: how many in each state that any is in.
        locked: why weights are locked in the store; None if they are not.
        log: the newest receipt; None before the first, and where it is damaged.
    """

    rounds: tuple[RoundRecord, ...]
    weights: tuple[WeightsRecord, ...]
    miners: Miners
    flags: int
    unpaid: Mapping[Reason, int]
    executions: Mapping[str, int]
    locked: str | None
    log: LogHead | None

    @property
    def in_hand(self) -> RoundRecord | None:
        """The newest round that is not over."""
        return next((one for one in self.rounds if one.state == "open"), None)


async def stored(tx: Transaction, settings: Settings, now: datetime) -> Stored:
    """Return what the store says now."""
    pays = mechanisms(settings.weights)
    newest = [await tx.weights.newest(settings.validator.netuid, mechid) for mechid in pays]
    everyone = await miner_list(tx, now, pays)
    rounds = await round_list(tx, _ROUNDS)
    lock, head = await tx.weight_guard.locked(), None
    with suppress(DamagedError):  # `validator doctor` says so; the rest can still be shown
        head = await tx.receipts.head()
    return Stored(
        rounds=rounds,
        weights=tuple(one for one in newest if one is not None),
        miners=_miners(everyone),
        flags=sum(miner.flags for miner in everyone),
        unpaid=dict(Counter(one.reason for miner in everyone for one in miner.unpaid).most_common()),
        executions=await tx.executions.counts(),
        locked=None if lock is None else lock.seen,
        log=head,
    )


def _miners(everyone: tuple[MinerView, ...]) -> Miners:
    registered = [miner for miner in everyone if miner.registered]
    return Miners(
        seen=len(everyone),
        registered=len(registered),
        declaring=sum(bool(miner.skill_types) for miner in registered),
        scored=sum(miner.score > 0 for miner in registered),
        flagged=sum(miner.flags > 0 for miner in everyone),
        ejected=sum(miner.ejected for miner in everyone),
    )
