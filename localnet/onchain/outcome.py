"""What came of it: the chain's row beside the plan."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot
from validator.rounds.listening import EndedRound
from validator.rounds.prepare import Prepared
from validator.store.records import WeightsRecord
from validator.weights.guard import same_weights


@dataclass(frozen=True, slots=True)
class Row:
    """One uid of the validator's row.

    Attributes:
        who: its name in the folder's wallets; None for somebody else.
        planned, on_chain: u16; 0 where there is nothing.
        equal: whether they differ by no more than the chain's rounding, 1.
    """

    uid: int
    hotkey: str | None
    who: str | None
    planned: int
    on_chain: int
    equal: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The first vector that landed.

    Attributes:
        block: that holds it.
        equal: whether the chain's row is the plan.
        paid: miners of the folder with weight on chain.
        rounds: that ended until then.
        reasons: what became of their dispatches, by reason code.
        rows: the miners, then whoever else is in the vector, by uid.
    """

    netuid: int
    genesis: str
    validator: str
    validator_uid: int
    block: int | None
    epoch: int
    equal: bool
    paid: int
    rounds: int
    reasons: Mapping[str, int]
    rows: Sequence[Row]


@dataclass(slots=True)
class Tally:
    """Counts rounds and what became of their dispatches."""

    rounds: int = 0
    reasons: Counter[Reason] = field(default_factory=Counter)

    def started(self, _prepared: Prepared) -> None:
        """Do nothing."""

    def ended(self, end: EndedRound) -> None:
        """Count the round."""
        self.rounds += 1
        if end.returned is not None:
            self.reasons.update(judged.reason for judged in end.returned.judged.values())

    def told(self) -> str:
        """Return it as a sentence."""
        counted = ", ".join(f"{many} {reason}" for reason, many in self.reasons.most_common())
        return f"{self.rounds} rounds: {counted or 'no dispatch'}"


def compared(  # noqa: PLR0913, PLR0917 - the plan, the chain, and who is who
    genesis: str,
    validator: str,
    names: Mapping[str, str],
    record: WeightsRecord,
    row: Mapping[int, int],
    snapshot: MetagraphSnapshot,
    tally: Tally,
) -> Outcome:
    """Return the chain's row beside the plan. Pure.

    Args:
        genesis: the chain's, hex.
        validator: its hotkey.
        names: hotkey to name of each miner.
        record: the submission.
        row: the validator's on chain, uid to u16.
        snapshot: who has which uid.
        tally: what the rounds came to.
    """
    sent = record.sent or {}
    hotkeys = {neuron.uid: neuron.hotkey for neuron in snapshot.neurons}
    ours = {uid for uid, hotkey in hotkeys.items() if hotkey in names}
    rows = [
        Row(
            uid=uid,
            hotkey=hotkeys.get(uid),
            who="owner" if hotkeys.get(uid) == snapshot.owner_hotkey else names.get(hotkeys.get(uid, "")),
            planned=sent.get(uid, 0),
            on_chain=row.get(uid, 0),
            equal=abs(sent.get(uid, 0) - row.get(uid, 0)) <= 1,
        )
        for uid in sorted(ours | sent.keys() | row.keys(), key=lambda uid: (uid not in ours, uid))
    ]
    me = snapshot.by_hotkey(validator)
    return Outcome(
        netuid=record.netuid,
        genesis=genesis,
        validator=validator,
        validator_uid=-1 if me is None else me.uid,
        block=record.block,
        epoch=record.epoch,
        equal=same_weights(row, sent),
        paid=sum(1 for uid in ours if row.get(uid, 0) > 0),
        rounds=tally.rounds,
        reasons={str(reason): many for reason, many in tally.reasons.most_common()},
        rows=rows,
    )
