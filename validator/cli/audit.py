"""`validator audit …`: the signed log of all rounds, as a file that anybody can check (docs/audit.md)."""

from pathlib import Path
from typing import Annotated, Any

import typer

from validator.cli import work
from validator.cli.options import Config, Json
from validator.protocol.limits import MAX_ROUND_ID


def _folder(name: str, what: str) -> Any:
    return typer.Option(name, metavar="DIR", exists=True, file_okay=False, help=what, show_default=False)


def export(
    since: Annotated[
        int | None,
        typer.Option(
            metavar="ROUND", min=0, max=MAX_ROUND_ID, help="Start with this round's receipt.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Else standard output.", show_default=False),
    ] = None,
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
    work.audit_export.export(since, out, config, public=public)


def verify(  # noqa: PLR0913, PLR0917 - each is an option
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="From `audit export`.")],
    hotkey: Annotated[
        str | None,
        typer.Option(metavar="SS58", help="Whose log it must be; else whose it says it is.", show_default=False),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="A row of weights on chain, to hold against the newest confirmed vector.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Go on from where this file has it, and write there how far it holds.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="DIGEST", help="Of a receipt that the file must reach, as `verify` prints it.", show_default=False
        ),
    ] = None,
    chain: Annotated[
        bool,
        typer.Option(
            "--chain",
            help="Hold its newest vector against the row on the settings' chain, its end against an anchor.",
        ),
    ] = False,
    config: Config = None,
    bundles: Annotated[Path | None, _folder("--bundles", "Bundles as dispatched, each named by its sha256.")] = None,
    tasks: Annotated[Path | None, _folder("--tasks", "Task documents, SHA256.json by the source bundle's.")] = None,
    answers: Annotated[Path | None, _folder("--answers", "Raw answers, each named by its sha256.")] = None,
    as_json: Json = False,
) -> None:
    """Check an export with nothing but the file. Exit 1: it does not hold, and where; 2: it is no such file.

    With --against or --chain also whether it goes as far as a receipt that is known from elsewhere, with --rows or
    --chain whether the row on chain is that of its newest vector (exit 1: it is not). Only --chain needs settings, and
    of them only the subnet and its chain. With folders of what it names, these are held against it as well.
    """
    work.audit.verify(
        file, hotkey, rows, checkpoint, against, config, bundles, tasks, answers, chain=chain, as_json=as_json
    )


def compare(
    a: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="From `audit export`.")],
    b: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="Another one of that log.")],
    as_json: Json = False,
) -> None:
    """Say whether two exports tell one history. Exit 1: they do not, and where they part; 2: one is no such file.

    Receipts alone are compared: they name everything else. `audit verify` says whether a file holds to its receipts.
    """
    work.audit.compare(a, b, as_json=as_json)
