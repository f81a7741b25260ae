"""Unpaid windows as a table, with what each reason says and what brings a window back."""

from collections.abc import Sequence

from validator.cli.output import print_line
from validator.cli.tables import Column, print_table
from validator.store.computed import UnpaidTold


def print_unpaid(windows: Sequence[UnpaidTold]) -> None:
    """Print who is unpaid for what, why and since when; nothing where everybody is paid."""
    if not windows:
        return
    print_line()
    print_line("not paid:")
    columns = (
        Column("hotkey"),
        Column("type"),
        Column("reason"),
        Column("since epoch", right=True),
        Column("round", right=True),
        Column("detail"),
    )
    print_table(
        columns,
        ((one.hotkey, one.skill_type, one.reason, one.since_epoch, one.since_round, one.detail) for one in windows),
    )
    for reason, meaning, remedy in dict.fromkeys((one.reason, one.meaning, one.remedy) for one in windows):
        print_line(f"{reason}: {meaning or ''} {remedy or ''}".rstrip())
