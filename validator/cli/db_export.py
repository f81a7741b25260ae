"""`validator db export`: the store's tables for analysis."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json
from validator.protocol.limits import MAX_ROUND_ID


def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.", show_default=False)],
    config: Config = None,
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="This table alone; may be given several times.")
    ] = None,
    since: Annotated[
        int, typer.Option("--since", metavar="ROUND", min=0, max=MAX_ROUND_ID, help="This round and all later ones.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Write the store's tables as Parquet files into a new folder, without anybody's bytes. A validator may be running.

    Needs the extra `analysis`. The files hold the truth of tasks.
    """
    work.db_export.export(folder, config, table, since, as_json=as_json)
