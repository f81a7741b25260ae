"""The rows of the validators side by side, and what the subnet makes of them."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localnet.result import NetworkResult


def print_payout(result: NetworkResult, console: Console) -> None:
    """Print every miner's weight in every row, and what they come to together."""
    rows, aggregate = result.payout.rows, result.payout.aggregate
    several = len(rows) > 1
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("hotkey", "behaviour"):
        table.add_column(column)
    numbers = [f"validator {number}" for number, _ in enumerate(rows, 1)] if several else ["on chain"]
    for column in ("sent", *numbers, *(["paid together"] if several else [])):
        table.add_column(column, justify="right")
    for miner in sorted(result.miners, key=lambda m: (-m.aggregate, -m.on_chain, m.name)):
        shares = [row.shares.get(miner.hotkey, 0.0) for row in rows]
        if miner.weight or any(shares):
            paid = [aggregate.get(miner.hotkey, 0.0)] if several else []
            cells = (f"{value:.6f}" for value in (miner.weight, *shares, *paid))
            table.add_row(f"{miner.hotkey[:10]}…", Text(miner.name), *cells)
    console.print(table)
    for line in told(result) if several else ():
        console.print(line, soft_wrap=True)
    console.print()


def told(result: NetworkResult) -> list[str]:
    """Return in sentences how far the validators are apart, and what paying by all of them changes."""
    rows, payout = result.payout.rows, result.payout
    if payout.spread is None or payout.distance is None:
        without = sum(not row.shares for row in rows)
        return [f"{without} of {len(rows)} validators have no row on the chain: there is nothing to compare."]
    apart = (
        f"{len(rows)} validators asked the same miners, each with draws of its own. Their rows place "
        f"{payout.spread:.1%} of the weights differently."
    )
    together = (
        "Together they pay by the stake-weighted median of their rows; each row alone would place "
        f"{payout.distance:.1%} of the weights otherwise."
    )
    return [apart, together]
