"""`validator audit verify --checkpoint`: from where it goes on, and how far it came, on standard error."""

from collections.abc import Callable
from pathlib import Path

import typer

from validator.audit.log import (
    Given,
    GoneOn,
    Key,
    Verified,
    key_file,
    own_key,
    verify_file,
    verify_on,
    write_checkpoint,
)
from validator.protocol.text import printable


def verified(
    file: Path, checkpoint: Path | None, hotkey: str | None, progress: Callable[[int], None], given: Given
) -> Verified:
    """Verify a file, from its checkpoint on where there is one, and write that anew; without one also what is given.

    Raises:
        CheckpointError: the checkpoint was changed, or is of another file or key.
        NotAnAuditFileError: the file is something else.
        FaultError: the first thing that does not hold.
        OSError: a file cannot be read.
    """
    if checkpoint is None:
        return verify_file(file, hotkey, progress, given)
    key = own_key(key_file())
    gone = verify_on(file, checkpoint, key, hotkey, progress)
    _say(_begun(gone, existed=checkpoint.exists()))
    _say(_written(gone, checkpoint, key))
    return gone.found


def _begun(gone: GoneOn, *, existed: bool) -> str:
    if gone.begun is not None:
        at = f"receipt {gone.begun.sequence}, line {gone.begun.line}"
        return f"went on behind {at}; the bytes before are those that were verified"
    return "verified from the first line" + (": another program made the checkpoint" if existed else "")


def _written(gone: GoneOn, checkpoint: Path, key: Key) -> str:
    if gone.kept is None:
        return "no checkpoint yet: the first round of the file waits for its epoch's salt"
    try:
        write_checkpoint(checkpoint, gone.kept, key)
    except OSError as error:
        return f"no checkpoint could be written: {error}"
    return f"{checkpoint}: goes on behind receipt {gone.kept.position.sequence}"


def _say(text: str) -> None:
    typer.echo(printable(text, 2_000), err=True)
