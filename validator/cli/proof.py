"""`validator proof …`: consensus proofs: made of a debate, checked, or read from the store; stores none (SPEC 14)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from validator.cli.errors import say_no
from validator.cli.files import read_case, write_bytes
from validator.cli.options import Config, Json, Output, group
from validator.cli.output import picked, print_json, print_line
from validator.cli.session import ask_store, checked_hotkeys, signer_of
from validator.proofs.debate import debate_proof, parse_debate
from validator.proofs.document import (
    TouchedError,
    Verified,
    document_bytes,
    proof_document,
    require_readable,
    seal,
    verify_document,
)
from validator.protocol.text import printable

if TYPE_CHECKING:
    from validator.store.rows import ProofRecord

PROOF = group()
Format = Annotated[
    Literal["json", "markdown"], typer.Option("--format", help="The document that can be verified, or a report.")
]
Task = Annotated[str, typer.Argument(metavar="TASK", help="From `validator rounds show`.")]
_SHOWN: Final = 20
_CELL: Final = 400


@PROOF.command()
def build(  # noqa: PLR0913, PLR0917 - the options of a command
    debate: Annotated[str, typer.Argument(metavar="DEBATE.json", help="A debate; `-` is standard input.")],
    form: Format = "json",
    output: Output = None,
    sign: Annotated[bool, typer.Option("--sign", help="Sign it with the wallet's hotkey.")] = False,
    hotkey_uri: Annotated[
        str | None, typer.Option(metavar="URI", help="Sign it with a development key such as //Alice.")
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


@PROOF.command()
def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A proof; `-` is standard input.")],
    hotkey: Annotated[str | None, typer.Option(help="Who must have signed it; else its own word is taken.")] = None,
    as_json: Json = False,
) -> None:
    """Check a proof: form, checksum, digest, signature, and what its votes give. Exit 1 and the reason if it fails."""
    checked_hotkeys([hotkey] if hotkey else None, "--hotkey")
    try:
        found = verify_document(read_case(file), hotkey)
    except TouchedError as error:
        say_no(str(error))
    if as_json:
        print_json(_facts(found))
        return
    proof, warnings = found.proof, found.warnings
    print_line(f"{proof.proof_id}: holds, digest {found.digest}")
    print_line(f"signed by {found.hotkey}" if found.hotkey else "not signed: anyone could have made it")
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


def _facts(found: Verified) -> dict[str, Any]:
    """Return what `--json` prints."""
    proof, warnings, claims = found.proof, found.warnings, found.proof.get_partial_consensus()
    return {
        **picked(proof, "proof_id proof_version checksum"),
        **picked(found, "digest hotkey"),
        **picked(proof, "agreement_ratio confidence has_strong_consensus"),
        "claims": len(claims),
        "claims_agreed": sum(one.agreed for one in claims),
        "not_recomputable": sum(one.level == "unknown" for one in warnings),
        "warnings": [{"place": one.place, "what": one.what} for one in warnings[:_SHOWN]],
        "warnings_left_out": max(0, len(warnings) - _SHOWN),
    }


@PROOF.command()
def show(task: Task, config: Config = None) -> None:
    """Show the proof of a task's group as a page: votes, dissents, tensions, evidence."""
    record = _stored(task, config)
    found = verify_document(record.document)
    print_line(f"task {record.task_id}, round {record.round_id}; digest {found.digest}, signed by {found.hotkey}")
    print_line()
    for text in found.proof.to_markdown().splitlines():
        print_line(text)


@PROOF.command("export")
def export_(task: Task, form: Format = "json", output: Output = None, config: Config = None) -> None:
    """Write the signed proof of a task's group; `validator proof verify` checks the JSON."""
    data = _stored(task, config).document + b"\n"
    write_bytes(data if form == "json" else verify_document(data).proof.to_markdown().encode(), output)


def _stored(task: str, config: Path | None) -> "ProofRecord":
    record = ask_store(config, lambda tx, _: tx.proofs.of_task(task))
    if record is None:
        say_no(
            f"there is no proof of a task {task}: void and skipped tasks have none; `validator rounds show` lists tasks"
        )
    return record
