"""What `validator audit export` does: the signed log of all rounds, as a file to check (docs/audit.md)."""

from collections.abc import Callable
from pathlib import Path

from validator.audit.log import (
    EVERY,
    RETIRED,
    PlainTruthError,
    audit_lines,
    first_sequence,
    first_without_plain_truth,
)
from validator.cli.errors import say_no
from validator.cli.progress import progress
from validator.cli.session import ask_store
from validator.cli.sink import sink
from validator.store import Transaction


def export(since: int | None, out: Path | None, config: Path | None, *, public: bool) -> None:
    """Write receipts, inputs, groups, answers, scores and proofs as JSON lines; a validator may be running."""
    with sink(out, public=public) as write:
        try:
            written = ask_store(config, lambda tx, _: _write_log(tx, since, write, public=public))
        except PlainTruthError as refused:
            say_no(_first_public(refused, config))
        if not written:
            nothing = "the log is not opened yet" if since is None else f"round {since} has no receipt"
            say_no(f"{nothing}; `validator rounds list` shows the rounds")


def _first_public(refused: PlainTruthError, config: Path | None) -> str:
    first = ask_store(config, lambda tx, _: first_without_plain_truth(tx, refused.round_id))
    if first is None:
        return f"{refused.detail}: its input tells them, and so do those of all rounds since; none can be shown yet"
    return f"{refused.detail}: its input tells them; the first round that may be shown is {first}: --since {first}"


async def _write_log(
    tx: Transaction, since: int | None, write: Callable[[bytes], None], *, public: bool = False
) -> bool:
    """Write the log from a round's receipt on, a line at a time; return whether there is one.

    Raises:
        PlainTruthError: it is `public`, and a round tells truths that cannot be left out.
    """
    first = await first_sequence(tx, since)
    if first is None:
        return False
    numbers = range(first, await tx.receipts.count())
    with progress("exporting", len(numbers)) as advance:
        for sequence in numbers:
            async for data in audit_lines(tx, sequence, RETIRED if public else EVERY):
                write(data)
            advance()
    return True
