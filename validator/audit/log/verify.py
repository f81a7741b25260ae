"""An audit file verified with nothing but itself (SPEC 4 to 10, 14): no store, no settings, no network."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, get_origin

import msgspec
from msgspec import UNSET

from validator.audit.log.chain import Chain
from validator.audit.log.folders import Given
from validator.audit.log.lines import START, FaultError, Line, LineReader, require_audit_file
from validator.audit.log.report import Checked, Verified
from validator.audit.log.rounds import Course, check_round
from validator.audit.log.weights import Vectors
from validator.protocol.canonical import sha256_hex
from validator.protocol.limits import MAX_LOG_HOTKEYS, MAX_LOG_SALTS, MAX_RECEIPT
from validator.protocol.receipt import Receipt
from validator.protocol.strict_json import JsonError, decode
from validator.state import known_from

Progress = Callable[[int], None]

_PREFIX: Final = b'{"receipt":'
_SALTS: Final = b'"salts":[{'  # in canonical form; without it there is nothing to find


@dataclass(slots=True)
class Reading:
    """Everything that a verification knows of the lines that it has read; nothing else decides about the next one.

    Attributes:
        chain: what the receipts say.
        course: what the rounds left.
        vectors: what was told of weights.
        counted: what was computed again, for the report.
        rounds: how many ended in which state.
        untold: scores that rest on truths which the file does not show, by kind of task.
        first_round, last_round: their ids, None before the first.
        blocks: the first and the last one that a round or a vector was taken at, None before there was any.
    """

    chain: Chain
    course: Course = field(default_factory=Course)
    vectors: Vectors = field(default_factory=Vectors)
    counted: Counter[str] = field(default_factory=Counter)
    rounds: Counter[str] = field(default_factory=Counter)
    untold: Counter[str] = field(default_factory=Counter)
    first_round: int | None = None
    last_round: int | None = None
    blocks: tuple[int, int] | None = None

    @classmethod
    def begin(cls, hotkey: str | None) -> "Reading":
        """Return what is known before the first line; `hotkey` is whose log it must be, None for anybody's."""
        return cls(Chain(hotkey))

    @classmethod
    def decoded(cls, data: bytes) -> "Reading":
        """Return what `encoded` gave.

        Raises:
            msgspec.MsgspecError: it is something else.
        """
        return _DECODER.decode(data)

    def encoded(self) -> bytes:
        """Return it as bytes.

        Raises:
            OverflowError: a number in the log is larger than any honest one.
        """
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

    def word(self) -> Counter[str]:
        """Return what was said that nobody can compute, by kind."""
        course, vectors = self.course, self.vectors
        counted = course.counted
        others = {
            "flags from before the file": counted["flags before"],
            "executions without a result": counted["executed"],
            "late qualities without a result": counted["deferred"],
            "rounds open at a vector and frozen behind it": vectors.counted["opened"],
            "pasts from before the file": counted["pasts"],
            "vectors of other kinds": vectors.fates.turned,
        }
        return course.words.word + vectors.around.waiting() + Counter(others)


def _counter(kind: type, counts: Any) -> Any:
    """Return a Counter from what msgspec made of it."""
    if get_origin(kind) is not Counter:
        raise NotImplementedError
    return Counter(counts)


_DECODER: Final = msgspec.msgpack.Decoder(Reading, dec_hook=_counter)


class Marks(Protocol):
    """Is shown every receipt before anything of it is checked."""

    def before(self, found: Line, reading: Reading) -> None:
        """Look at the next receipt, and at what was known before it."""


def verify_file(
    path: Path, hotkey: str | None = None, progress: Progress = lambda _: None, given: Given | None = None
) -> Verified:
    """Check everything that the file says, line by line; it is read twice, because salts come after their rounds.

    Args:
        path: the file.
        hotkey: whose log it must be, ss58; None for the one that its first receipt names.
        progress: told how many bytes are done, after each receipt.
        given: bundles, tasks and raw answers that are beside it.

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

    Raises:
        FaultError: there are more than any log has.
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
    marks: Marks | None = None,
    *,
    given: Given | None = None,
) -> Verified:
    """Check the lines that are left, and take them in.

    Args:
        reader: behind the lines that `reading` knows.
        reading: what is known of them.
        salts: commitment to salt, of the whole file.
        progress: told how many bytes are done, after each receipt.
        marks: shown every receipt first.
        given: see `verify_file`.

    Raises:
        FaultError: the first thing that does not hold, with its line.
    """
    chain, course, vectors = reading.chain, reading.course, reading.vectors
    given = given or Given()
    while (found := reader.next("receipt", None)) is not None:
        if found.kind != "receipt":
            raise FaultError(
                found.number, found.kind, None, "no receipt names this line: repeated, out of order or added"
            )
        if marks is not None:
            marks.before(found, reading)
        receipt = chain.add(found)
        if receipt.first_round == "0":
            course.state = known_from(course.state, 0)
        course.state = vectors.add(reader, found, receipt, chain.next_round, course.state)
        reading.saw(receipt)
        if receipt.round is not None:
            if reading.first_round is None:
                reading.first_round = receipt.round.index
            checked = check_round(reader, receipt, receipt.round, salts.get(receipt.commitment or ""), course, given)
            vectors.end(receipt.round, checked.planned, receipt.validator_hotkey)
            _count(reading, checked)
            if len(course.state.miners) > MAX_LOG_HOTKEYS:
                raise FaultError(found.number, "receipt", None, f"more than {MAX_LOG_HOTKEYS} miners in one file")
            reading.last_round = receipt.round.index
        progress(reader.offset)
    given.finish()
    return _report(reading, given)


def _count(reading: Reading, checked: Checked) -> None:
    reading.rounds[checked.state] += 1
    reading.counted.update(
        tasks=checked.tasks,
        answers=checked.answers,
        proofs=checked.proofs,
        pending=int(checked.pending),
        truths=checked.truths.get(True, 0),
        truths_untold=checked.truths.get(False, 0),
    )
    reading.untold.update(checked.untold)


def _report(reading: Reading, given: Given) -> Verified:
    chain, vectors, counted = reading.chain, reading.vectors, reading.counted
    late, words = reading.course.counted, reading.course.words
    if chain.last is None or chain.last_digest is None or chain.first is None or chain.hotkey is None:
        raise FaultError(1, "receipt", None, "the file has no receipt")
    return Verified(
        hotkey=chain.hotkey,
        first=chain.first,
        last=chain.last.sequence,
        head=chain.last_digest,
        rounds=dict(sorted(reading.rounds.items())),
        first_round=reading.first_round,
        last_round=reading.last_round,
        tasks=counted["tasks"],
        answers=counted["answers"],
        proofs=counted["proofs"],
        pending=counted["pending"],
        executions=late["executions"],
        executions_before=late["executions before"],
        filled=late["filled"],
        filled_before=late["filled before"],
        vectors=vectors.counted["told"],
        vectors_recomputed=vectors.counted["recomputed"],
        vectors_pending=vectors.waiting,
        scores_on_word=vectors.counted["scores"],
        reasons_on_word=vectors.counted["reasons"],
        left_out=vectors.counted["left_out"],
        fates=dict(sorted(vectors.fates.states.items())),
        fates_before=vectors.fates.before,
        confirmed=tuple(found for _, found in sorted(vectors.fates.newest.items())),
        mechanisms=vectors.fates.mechanisms,
        blocks=reading.blocks,
        versions=_counts(words.versions),
        truths=counted["truths"],
        truths_untold=counted["truths_untold"],
        untold=dict(sorted(reading.untold.items())),
        dispatches=words.answers,
        unshown=_counts(words.unshown),
        whole_unpaid=_counts(words.whole),
        issued=(chain.first_issued, chain.last.issued_at),
        acts=late["acts"],
        word=_counts(reading.word()),
        given=_counts(given.counted),
    )


def _counts(counted: Counter[str]) -> dict[str, int]:
    return {name: many for name, many in sorted(counted.items()) if many}
