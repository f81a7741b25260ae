"""A verification that goes on where the one before it stopped, with the same result as one from the first line."""

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import msgspec

from validator.audit.log.checkpoint import Checkpoint, CheckpointError, Key, Position, read_checkpoint
from validator.audit.log.lines import Hash, Line, LineReader, require_audit_file
from validator.audit.log.report import Verified
from validator.audit.log.verify import Progress, Reading, public_salts, verify_lines
from validator.protocol.limits import MAX_RECEIPT
from validator.protocol.receipt import RoundEndState
from validator.protocol.strict_json import JsonError, decode


class GoneOn(NamedTuple):
    """What came of it.

    Attributes:
        found: what a verification from the first line finds.
        begun: up to where the checkpoint had it; None: it began with the first line.
        kept: what the next one goes on from; None: the first round of the file waits for its epoch's salt.
    """

    found: Verified
    begun: Position | None
    kept: Checkpoint | None


def verify_on(
    path: Path, checkpoint: Path, key: Key, hotkey: str | None = None, progress: Progress = lambda _: None
) -> GoneOn:
    """Check a file as `verify_file` does, from its checkpoint on.

    The bytes before it are read, not parsed: their digest must be what it was. A checkpoint stands before the first
    round whose salt is not public yet: that round and those behind it are checked again, as what they come to may hang
    on it.

    Args:
        path: the file.
        checkpoint: where it lies; nothing need be there yet.
        key: of the verifier.
        hotkey: whose log it must be, ss58; None for the one that its first receipt names.
        progress: told how many bytes are done, after each receipt.

    Raises:
        CheckpointError: it was changed, or does not belong to the file or the key.
        NotAnAuditFileError: the file is something else.
        FaultError: the first thing that does not hold, with its line.
        OSError: a file cannot be read.
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

        found = verify_lines(reader, reading, salts, done, marks)
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
        self.taken: Hash = hashlib.sha256()
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
    """What a receipt says of its round's salt."""

    epoch: int | None
    commitment: str | None
    round: _End | None


class _Boundary(NamedTuple):
    line: int
    offset: int
    taken: Hash


class _Marks:
    """Keeps what was known before the first round that waits for its salt: what it comes to may hang on the salt.

    Args:
        reader: whose lines they are.
        public: commitments of the salts that the file makes public.
    """

    def __init__(self, reader: LineReader, public: Collection[str]) -> None:
        self._reader = reader
        self._public = public
        self._at = self._boundary()
        self._held: Checkpoint | None = None
        self._waiting: set[int] = set()

    def after(self) -> None:
        """Take note that a receipt is done with everything that it names."""
        self._at = self._boundary()

    def before(self, found: Line, reading: Reading) -> None:
        """See `Marks`."""
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
        last, at = reading.chain.last, self._at
        if last is None:
            return None
        try:
            known = reading.encoded()
        except OverflowError:
            return None
        return Checkpoint(Position(at.line, at.offset, at.taken.hexdigest(), last.sequence), known)

    def _boundary(self) -> _Boundary:
        reader = self._reader
        taken = hashlib.sha256() if reader.taken is None else reader.taken.copy()
        return _Boundary(reader.number, reader.offset, taken)
