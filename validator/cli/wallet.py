"""`validator wallet`: the hotkey's file for a container."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config


def install(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Mounted as the wallets' folder: WALLETS in .env.")],
    owner: Annotated[int, typer.Option(metavar="UID", help="The container's user and group.")] = 10_001,
    config: Config = None,
) -> None:
    """Copy the hotkey's file, and no coldkey, into a folder that only the container's user can read.

    Needs root to give the file away. What is there already stays.
    """
    work.wallet.install(folder, owner, config)
