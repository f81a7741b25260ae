"""`validator devnet`: a whole network on this machine."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from localnet.cli import work
from validator.cli.options import Json

DEMO = Path("config/demo.toml")


def devnet(  # noqa: PLR0913, PLR0917 - one for each option
    config: Annotated[Path, typer.Option("--config", metavar="FILE", help="Settings of the local network.")] = DEMO,
    scenario: Annotated[
        Literal["demo", "collusion", "collusion-fair", "invented"],
        typer.Option(
            help="collusion: three miners that begin on top, with reputation that they earned, turn; "
            "collusion-fair: three without a head start do; invented: one miner invents its traces."
        ),
    ] = "demo",
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Rounds; 18, or 30 and 20 in the scenarios.", show_default=False),
    ] = None,
    validators: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=8,
            help="How many validators meet the same miners; 2, or 1 in the scenarios. The table is the first one's.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Over your own tasks: every task folder, archive and workflow.json below DIR. The end tells which of "
            "them separate miners. No bundle of yours is run.",
            show_default=False,
        ),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=1_000,
            metavar="N",
            help="With --tasks: the network's time runs N times faster than on chain; 10 unless told otherwise. "
            "Windows, and what an analysis takes of them, are an Nth. Analyses are made before a round, in real time; "
            "sending, tracing and miners of your own take real time within it.",
            show_default=False,
        ),
    ] = None,
    miners: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Who answers, as TOML: behaviours with counts, and urls of miners of your own.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="WORD", help="Decides keys, nonces and draws.")] = "devnet",
    executions: Annotated[
        bool,
        typer.Option("--executions/--no-executions", help="Execute bundles in the container engine, if there is one."),
    ] = True,
    as_json: Json = False,
) -> None:
    """Run simulated chain, local miners and the real validator together; then print what came of it."""
    own = work.devnet.Own(tasks, pace, miners)
    work.devnet.devnet(config, scenario, rounds, validators, seed, own, executions=executions, as_json=as_json)
