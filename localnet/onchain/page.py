"""What `validator localnet up` shows."""

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localnet.onchain.files import CONFIG, LOG
from localnet.onchain.options import UpOptions
from localnet.onchain.outcome import Outcome
from localnet.screen import Screen
from validator.protocol.text import printable

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
    """Print the chain's row beside the plan."""
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
