"""What `validator audit export` does: the signed log of all rounds, as a file to check (docs/audit.md)."""

from collections.abc import Callable
from pathlib import Path

from validator.audit.log import EVERY, RETIRED, audit_lines, first_sequence
from validator.cli.errors import say_no
from validator.cli.progress import progress
from validator.cli.session import use_store
from validator.cli.sink import sink
from validator.store import Store


def export(since: int | None, out: Path | None, config: Path | None, *, public: bool) -> None:
    """Write receipts, inputs, groups, answers, scores and proofs as JSON lines; a validator may be running."""
    with sink(out, public=public) as write:
        written = use_store(config, lambda store, _: _write_log(store, since, write, public=public))
        if not written:
            nothing = "the log is not opened yet" if since is None else f"round {since} has no receipt"
            say_no(f"{nothing}; `validator rounds list` shows the rounds")


async def _write_log(store: Store, since: int | None, write: Callable[[bytes], None], *, public: bool = False) -> bool:
    """Write the log from a round's receipt on, a transaction for each receipt; return whether there is one."""
    async with store.read() as tx:
        first = await first_sequence(tx, since)
        if first is None:
            return False
        numbers = range(first, await tx.receipts.count())
    with progress("exporting", len(numbers)) as advance:
        for sequence in numbers:
            async with store.read() as tx:
                async for data in audit_lines(tx, sequence, RETIRED if public else EVERY):
                    write(data)
            advance()
    return True
