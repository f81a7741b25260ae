"""What the listings of work that waits beside the rounds have in common: how a try stands, a try at once."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from validator.cli.explain_page import Page
from validator.cli.output import cell, print_line
from validator.protocol.reasons import Reason
from validator.protocol.work_states import WorkState
from validator.store import Transaction


class _Tried(Protocol):
    """A piece of such work, as a view shows it."""

    @property
    def state(self) -> WorkState: ...
    @property
    def attempts(self) -> int: ...
    @property
    def due_at(self) -> datetime: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def ended_at(self) -> datetime | None: ...
    @property
    def reason(self) -> Reason | None: ...
    @property
    def meaning(self) -> str | None: ...
    @property
    def detail(self) -> str | None: ...


class _OfRound(_Tried, Protocol):
    @property
    def round_id(self) -> int: ...


class _Queue(Protocol):
    async def retry(self, work_id: str, at: datetime) -> bool: ...


def print_counts(counts: Mapping[str, int], none: str) -> None:
    """Print how many there are in each state, or `none`."""
    print_line(", ".join(f"{name} {many}" for name, many in counts.items()) or none)


def write_tries(page: Page, one: _Tried) -> None:
    """Add how often it was tried, where it stands, and why."""
    tries = "tried once" if one.attempts == 1 else f"tried {one.attempts} times"
    if one.state == "pending":
        page.line(f"{tries}; the next try is not before {cell(one.due_at)}")
    elif one.state == "running":
        page.line(f"{tries}; running since {cell(one.started_at)}")
    else:
        page.line(f"{tries}; ended at {cell(one.ended_at)}")
    if one.reason is not None:
        detail = f" ({one.detail})" if one.detail else ""
        page.line(f"{one.reason}: {one.meaning or '-'}{detail}")


async def try_now(tx: Transaction, queue: _Queue, name: str, work_id: str, found: _OfRound | None) -> str | None:
    """Make a piece of work due; return why that cannot be.

    Args:
        tx: that changes it.
        queue: where it waits.
        name: what it is called.
        work_id: its id.
        found: what the store has of it.
    """
    if found is None:
        return f"no {name} has this id: {work_id}"
    if found.round_id <= await tx.archives.removed_through():
        return f"round {found.round_id} is archived: nothing of it is run again"
    if await queue.retry(work_id, datetime.now(UTC)):
        return None
    return f"{work_id} is {found.state}: only what waits or ended inconclusive can be tried again"
