"""Sums up orders by month."""

import csv
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

from table import as_table


def read_orders(path: Path) -> dict[str, Decimal]:
    """Return month to total."""
    totals: dict[str, Decimal] = defaultdict(Decimal)
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            totals[row["date"][:7]] += Decimal(row["amount"])
    return dict(sorted(totals.items()))


def main() -> int:
    """Write the report beside this file and print it."""
    here = Path(__file__).parent
    totals = read_orders(here / "data" / "orders.csv")
    text = as_table(("month", "total"), [(month, f"{total:.2f}") for month, total in totals.items()])
    Path("report.txt").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
