"""`validator db archive`: old rounds out of the store into files."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def archive(
    before: Annotated[
        datetime | None,
        typer.Option("--before", metavar="DATE", help="Rounds that ended before, UTC; else store.archive_days ago."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", file_okay=False, help="The folder for the files; else store.archive."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; write and remove nothing.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Take old, wholly settled rounds out of the store into signed files, which every reader still finds.

    A validator may be running. What something still needs stays: the newest rounds, open ones, secret salts, executions
    and code checks that are not over. Run it again after it was stopped: it goes on where it was.
    """
    work.db_archive.archive(before, to, config, dry_run=dry_run, as_json=as_json)
