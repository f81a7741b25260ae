"""Where a verification stopped, in a file that only the verifier could have written (docs/audit.md)."""

import hashlib
import hmac
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

import validator
from validator.files import write_file
from validator.protocol import typed
from validator.protocol.errors import ValidatorError
from validator.sources import SystemRandom

_FORM: Final = "1"
_MAX_HEADER: Final = 4_096
_MAX_CHECKPOINT: Final = 2 * 1024 * 1024 * 1024
_KEY_BYTES: Final = 32
_NAME_BYTES: Final = 8


class CheckpointError(ValidatorError):
    """The checkpoint cannot be used, and is left as it is."""


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Up to where a file was verified.

    Attributes:
        line: number of the last line, from 1.
        offset: bytes up to and with it.
        sha256: of these bytes.
        sequence: of the last receipt among them.
    """

    line: int
    offset: int
    sha256: str
    sequence: int


class Checkpoint(msgspec.Struct, frozen=True):
    """A position, and what was known there: an encoded `Reading`, with the state that the rounds until then left."""

    position: Position
    reading: bytes


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    checkpoint: str
    program: str
    key: str
    position: Position
    mac: str


class Key:
    """The verifier's own key. It is symmetric: nobody else has to believe a checkpoint.

    Args:
        secret: 32 random bytes.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.name = hashlib.sha256(b"checkpoint key " + secret).hexdigest()[: 2 * _NAME_BYTES]

    def mac(self, program: str, position: Position, reading: bytes) -> str:
        """Return the HMAC-SHA256 of everything in a checkpoint."""
        signed = msgspec.json.encode([_FORM, program, position])
        return hmac.new(self._secret, signed + b"\n" + reading, hashlib.sha256).hexdigest()


def key_file() -> Path:
    """Return where the key lies: in the user's configuration folder."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(folder) if Path(folder).is_absolute() else Path.home() / ".config") / "validator" / "checkpoint.key"


def own_key(file: Path) -> Key:
    """Return the key in a file; where there is none, a new one is made, for its owner alone.

    Raises:
        CheckpointError: others may read it, or it is no key.
        OSError: it cannot be read or written.
    """
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another run was faster: its key counts
            write_file(file, SystemRandom().token(_KEY_BYTES))
    with file.open("rb") as stream:
        mode = os.fstat(stream.fileno()).st_mode
        secret = stream.read(_KEY_BYTES + 1) if stat.S_ISREG(mode) else b""
    if mode & 0o077:
        raise CheckpointError(f"{file}: others may read or change this key: chmod 600 it, or remove it")
    if len(secret) != _KEY_BYTES:
        raise CheckpointError(f"{file}: is no key of checkpoints: remove it, and the next run makes one")
    return Key(secret)


def read_checkpoint(file: Path, key: Key) -> Checkpoint | None:
    """Return what a checkpoint says; None where there is none yet, or where another program made it.

    Raises:
        CheckpointError: it was changed, is of another key, or is something else.
        OSError: it cannot be read.
    """

    def error(what: str) -> CheckpointError:
        return CheckpointError(f"{file}: {what}; name another file, or remove it to verify from the start")

    try:
        stream = file.open("rb")
    except FileNotFoundError:
        return None
    with stream:
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_CHECKPOINT:
            raise error("is no checkpoint")
        try:
            header = typed.decode(stream.readline(_MAX_HEADER), _Header)
        except msgspec.MsgspecError:
            raise error("is no checkpoint") from None
        reading = stream.read()
    if header.key != key.name:
        raise error("was not made with this user's key")
    if header.checkpoint != _FORM or not hmac.compare_digest(
        header.mac, key.mac(header.program, header.position, reading)
    ):
        raise error("was changed: it does not have the signature of this user's key")
    return Checkpoint(header.position, reading) if header.program == program() else None


def write_checkpoint(file: Path, checkpoint: Checkpoint, key: Key) -> None:
    """Put a checkpoint in place, whole or not at all, for its owner alone.

    Raises:
        OSError: it cannot be written.
    """
    position, by = checkpoint.position, program()
    mac = key.mac(by, position, checkpoint.reading)
    header = msgspec.json.encode(_Header(_FORM, by, key.name, position, mac))
    write_file(file, header + b"\n" + checkpoint.reading, replace=True)


def program() -> str:
    """Return the program's version and a digest of its sources: another one may know other things, or check more."""
    taken = hashlib.sha256()
    folder = Path(validator.__file__).parent
    for source in sorted(folder.rglob("*.py")):
        taken.update(hashlib.sha256(source.read_bytes()).digest())
    return f"{validator.__version__} {taken.hexdigest()[:16]}"
