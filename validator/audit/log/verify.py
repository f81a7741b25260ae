"""An audit file verified with nothing but itself (SPEC 4 to 10, 14): no store, no settings, no network."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, get_origin

import msgspec
from msgspec import UNSET

from validator.audit.log.chain import Chain
from validator.audit.log.folders import Given
from validator.audit.log.lines import START, FaultError, Line, LineReader, require_audit_file
from validator.audit.log.report import NUMBERS, Counts, Verified
from validator.audit.log.rounds import check_round
from validator.audit.log.weights import Vectors
from validator.protocol.canonical import sha256_hex
from validator.protocol.limits import MAX_LOG_HOTKEYS, MAX_LOG_SALTS, MAX_RECEIPT
from validator.protocol.receipt import Receipt, RoundEnd
from validator.protocol.strict_json import JsonError, decode
from validator.state import State, known_from

Progress = Callable[[int], None]
Before = Callable[[Line, "Reading"], None]

_PREFIX: Final = b'{"receipt":'
_SALTS: Final = b'"salts":[{'  # in canonical form; without it there is nothing to find


@dataclass(slots=True)
class Reading:
    """Everything that a verification knows of the lines that it has read; nothing else decides about the next one.

    `blocks`: the first and the last one that a round or a vector was taken at, None before there was any.
    """

    chain: Chain
    state: State = field(default_factory=State)
    vectors: Vectors = field(default_factory=Vectors)
    counts: Counts = field(default_factory=Counts)
    first_round: int | None = None
    last_round: int | None = None
    blocks: tuple[int, int] | None = None

    @classmethod
    def begin(cls, hotkey: str | None) -> "Reading":
        """Return what is known before the first line; `hotkey` is whose log it must be, None for anybody's."""
        return cls(Chain(hotkey))

    @classmethod
    def decoded(cls, data: bytes) -> "Reading":
        """Return what `encoded` gave (msgspec.MsgspecError: it is something else)."""
        return _DECODER.decode(data)

    def encoded(self) -> bytes:
        """Return it as bytes (OverflowError: a number in the log is larger than any honest one)."""
        return msgspec.msgpack.encode(self)

    def saw(self, receipt: Receipt) -> None:
        """Take note of the block that a receipt's round or vector was taken at."""
        if receipt.weights is not UNSET:
            block = receipt.weights.block
        elif receipt.round is not None and receipt.round.lines.input is not None:
            block = receipt.round.block
        else:
            return
        first, last = self.blocks or (block, block)
        self.blocks = min(first, block), max(last, block)

    def report(self, given: Given) -> Verified:
        """Return what was found (FaultError: there was no receipt)."""
        chain, vectors, fates, counts = self.chain, self.vectors, self.vectors.fates, self.counts
        if chain.last is None or chain.last_digest is None or chain.first is None or chain.hotkey is None:
            raise FaultError(1, "receipt", None, "the file has no receipt")
        word = counts.word + vectors.word + vectors.around.waiting() + Counter({"vectors of other kinds": fates.turned})
        numbers = counts.numbers + vectors.counted
        numbers.update(
            first=chain.first,
            last=chain.last.sequence,
            vectors_pending=vectors.waiting,
            fates_before=fates.before,
        )
        return Verified(
            **{name: numbers[name] for name in NUMBERS},
            hotkey=chain.hotkey,
            head=chain.last_digest,
            first_round=self.first_round,
            last_round=self.last_round,
            rounds=_counts(counts.rounds),
            versions=_counts(counts.versions),
            untold=_counts(counts.untold),
            unshown=_counts(counts.unshown),
            whole_unpaid=_counts(counts.whole_unpaid),
            word=_counts(word),
            given=_counts(given.counted),
            fates=_counts(fates.states),
            confirmed=tuple(found for _, found in sorted(fates.newest.items())),
            mechanisms=fates.mechanisms,
            blocks=self.blocks,
            issued=(chain.first_issued, chain.last.issued_at),
        )


def _counts(counted: Mapping[str, int]) -> dict[str, int]:
    return {name: many for name, many in sorted(counted.items()) if many}


def _counter(kind: type, counts: Any) -> Any:
    """Return a Counter from what msgspec made of it."""
    if get_origin(kind) is not Counter:
        raise NotImplementedError
    return Counter(counts)


_DECODER: Final = msgspec.msgpack.Decoder(Reading, dec_hook=_counter)


def verify_file(
    path: Path, hotkey: str | None = None, progress: Progress = lambda _: None, given: Given | None = None
) -> Verified:
    """Check everything that the file says, line by line; it is read twice, because salts come after their rounds.

    `hotkey` is whose log it must be, None for anybody's; `progress` is told how many bytes are done.

    Raises:
        NotAnAuditFileError: the file is something else.
        FaultError: the first thing that does not hold, with its line.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        require_audit_file(file)
        salts = public_salts(file)
        file.seek(0)
        return verify_lines(LineReader(file), Reading.begin(hotkey), salts, progress, given=given)


def public_salts(file: BinaryIO, saw: Callable[[bytes], None] = lambda _: None) -> Mapping[str, bytes]:
    """Return commitment to salt, of every salt in the file. Unchecked lines may say anything: a salt proves itself.

    `saw` is shown all bytes, in pieces that end where a line ends or that are longer than a receipt may be.
    """
    found: dict[str, bytes] = {}
    number = 1
    while raw := file.readline(MAX_RECEIPT + 1):
        if len(found) > MAX_LOG_SALTS:
            raise FaultError(number, "receipt", None, f"more than {MAX_LOG_SALTS} salts in one file")
        saw(raw)
        number += raw.endswith(b"\n")
        if not raw.startswith(START) or _SALTS not in raw:
            continue
        try:
            receipt = decode(raw.rstrip()[len(_PREFIX) : -1], Receipt, limit=MAX_RECEIPT)
        except JsonError:
            continue
        for revealed in receipt.salts:
            salt = bytes.fromhex(revealed.salt)
            found[sha256_hex(salt)] = salt
    return found


def verify_lines(  # noqa: PLR0913 - the lines, what is known, and who looks on
    reader: LineReader,
    reading: Reading,
    salts: Mapping[str, bytes],
    progress: Progress,
    before: Before | None = None,
    *,
    given: Given | None = None,
) -> Verified:
    """Check the lines that are left behind those that `reading` knows, and take them in.

    `before` is shown every receipt first, and what was known before it.

    Raises:
        FaultError: the first thing that does not hold, with its line.
    """
    given = given or Given()
    while (found := reader.next("receipt", None)) is not None:
        if found.kind != "receipt":
            raise found.fault("no receipt names this line: repeated, out of order or added")
        if before is not None:
            before(found, reading)
        receipt = reading.chain.add(found)
        if receipt.first_round == "0":
            reading.state = known_from(reading.state, 0)
        reading.state = reading.vectors.add(reader, found, receipt, reading.chain.next_round, reading.state)
        reading.saw(receipt)
        if receipt.round is not None:
            _take_round(reader, reading, receipt, receipt.round, salts, given)
            if len(reading.state.miners) > MAX_LOG_HOTKEYS:
                raise found.fault(f"more than {MAX_LOG_HOTKEYS} miners in one file")
        progress(reader.offset)
    given.finish()
    return reading.report(given)


def _take_round(  # noqa: PLR0913, PLR0917 - a round, and what is known before it
    reader: LineReader, reading: Reading, receipt: Receipt, end: RoundEnd, salts: Mapping[str, bytes], given: Given
) -> None:
    if reading.first_round is None:
        reading.first_round = end.index
    salt = salts.get(receipt.commitment or "")
    reading.state, planned = check_round(reader, receipt, end, salt, reading.state, reading.counts, given)
    reading.vectors.end(end, planned, receipt.validator_hotkey)
    reading.last_round = end.index
