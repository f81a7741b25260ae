"""`validator proof …`: consensus proofs (SPEC 14)."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from validator.cli.cases import read_case
from validator.cli.errors import say_no
from validator.cli.options import Config, Json
from validator.cli.output import print_json, print_line, write_bytes
from validator.cli.signing import checked_hotkeys, signer_of
from validator.proofs.debate import debate_proof, parse_debate
from validator.proofs.document import (
    TouchedError,
    document_bytes,
    proof_document,
    require_readable,
    seal,
    verify_document,
)

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
    proof = debate_proof(parse_debate(read_case(debate)))
    if form == "markdown":
        write_bytes(proof.to_markdown().encode(), output)
        return
    signed = sign or hotkey_uri is not None
    document = seal(proof, signer_of(hotkey_uri, config)) if signed else proof_document(proof)
    data = document_bytes(document)
    require_readable(data)
    write_bytes(data, output)


def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A proof; `-` is standard input.", show_default=False)],
    hotkey: Annotated[
        str | None, typer.Option(help="Who must have signed it; else its own word is taken.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a proof: form, checksum, digest, signature. Exit 1 and the reason if anything was touched."""
    checked_hotkeys([hotkey] if hotkey else None, "--hotkey")
    try:
        proof, digest, signed_by = verify_document(read_case(file), hotkey)
    except TouchedError as error:
        say_no(str(error))
    if as_json:
        facts = {"proof_id": proof.proof_id, "checksum": proof.checksum, "digest": digest, "hotkey": signed_by}
        print_json(facts)
        return
    print_line(f"{proof.proof_id}: holds, digest {digest}")
    print_line(f"signed by {signed_by}" if signed_by else "not signed: anyone could have made it")
