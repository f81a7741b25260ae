"""Checkpoints of a verification, so that the next one continues there: files sealed by a key that is made here."""

import hashlib
import hmac
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

import validator
from validator.audit.log.lines import Line, LineReader, require_audit_file
from validator.audit.log.verify import Progress, Reading, public_salts, verify_lines
from validator.audit.log.verify_report import Verified
from validator.files import write_file
from validator.protocol import typed
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_RECEIPT
from validator.protocol.receipt import RoundEndState
from validator.protocol.strict_json import JsonError, decode
from validator.sources import SystemRandom

_FORM: Final = "1"
_MAX_HEADER: Final = 4_096
_MAX_CHECKPOINT: Final = 2 * 1024 * 1024 * 1024
_KEY_BYTES: Final = 32
_NAME_BYTES: Final = 8


class CheckpointError(ValidatorError):
    """The checkpoint cannot be used, and is left as it is."""


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of what was verified of a file: its last line from 1, bytes and their sha256, and its last receipt."""

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
    """The verifier's own key of 32 random bytes. It is symmetric: nobody else has to believe a checkpoint."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.name = hashlib.sha256(b"checkpoint key " + secret).hexdigest()[: 2 * _NAME_BYTES]

    def mac(self, program: str, position: Position, reading: bytes) -> str:
        """Return the HMAC-SHA256 of everything in a checkpoint."""
        signed = msgspec.json.encode([_FORM, program, position])
        return hmac.new(self._secret, signed + b"\n" + reading, hashlib.sha256).hexdigest()


def key_file() -> Path:
    """Return the key's path: in the user's configuration folder."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(folder) if Path(folder).is_absolute() else Path.home() / ".config") / "validator" / "checkpoint.key"


def own_key(file: Path) -> Key:
    """Return the key in a file; where there is none, a new one is made, for its owner alone (CheckpointError)."""
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
    """Return a checkpoint; None where there is none yet, or where another program made it (CheckpointError)."""

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
    """Put a checkpoint in place, whole or not at all, for its owner alone (OSError: it cannot be written)."""
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


class GoneOn(NamedTuple):
    """The result of a verification from a checkpoint.

    Attributes:
        found: what a verification from the first line finds.
        begun: up to where the checkpoint had it; None: it began with the first line.
        kept: what the next one continues from; None: the first round of the file waits for its epoch's salt.
    """

    found: Verified
    begun: Position | None
    kept: Checkpoint | None


def verify_on(
    path: Path, checkpoint: Path, key: Key, hotkey: str | None = None, progress: Progress = lambda _: None
) -> GoneOn:
    """Check a file as `verify_file` does, from its checkpoint on.

    The bytes before it are read, not parsed: their digest must be what it was. A checkpoint is before the first round
    whose salt is not public yet: that round and those behind it are checked again, as what they come to may hang on it.

    Raises:
        CheckpointError: it was changed, or does not belong to the file or the key.
        NotAnAuditFileError, FaultError, OSError: as `verify_file`.
    """
    start = read_checkpoint(checkpoint, key)
    reading = None if start is None else _reading(start, hotkey)
    begun = start.position if start is not None and reading is not None else None
    with path.open("rb") as file:
        require_audit_file(file)
        before = _Before(begun)
        salts = public_salts(file, before.saw)
        if begun is not None and before.digest != begun.sha256:
            raise CheckpointError(
                f"{checkpoint}: is not of this file: its first {begun.offset} bytes are other ones; verify it without "
                "a checkpoint to see whether they hold, and keep a checkpoint for each log"
            )
        file.seek(0 if begun is None else begun.offset)
        reader = LineReader(file, before.line, file.tell(), before.taken)
        marks = _Marks(reader, salts.keys())
        reading = Reading.begin(hotkey) if reading is None else reading

        def done(offset: int) -> None:
            marks.after()
            progress(offset)

        found = verify_lines(reader, reading, salts, done, marks.before)
        kept = marks.last(reading)
    return GoneOn(found, begun, kept)


def _reading(start: Checkpoint, hotkey: str | None) -> Reading | None:
    """Return what was known at a checkpoint; None where it is of no use: a full verification says why."""
    try:
        reading = Reading.decoded(start.reading)
    except msgspec.MsgspecError:
        return None
    return reading if hotkey in {None, reading.chain.hotkey} else None


class _Before:
    """Takes in the bytes before a position; `digest` is theirs, None while they were not all seen."""

    def __init__(self, position: Position | None) -> None:
        self.line = 0 if position is None else position.line
        self.taken = hashlib.sha256()
        self.digest: str | None = None
        self._left = 0 if position is None else position.offset

    def saw(self, raw: bytes) -> None:
        """Take in the next ones."""
        if self._left <= 0:
            return
        self.taken.update(raw)
        self._left -= len(raw)
        if self._left == 0:
            self.digest = self.taken.hexdigest()


class _End(msgspec.Struct):
    state: RoundEndState


class _Drawn(msgspec.Struct):
    """The part of a receipt that concerns its round's salt."""

    epoch: int | None
    commitment: str | None
    round: _End | None


class _Marks:
    """The knowledge before the first round that waits for its salt: what it comes to may hang on the salt.

    `public` are the commitments of the salts that the file makes public.
    """

    def __init__(self, reader: LineReader, public: Collection[str]) -> None:
        self._reader = reader
        self._public = public
        self.after()
        self._held: Checkpoint | None = None
        self._waiting: set[int] = set()

    def after(self) -> None:
        """Take note that a receipt is done with everything that it names."""
        self._at = self._reader.number, self._reader.offset, self._reader.taken.copy()

    def before(self, found: Line, reading: Reading) -> None:
        """Look at the next receipt before anything of it is checked, and at what was known before it."""
        self._let_go(reading)
        try:
            drawn = decode(found.document, _Drawn, limit=MAX_RECEIPT)
        except JsonError:
            return  # a fault, and the verification says which
        waits = drawn.round is not None and drawn.round.state != "skipped" and drawn.commitment not in self._public
        if not waits or drawn.epoch is None:
            return
        if not self._waiting:
            self._held = self._checkpoint(reading)
        self._waiting.add(drawn.epoch)

    def last(self, reading: Reading) -> Checkpoint | None:
        """Return the newest checkpoint that says everything; None before the first receipt."""
        self._let_go(reading)
        return self._held if self._waiting else self._checkpoint(reading)

    def _let_go(self, reading: Reading) -> None:
        """Wait no more for salts that cannot come: of an epoch that was over before the file began."""
        if self._waiting.isdisjoint(reading.chain.salts.secret):
            self._waiting.clear()
            self._held = None

    def _checkpoint(self, reading: Reading) -> Checkpoint | None:
        last, (line, offset, taken) = reading.chain.last, self._at
        if last is None:
            return None
        try:
            known = reading.encoded()
        except OverflowError:
            return None
        return Checkpoint(Position(line, offset, taken.hexdigest(), last.sequence), known)
