"""The verdict on one input of a target: read, refused, a crash, or dearer than its budget."""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Final

from fuzz.targets import TARGETS, Target
from sssa.protocol.errors import ValidatorError

CORPUS: Final = Path(__file__).parent / "corpus"
_TRIES: Final = 3


class DearError(Exception):
    """An input costs more processor time than its target's budget."""


def take(target: Target, data: bytes) -> None:
    """Read an input that a finding may be in.

    Raises:
        DearError: it costs more than the budget, however often it is read.
        Exception: a crash: the parser raised something else than a `ValidatorError`.
    """
    if min(_cost(target, data), target.budget_s) < target.budget_s:
        return
    if (cost := min(_cost(target, data) for _ in range(_TRIES))) >= target.budget_s:
        raise DearError(f"{cost:.2f} s for {len(data)} bytes, at most {target.budget_s} s")


def _cost(target: Target, data: bytes) -> float:
    began = process_time()
    with suppress(ValidatorError):
        target.read(data)
    return process_time() - began


def keep(name: str, data: bytes) -> Path:
    """Write an input of a finding into the corpus, which `make test` reads from then on."""
    file = CORPUS / name.replace(" ", "-") / sha256(data).hexdigest()[:16]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def kept(name: str) -> list[Path]:
    """Return the files of a target's corpus."""
    return sorted((CORPUS / name.replace(" ", "-")).glob("*"))


def known(name: str) -> list[bytes]:
    """Return what a target is fuzzed from: its valid documents and its corpus."""
    return [*TARGETS[name].seeds(), *(file.read_bytes() for file in kept(name))]
