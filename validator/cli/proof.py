"""`validator proof …`: consensus proofs (SPEC 14)."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from validator.cli import work
from validator.cli.options import Config, Json

Format = Annotated[
    Literal["json", "markdown"], typer.Option("--format", help="The document that can be verified, or a report.")
]


def build(  # noqa: PLR0913, PLR0917 - the options of a command
    debate: Annotated[
        str, typer.Argument(metavar="DEBATE.json", help="A debate; `-` is standard input.", show_default=False)
    ],
    form: Format = "json",
    output: Annotated[
        Path | None,
        typer.Option("--output", "--out", metavar="FILE", help="Else standard output.", show_default=False),
    ] = None,
    sign: Annotated[bool, typer.Option("--sign", help="Sign it with the wallet's hotkey.")] = False,
    hotkey_uri: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Sign it with a development key such as //Alice.", show_default=False),
    ] = None,
    config: Config = None,
) -> None:
    """Make the proof of a debate of any system."""
    work.proof.build(debate, form, output, hotkey_uri, config, sign=sign)


def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A proof; `-` is standard input.", show_default=False)],
    hotkey: Annotated[
        str | None, typer.Option(help="Who must have signed it; else its own word is taken.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a proof: form, checksum, digest, signature, and what its votes give. Exit 1 and the reason if it fails."""
    work.proof.verify(file, hotkey, as_json=as_json)
