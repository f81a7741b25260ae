"""`validator localnet …`: a whole local network on a chain node."""

from pathlib import Path
from typing import Annotated, Final

import typer

from localnet.cli import work
from localnet.onchain.options import HOST
from validator.cli.options import Json
from validator.protocol.skill_types import SkillType

_FOLDER: Final = Path("localnet-run")


app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Whole local networks on a node of the chain.")


@app.callback()
def _localnet() -> None:
    """Keep `up` a sub-command although it is the only one."""


@app.command()
def up(  # noqa: PLR0913, PLR0917 - one for each option
    url: Annotated[str, typer.Option(metavar="URL", help="Where the node answers: ws://…, or local.")] = "local",
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For wallets, settings, tasks, store and log; used again.")
    ] = _FOLDER,
    netuid: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help="A subnet that is there; else one is made.", show_default=False),
    ] = None,
    miners: Annotated[int, typer.Option(min=1, max=16, help="Reference miners.")] = 5,
    tempo: Annotated[
        int | None,
        typer.Option(min=10, max=65_535, help="Blocks in an epoch; else what makes about 90 s.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where the miners listen.")] = HOST,
    skill_type: Annotated[
        list[SkillType] | None, typer.Option("--type", help="Tasks of these types; else all.", show_default=False)
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, max=1_000, help="Give up after so many without weights.")] = 5,
    stay: Annotated[bool, typer.Option("--stay", help="Go on once weights have landed, until Ctrl-C.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look at the chain, say what would be done, and do nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring a subnet, miners and the validator up on a development chain, and wait until weights have landed.

    Exit 1: none landed, or the chain's row is not the plan. Any other chain than a development one is refused.
    """
    work.localnet.up(
        url, folder, netuid, miners, tempo, host, skill_type, epochs, stay=stay, dry_run=dry_run, as_json=as_json
    )
