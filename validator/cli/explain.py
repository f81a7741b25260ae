"""`validator explain …`: why a number is what it is."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from validator.audit.explain import NothingToExplainError, explain_miner, explain_round
from validator.cli.as_json import explanation_json
from validator.cli.errors import say_no
from validator.cli.explain_miner import print_miner_explanation
from validator.cli.explain_round import print_round_explanation
from validator.cli.options import Config, Json
from validator.cli.output import print_json
from validator.cli.session import ask_store
from validator.weights.plan import mechanisms

MAX_LAST = 1_000
_DIGITS = 19  # no more than a round's id can have


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
    try:
        match about:
            case [who]:
                miner = ask_store(
                    config,
                    lambda tx, settings: explain_miner(tx, who, last, datetime.now(UTC), mechanisms(settings.weights)),
                )
                print_json(miner) if as_json else print_miner_explanation(miner)
            case [first, who]:
                round_id = _round_id(first)
                found = ask_store(
                    config, lambda tx, settings: explain_round(tx, round_id, who, mechanisms(settings.weights))
                )
                print_json(explanation_json(found)) if as_json else print_round_explanation(found)
            case _:
                raise typer.BadParameter("write a round's id and a miner, or only a miner")
    except NothingToExplainError as error:
        say_no(error.detail)


def _round_id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise typer.BadParameter(f"`{text[:80]}` is no round's id: a number, as `validator rounds list` shows it")
    return int(text)
