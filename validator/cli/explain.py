"""`validator explain …`: why a number is what it is."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json

MAX_LAST = 1_000


def explain(
    about: Annotated[
        list[str],
        typer.Argument(metavar="[ROUND] HOTKEY", help="A round's id and a miner, or only a miner.", show_default=False),
    ],
    last: Annotated[int, typer.Option(min=1, max=MAX_LAST, help="Most rounds, for a miner alone.")] = 30,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Explain what a round came to for a miner, or a miner's last rounds.

    A miner is a hotkey, the beginning of one, or a uid. Exit 1: no such round or miner, or the round was not settled.
    """
    work.explain.explain(about, last, config, as_json=as_json)
