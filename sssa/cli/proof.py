"""`proof build` and `proof verify`: consensus proofs, made of a debate or checked (SPEC 14)."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from sssa.cli.errors import say_no
from sssa.cli.files import read_case, write_bytes
from sssa.cli.options import HotkeyUri, Json, Output, checked_hotkeys, development_signer, group
from sssa.cli.output import picked, print_json, print_line
from sssa.proofs.debate import debate_proof, parse_debate
from sssa.proofs.document import (
    TouchedError,
    Verified,
    document_bytes,
    proof_document,
    require_readable,
    seal,
    verify_document,
)
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable

PROOF = group()
Format = Annotated[
    Literal["json", "markdown"], typer.Option("--format", help="The document that can be verified, or a report.")
]
_SHOWN: Final = 20
_CELL: Final = 400


Debate = Annotated[str, typer.Argument(metavar="DEBATE.json", help="A debate; `-` is standard input.")]


@PROOF.command()
def build(debate: Debate, form: Format = "json", output: Output = None, hotkey_uri: HotkeyUri = None) -> None:
    """Make the proof of a debate of any system, unsigned or signed with a development key such as //Alice."""
    write_debate_proof(debate, form, output, None if hotkey_uri is None else development_signer(hotkey_uri))


def write_debate_proof(debate: str, form: str, output: Path | None, signer: Signer | None) -> None:
    """Write the proof of a debate; `signer` signs it."""
    proof = debate_proof(parse_debate(read_case(debate)))
    if form == "markdown":
        write_bytes(proof.to_markdown().encode(), output)
        return
    data = document_bytes(proof_document(proof) if signer is None else seal(proof, signer))
    require_readable(data)
    write_bytes(data, output)


@PROOF.command()
def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A proof; `-` is standard input.")],
    hotkey: Annotated[str | None, typer.Option(help="Who must have signed it; else its own word is taken.")] = None,
    as_json: Json = False,
) -> None:
    """Check a proof: form, checksum, digest, signature, and what its votes give. Exit 1 and the reason if it fails."""
    checked_hotkeys([hotkey] if hotkey else None, "--hotkey")
    try:
        verified = verify_document(read_case(file), hotkey)
    except TouchedError as error:
        say_no(str(error))
    if as_json:
        print_json(_facts(verified))
        return
    proof, warnings = verified.proof, verified.warnings
    print_line(f"{proof.proof_id}: holds, digest {verified.digest}")
    print_line(f"signed by {verified.hotkey}" if verified.hotkey else "not signed: anyone could have made it")
    strength = "strong" if proof.has_strong_consensus else "not strong"
    print_line(f"agreement ratio {proof.agreement_ratio!r}, confidence {proof.confidence!r}, {strength}")
    claims = proof.get_partial_consensus()
    print_line(f"agreed on {sum(one.agreed for one in claims)} of {len(claims)} claims")
    if warnings:
        unknown = sum(one.level == "unknown" for one in warnings)
        print_line(f"warnings: {len(warnings)}, of them not recomputable: {unknown}")
    for one in warnings[:_SHOWN]:
        print_line(f"  {printable(one.place, _CELL)}: {printable(one.what, _CELL)}")
    if len(warnings) > _SHOWN:
        print_line(f"  … {len(warnings) - _SHOWN} more")


def _facts(verified: Verified) -> dict[str, Any]:
    """Return the document of `--json`."""
    proof, warnings, claims = verified.proof, verified.warnings, verified.proof.get_partial_consensus()
    return {
        **picked(proof, "proof_id proof_version checksum"),
        **picked(verified, "digest hotkey"),
        **picked(proof, "agreement_ratio confidence has_strong_consensus"),
        "claims": len(claims),
        "claims_agreed": sum(one.agreed for one in claims),
        "not_recomputable": sum(one.level == "unknown" for one in warnings),
        "warnings": [{"place": one.place, "what": one.what} for one in warnings[:_SHOWN]],
        "warnings_left_out": max(0, len(warnings) - _SHOWN),
    }
