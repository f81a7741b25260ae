"""`validator miner …`: one reference miner, for local networks on a real node."""

from typing import Annotated, Literal

import typer

from localnet.cli import work
from validator.cli.options import Config

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Reference miners for local networks.")


@app.callback()
def _miner() -> None:
    """Keep `run` a sub-command although it is the only one."""


@app.command()
def run(  # noqa: PLR0913, PLR0917 - one for each option
    config: Config = None,
    behaviour: Annotated[
        Literal["thorough", "partial", "sloppy", "lazy", "slow", "garbage", "oversized", "wrong_signature", "replayed"],
        typer.Option(help="What it makes of dispatches."),
    ] = "thorough",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = 8091,
    announce: Annotated[bool, typer.Option("--announce", help="Put --external-ip and the port on chain.")] = False,
    external_ip: Annotated[
        str | None, typer.Option(metavar="IP", help="Where validators reach it.", show_default=False)
    ] = None,
    external_port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Where it is not --port.", show_default=False)
    ] = None,
    validator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOTKEY", help="Answer this one; else every hotkey with a permit on chain.", show_default=False
        ),
    ] = None,
) -> None:
    """Serve one reference miner with the hotkey of [wallet] until SIGTERM. It analyses bundles and executes none."""
    work.miner.run(config, behaviour, host, port, external_ip, external_port, validator, announce=announce)
