"""`validator init`: a new operator's settings."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work


def init(  # noqa: PLR0913, PLR0917 - each is an option
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where the files are written.")] = Path(),
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|URL", help="finney, test, local, simulated, or a ws:// or wss:// url.", show_default=False
        ),
    ] = None,
    netuid: Annotated[int | None, typer.Option(metavar="N", help="The subnet.", show_default=False)] = None,
    wallet_path: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder of the wallets.", show_default=False)
    ] = None,
    wallet: Annotated[str | None, typer.Option(metavar="NAME", help="The wallet.", show_default=False)] = None,
    hotkey: Annotated[str | None, typer.Option(metavar="NAME", help="The hotkey in it.", show_default=False)] = None,
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME.", show_default=False),
    ] = None,
) -> None:
    """Write validator.toml, every key with a comment, and .env; never overwrites. Asks for what no option says.

    Where nobody can be asked, what has a default gets it.
    """
    work.init.init(folder, network, netuid, wallet_path, wallet, hotkey, database)
