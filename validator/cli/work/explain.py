"""What `validator explain …` does: why a number is what it is."""

from datetime import UTC, datetime
from pathlib import Path

import typer

from validator.audit.explain import NothingToExplainError, explain_miner, explain_round
from validator.cli.as_json import explanation_json
from validator.cli.errors import say_no
from validator.cli.explain_miner import print_miner_explanation
from validator.cli.explain_round import print_round_explanation
from validator.cli.output import print_json
from validator.cli.session import ask_store
from validator.weights.plan import mechanisms

_DIGITS = 19  # no more than a round's id can have


def explain(about: list[str], last: int, config: Path | None, *, as_json: bool) -> None:
    """Explain what a round came to for a miner, or a miner's last rounds."""
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
