"""The outcome of `validator localnet up`: the chain's row next to the plan, compared in memory and printed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localnet.onchain.files import CONFIG, LOG
from localnet.onchain.options import UpOptions
from localnet.screen import Screen
from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.text import printable
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.store.rows import WeightsRecord
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
        reasons: the result of their dispatches, by reason code.
        rows: the miners, then anyone else in the vector, by uid.
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
    """Counts rounds and the result of their dispatches."""

    rounds: int = 0
    reasons: Counter[Reason] = field(default_factory=Counter)

    def started(self, _prepared: Prepared) -> None:
        """Do nothing."""

    def ended(self, end: EndedRound) -> None:
        """Count the round."""
        self.rounds += 1
        if end.returned is not None:
            self.reasons.update(judged.reason for judged in end.returned.judged.values())

    def sentence(self) -> str:
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
    """Return the chain's row next to the plan. Pure.

    Args:
        genesis: the chain's, hex.
        validator: its hotkey.
        names: hotkey to name of each miner.
        record: the submission.
        row: the validator's on chain, uid to u16.
        snapshot: who has which uid.
        tally: results of the rounds.
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


_WIDE: Final = 120


class UpScreen(Screen):
    """The local network's screen, and the vector that landed.

    Args:
        console: where it goes.
        tell: whether the vector is shown; False where it is printed as JSON.
    """

    def __init__(self, console: Console, *, tell: bool) -> None:
        super().__init__(None, console)
        self._to = console
        self._tell = tell

    def landed(self, outcome: Outcome) -> None:
        """Show the vector that landed."""
        if self._tell:
            print_outcome(outcome, self._to)


def print_outcome(outcome: Outcome, console: Console) -> None:
    """Print the chain's row next to the plan."""
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    title = f"Weights of uid {outcome.validator_uid} on netuid {outcome.netuid}, set in block {outcome.block}"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("uid", "who", "hotkey", "planned u16", "chain's u16", "equal"):
        table.add_column(column, justify="left" if column in ("who", "hotkey") else "right", no_wrap=True)
    for row in outcome.rows:
        cells = (row.uid, row.who or "-", row.hotkey or "-", row.planned, row.on_chain, "yes" if row.equal else "NO")
        table.add_row(*(Text(str(cell)) for cell in cells))
    console.print(table)
    verdict = "the chain's row is the plan" if outcome.equal else "the chain's row is NOT the plan"
    console.print(Text(f"{outcome.paid} miners have weight; {verdict}"), soft_wrap=True)


def print_next(options: UpOptions, console: Console) -> None:
    """Print what to look at."""
    config = printable(str(options.folder / CONFIG))
    console.print(
        Text(f"log: {printable(str(options.folder / LOG))}; next: validator rounds list --config {config}"),
        soft_wrap=True,
    )
