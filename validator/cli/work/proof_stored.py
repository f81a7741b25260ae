"""What `validator proof show` and `export` do: the proofs that the store keeps (SPEC 14)."""

from pathlib import Path
from typing import Literal

from validator.cli.errors import say_no
from validator.cli.output import print_line, write_bytes
from validator.cli.session import ask_store
from validator.proofs.document import verify_document
from validator.store.signed import ProofRecord


def show(task: str, config: Path | None) -> None:
    """Show the proof of a task's group as a page: votes, dissents, tensions, evidence."""
    record = _stored(task, config)
    found = verify_document(record.document)
    print_line(f"task {record.task_id}, round {record.round_id}; digest {found.digest}, signed by {found.hotkey}")
    print_line()
    for text in found.proof.to_markdown().splitlines():
        print_line(text)


def export_(task: str, form: Literal["json", "markdown"], output: Path | None, config: Path | None) -> None:
    """Write the signed proof of a task's group; `validator proof verify` checks the JSON."""
    data = _stored(task, config).document + b"\n"
    write_bytes(data if form == "json" else verify_document(data).proof.to_markdown().encode(), output)


def _stored(task: str, config: Path | None) -> ProofRecord:
    record = ask_store(config, lambda tx, _: tx.proofs.of_task(task))
    if record is None:
        say_no(
            f"there is no proof of a task {task}: void and skipped tasks have none; `validator rounds show` lists tasks"
        )
    return record
