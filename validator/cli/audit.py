"""`validator audit`: `export` writes the signed audit log to a file, `verify` checks such a file (docs/auditors.md)."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sssa.cli.errors import say_no
from sssa.cli.files import line_writer
from sssa.cli.options import Config, Json, group
from sssa.cli.rendering import progress
from sssa.cli.verify import Against, Answers, Bundles, File, Other, Owner, Rows, Tasks, verify_log
from sssa.log.chain_evidence import Anchored, ComparedRow
from sssa.log.verify_report import Verified
from sssa.protocol.limits import MAX_ROUND_ID
from validator.cancellation import run_whole
from validator.cli.session import settings_of, use_store

if TYPE_CHECKING:
    from validator.settings.model import Settings
    from validator.store import Store


_SPOOLED: Final = 8 * 1024 * 1024  # bytes of a receipt's lines in memory; more go to a temporary file
AUDIT = group()


@AUDIT.command()
def export(
    since: Annotated[
        int | None, typer.Option(metavar="ROUND", min=0, max=MAX_ROUND_ID, help="Start with this round's receipt.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Else standard output.")] = None,
    public: Annotated[
        bool, typer.Option("--public", help="For others: without the truths of tasks that are not retired.")
    ] = False,
    config: Config = None,
) -> None:
    """Write receipts, inputs, groups, answers, scores and proofs as JSON lines; a validator may be running.

    The file tells the truth of tasks that may come again, and its owner alone may read it. With --public it tells that
    of retired tasks alone (`validator tasks retire`), and anybody may read it. Exit 1: there is no such receipt, or
    the log tells truths from before they were committed to; --since starts behind them.
    """
    from validator.audit.export import audit_lines, first_sequence  # noqa: PLC0415 - they load the store

    async def write_log(store: "Store", write: Callable[[bytes], None]) -> None:
        """Read each receipt in its own transaction: the reader may block, and an open one would pin the store."""
        async with store.read() as tx:
            first, many = await first_sequence(tx, since), await tx.receipts.count()
        if first is None:
            nothing = "the log is not opened yet" if since is None else f"round {since} has no receipt"
            say_no(f"{nothing}; `validator rounds list` shows the rounds")
        with progress("exporting", many - first) as advance:
            for sequence in range(first, many):
                with SpooledTemporaryFile(_SPOOLED) as lines:
                    async with store.read() as tx:
                        async for data in audit_lines(tx, sequence, public=public):
                            lines.write(data + b"\n")
                    lines.seek(0)
                    for line in lines:
                        write(line[:-1])
                advance()

    with line_writer(out, public=public) as write:
        use_store(config, lambda store, _: write_log(store, write))


@AUDIT.command()
def verify(  # noqa: PLR0913, PLR0917 - each is an option
    file: File,
    hotkey: Owner = None,
    rows: Rows = None,
    compare: Other = None,
    against: Against = None,
    chain: Annotated[
        bool,
        typer.Option(
            "--chain", help="Compare its newest vector with the row on the settings' chain, its end with an anchor."
        ),
    ] = False,
    config: Config = None,
    bundles: Bundles = None,
    tasks: Tasks = None,
    answers: Answers = None,
    as_json: Json = False,
) -> None:
    """Check an export with nothing but the file. Exit 1: it does not hold, and where; 2: it is no such file.

    With --against or --chain also whether it goes as far as a receipt that is known from elsewhere, with --rows or
    --chain whether the row on chain is that of its newest vector (exit 1: it is not). Only --chain needs settings, and
    of them only the subnet and its chain. With folders of what it names, these are compared with it as well; with
    --compare also another export of the log (exit 1: two histories, or nothing in common).
    """
    ask = partial(ask_chain, settings_of(config)) if chain else None
    verify_log(file, hotkey, rows, compare, against, (bundles, tasks, answers), ask, as_json=as_json)


def ask_chain(settings: "Settings", verified: Verified) -> tuple[Anchored, tuple[ComparedRow, ...]]:
    """Return the on-chain anchor and weight rows of the log's owner.

    No wallet is needed (ChainError).
    """
    from sssa.sources import SystemClock  # noqa: PLC0415 - see above
    from validator.audit.chain_rows import anchored, compare_rows  # noqa: PLC0415 - verification loads no chain
    from validator.chain.opening import reading_chain  # noqa: PLC0415 - see above

    chain = reading_chain(settings, SystemClock())

    async def ask() -> tuple[Anchored, tuple[ComparedRow, ...]]:
        try:
            return await anchored(chain, verified.hotkey, settings.validator.netuid), await compare_rows(
                chain, verified
            )
        finally:
            await chain.close()

    return run_whole(ask())
