"""`validator proof …`: the proofs of `proof.py`, signed with the wallet's hotkey, or read from the store (SPEC 14)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sssa.cli.errors import say_no
from sssa.cli.files import write_bytes
from sssa.cli.options import Config, HotkeyUri, Output, group
from sssa.cli.output import print_line
from sssa.cli.proof import Debate, Format, verify, write_debate_proof
from sssa.proofs.document import verify_document
from validator.cli.session import ask_store, signer_of

if TYPE_CHECKING:
    from validator.store.rows import ProofRecord

PROOF = group()
PROOF.command()(verify)
Task = Annotated[str, typer.Argument(metavar="TASK", help="From `validator rounds show`.")]


@PROOF.command()
def build(  # noqa: PLR0913, PLR0917 - the options of a command
    debate: Debate,
    form: Format = "json",
    output: Output = None,
    sign: Annotated[bool, typer.Option("--sign", help="Sign it with the wallet's hotkey.")] = False,
    hotkey_uri: HotkeyUri = None,
    config: Config = None,
) -> None:
    """Make the proof of a debate of any system."""
    signed = sign or hotkey_uri is not None
    write_debate_proof(debate, form, output, signer_of(hotkey_uri, config) if signed else None)


@PROOF.command()
def show(task: Task, config: Config = None) -> None:
    """Show the proof of a task's group as a page: votes, dissents, tensions, evidence."""
    record = _stored(task, config)
    verified = verify_document(record.document)
    print_line(f"task {record.task_id}, round {record.round_id}; digest {verified.digest}, signed by {verified.hotkey}")
    print_line()
    for text in verified.proof.to_markdown().splitlines():
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
