"""What `validator audit` writes."""

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from validator.audit.log import FaultError, Verified, audit_lines, first_sequence
from validator.cli.output import print_json, print_line
from validator.cli.progress import progress
from validator.store import Transaction


class Sink:
    """Where the lines go: a file that is there whole or not at all, else standard output.

    Args:
        path: the file, None for standard output.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stack = ExitStack()
        self._file: BinaryIO = sys.stdout.buffer

    def __enter__(self) -> Self:
        if self._path is not None:
            self._part = self._path.with_name(f"{self._path.name}.part")
            self._file = self._stack.enter_context(self._part.open("wb"))
        return self

    def write(self, data: bytes) -> None:
        """Write one line."""
        self._file.write(data + b"\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.flush()
        self._stack.close()
        if self._path is not None and kind is None:
            self._part.replace(self._path)
        elif self._path is not None:
            self._part.unlink()


async def write_log(tx: Transaction, since: int | None, sink: Sink) -> bool:
    """Write the log from a round's receipt on; return whether there is one."""
    first = await first_sequence(tx, since)
    if first is None:
        return False
    numbers = range(first, await tx.receipts.count())
    with progress("exporting", len(numbers)) as advance:
        for sequence in numbers:
            async for data in audit_lines(tx, sequence):
                sink.write(data)
            advance()
    return True


def print_fault(fault: FaultError, *, as_json: bool) -> None:
    """Print what does not hold, and where."""
    if as_json:
        place = {"line": fault.line, "kind": fault.kind, "round_id": fault.round_id, "path": fault.path}
        print_json({"ok": False, "fault": {**place, "what": fault.what}})
    else:
        print_line(str(fault))


def print_verified(found: Verified, *, as_json: bool) -> None:
    """Print what was checked, and what could not be yet."""
    if as_json:
        print_json({"ok": True, **asdict(found)})
        return
    rounds = ", ".join(f"{many} {state}" for state, many in found.rounds.items()) or "none"
    span = "" if found.first_round is None else f" {found.first_round} to {found.last_round}"
    print_line(f"holds: log of {found.hotkey}")
    print_line(f"receipts {found.first} to {found.last}, the last one's digest is {found.head}")
    if found.first:
        print_line(f"what comes before receipt {found.first} is not in the file")
    print_line(f"rounds{span}: {rounds}")
    print_line(f"computed again: {found.tasks} groups, {found.answers} signed answers, {found.proofs} proofs")
    if found.reruns:
        print_line(f"results of reruns, each of an answer that was to be run again: {found.reruns}")
    if found.reruns_before:
        print_line(f"results of reruns of answers that the file does not show: {found.reruns_before}")
    if found.filled:
        print_line(f"late qualities of code, each held against its answer: {found.filled}")
    if found.filled_before:
        print_line(f"late qualities of code of answers that the file does not show: {found.filled_before}")
    if found.pending:
        print_line(f"draw pending: {found.pending} rounds, whose epoch's salt is not public yet")
