"""`validator miner …`: one reference miner for local networks; for authors of miners a template and a check."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from miner.check.sections import Section
from miner.cli import work
from validator.cli.options import Config, Json
from validator.protocol.skill_types import SkillType

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Reference miners for local networks; a template, a check."
)


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


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Made; nothing in it is overwritten.")],
) -> None:
    """Write the template of a miner, a small one in Python that passes `validator miner check`."""
    work.miner_new.new(folder)


@app.command()
def check(  # noqa: PLR0913, PLR0917 - one for each option
    url: Annotated[str, typer.Argument(metavar="URL", help="http://ADDRESS:PORT or https://ADDRESS:PORT.")],
    hotkey: Annotated[str, typer.Option("--hotkey", metavar="SS58", help="The miner's, which signs its answers.")],
    hotkey_uri: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Ask with the hotkey of this derivation uri, such as //Alice; else with the check's own, which "
            "everybody can have.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Ask with the hotkey of [wallet] there.", show_default=False),
    ] = None,
    skill_type: Annotated[
        list[SkillType] | None,
        typer.Option("--type", help="Of these types alone; else of all that are declared.", show_default=False),
    ] = None,
    only: Annotated[
        list[Section] | None,
        typer.Option("--only", help="Send these parts alone; else all.", show_default=False),
    ] = None,
    real_t_min: Annotated[
        bool, typer.Option("--real-t-min", help="With t_min as on chain, up to 120 s; else at most 0.5 s.")
    ] = False,
    deadline: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=1, max=86_400, help="No deadline later; else as on chain."),
    ] = None,
    runtime_image: Annotated[
        str | None,
        typer.Option(
            metavar="REPOSITORY@DIGEST",
            help="The image that dispatches of runtime types name; else one that nobody has.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Send a miner dispatches whose truth is known; say what a validator would make of each answer, and what to change.

    Stores nothing and needs no chain. Exit 1: something would be rejected, or is not as the protocol asks.
    """
    work.miner_check.check(
        url,
        hotkey,
        hotkey_uri,
        config,
        skill_type,
        only,
        deadline,
        runtime_image,
        real_t_min=real_t_min,
        as_json=as_json,
    )
