"""The record of an ended round: one stream of documents in zstd frames, written once and never changed. No I/O.

The stream is the head, then each group in the order of the plan, each with its length before it. It is cut into frames
of at most 8 MiB expanded, so that a reader never holds more than a group and a frame. A record is as secret as the
store: it has the round's seed and the truths of its tasks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.dispatch_record import RUN, Dispatch, JudgedAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import answers_line, line_digest
from sssa.protocol.results import Packed
from sssa.protocol.round import GroupOutcome
from sssa.protocol.text import printable
from validator.store.codec import compressed, compressed_after, expanded, expanded_after
from validator.store.errors import DamagedError, MismatchError, UnfinishedDispatchesError
from validator.store.rows import TaskEnd, TaskRecord

T = TypeVar("T")
Commands = Mapping[str, Sequence[str]]
FRAME: Final = 8 * 1024 * 1024  # bytes expanded
SMALL: Final = 2 * 1024 * 1024  # bytes of a record; level 19 takes a second for every six of them
MOST: Final = 256 * 1024 * 1024  # bytes of one document of the stream; damage may claim any number
_LEVEL: Final = 19
_QUICK_LEVEL: Final = 3
_LENGTH: Final = 4  # bytes
_LARGE_PROOF: Final = 256 * 1024  # bytes; of answers at their limits one may have 14 MB
_PROOF_LEVEL: Final = 9


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The result of a round without the documents of its groups; documents are canonical bytes.

    Attributes:
        input: None of a skipped round, and where it could not be read.
        outcome: None where the round was not settled.
        dispatches: in the order of the plan.
        reports: what executions showed whose results the round counted, by id (those of code are in the input).
    """

    version: Literal[1]
    input: bytes | None
    plan: bytes | None
    outcome: bytes | None
    dispatches: tuple[Dispatch, ...]
    reports: tuple[bytes, ...] = ()

    def listed(self) -> dict[tuple[str, str], tuple[str, str, int, str, Reason | None]]:
        """Return (task_id, hotkey) -> what the table of dispatches must say of each."""
        return {(o.task_id, o.hotkey): (o.skill_type, o.role, o.rank, o.state, o.reason) for o in self.dispatches}


class Group(msgspec.Struct, frozen=True, array_like=True):
    """The documents of one task's group.

    Attributes:
        signed: canonical bytes of the attestations or plans that passed their gates, in the order of the dispatches.
        runs: canonical bytes of the results of running the plans.
        kept_proof: the sealed proof; of a large one (`is_frame`) a frame after the attestations, whose texts it
            repeats.
    """

    task_id: str
    signed: tuple[bytes, ...]
    runs: tuple[bytes, ...]
    kept_proof: bytes | None
    is_frame: bool = False

    @property
    def proof(self) -> bytes | None:
        """The sealed proof; None where the task has none (DamagedError: it cannot be expanded)."""
        if self.kept_proof is None or not self.is_frame:
            return self.kept_proof
        return expanded_after(self.kept_proof, _texts(self.signed))

    def named(self) -> dict[str, bytes]:
        """Return the attestations, plans and runs by the sha256 of their bytes."""
        return {sha256_hex(document): document for document in (*self.signed, *self.runs)}


class OpenRound(NamedTuple):
    """The rows of an open round, in the order of the plan; documents as they are stored, by their sha256."""

    round_id: int
    input: bytes | None
    plan: bytes
    tasks: Sequence[TaskRecord]
    dispatches: Sequence[Dispatch]
    documents: Mapping[str, bytes]


class RoundEnding(NamedTuple):
    """The end of a round.

    Attributes:
        reason: of a round that is not settled: of its open tasks.
        document: canonical bytes of its outcome; None where it is not settled.
        proofs: packed documents by task.
        reports: as in `Head`.
        commands: as for `answers_line`.
        judged: judgements that the rows do not have.
        alone: void dispatches (D-26) by task and hotkey, whether the rows have them or not.
    """

    reason: Reason
    document: bytes | None = None
    groups: Sequence[GroupOutcome] = ()
    proofs: Mapping[str, bytes] = MappingProxyType({})
    reports: tuple[bytes, ...] = ()
    commands: Commands = MappingProxyType({})
    judged: Sequence[JudgedAnswer] = ()
    alone: Mapping[tuple[str, str], Reason] = MappingProxyType({})


class NarrowRow(NamedTuple):
    """The row of a dispatch once its round has ended, and the state and reason that it has before."""

    of_round_id: int
    of_task_id: str
    of_hotkey: str
    of_state: str
    of_reason: Reason | None
    state: str
    reason: Reason | None
    kept_bytes: int | None


class Record(NamedTuple):
    """A record as it is stored: its frames, and what follows from it.

    Attributes:
        outcome_sha256: None where the round is not settled.
        tasks: their ends.
        rows: of the dispatches.
        answers: digest of the line of the answers.
    """

    frames: tuple[bytes, ...]
    outcome_sha256: str | None
    tasks: tuple[TaskEnd, ...]
    rows: tuple[NarrowRow, ...]
    answers: str


SKIPPED: Final = Head(1, None, None, None, ())


def recorded(open_round: OpenRound, end: RoundEnding) -> Record:
    """Return the record of a round that ends, and the rows that it leaves. Pure, and heavy: not for the loop.

    Raises:
        DamagedError: a document cannot be read.
        MismatchError: the outcome or a judgement does not belong to the round.
        UnfinishedDispatchesError: a dispatch would count that is planned, sent or not judged.
    """
    tasks = _task_ends(open_round, end)
    documents = dict(open_round.documents)
    facts: dict[tuple[str, str], dict[str, Any]] = {
        key: {"state": "void", "reason": reason, "signed_sha256": None, "submission": None}
        for key, reason in end.alone.items()
    }
    for one in end.judged:
        facts[one.key.task_id, one.key.hotkey] = judged_facts(one)
        if one.submission is not None:
            documents |= packed_documents(one.submission)
    dispatches = tuple(
        _with_task(msgspec.structs.replace(one, **facts.get((one.task_id, one.hotkey), {})), tasks[one.task_id])
        for one in open_round.dispatches
    )
    for dispatch in dispatches:
        if dispatch.state in ("planned", "sent") or (dispatch.state == "answered" and dispatch.reason is None):
            what = f"round {open_round.round_id}, task {dispatch.task_id}, hotkey {dispatch.hotkey} is {dispatch.state}"
            raise UnfinishedDispatchesError(f"{what}; judge it or void the task")
    head = Head(1, _readable(open_round.input), open_round.plan, end.document, dispatches, end.reports)
    ended = open_round._replace(dispatches=dispatches, documents=documents)
    groups = (_group(task.task_id, ended, end.proofs.get(task.task_id)) for task in open_round.tasks)
    ends = tuple(tasks.values())
    answers = recorded_answers_line(head, ends, lambda sha256: expanded(_named(ended, sha256)), end.commands)
    return Record(
        tuple(frames(head, groups)),
        None if end.document is None else sha256_hex(end.document),
        ends,
        tuple(_narrow_row(*pair, documents) for pair in zip(open_round.dispatches, dispatches, strict=True)),
        line_digest(answers),
    )


def judged_facts(judged: JudgedAnswer) -> dict[str, Any]:
    """Return the fields of a dispatch that the judgement decides. Hashes the documents: not for the loop.

    Raises:
        MismatchError: the reason is no gate's, or contradicts the submission, or that is another dispatch's.
    """
    answer, reason = judged.submission, judged.reason
    if answer is None:
        state, signed, fields = "failed", None, None
        if not reason.gate:
            raise MismatchError(f"`{reason}` is no gate's reason")
    else:
        if reason not in (Reason.ACCEPTED, Reason.ACCEPTED_EARLY):
            raise MismatchError(f"a submission with the reason `{reason}`")
        if (answer.task_id, answer.hotkey) != (judged.key.task_id, judged.key.hotkey):
            raise MismatchError("a submission of another dispatch")
        if sha256_hex(answer.signed) != answer.sha256:
            raise MismatchError("`sssa_sha256` or `plan_sha256` is not that of the document's canonical bytes")
        state, signed = "answered", answer.sha256
        fields = {**answer.fields} if answer.run is None else {**answer.fields, RUN: sha256_hex(answer.run)}
    detail = judged.detail or None
    return {"state": state, "reason": reason, "detail": detail, "signed_sha256": signed, "submission": fields}


def packed_documents(answer: Packed) -> dict[str, bytes]:
    """Return the documents of an answer as they are stored, by their sha256."""
    every = (answer.signed,) if answer.run is None else (answer.signed, answer.run)
    return {sha256_hex(document): compressed(document) for document in every}


def _task_ends(open_round: OpenRound, end: RoundEnding) -> dict[str, TaskEnd]:
    """Return the end of each task, by its id (MismatchError: the outcome is not of these tasks).

    Of a settled round it follows from the outcome of the group; skipped tasks may have none.
    """
    ends = {task.task_id: TaskEnd(task.task_id, task.state, task.reason) for task in open_round.tasks}
    where = f"round {open_round.round_id}"
    if end.document is None:
        void = {task_id: TaskEnd(task_id, "void", end.reason) for task_id, one in ends.items() if one.state == "open"}
        return ends | void
    planned = {task.task_id: task for task in open_round.tasks}
    for group in end.groups:
        task = planned.pop(group.task_id, None)
        if task is None:
            raise MismatchError(f"{where} has no task {group.task_id}, or the outcome has it twice")
        if group.mode != task.mode:
            raise MismatchError(f"{where}, task {task.task_id}: {task.mode} in the store, {group.mode} in the outcome")
        ends[task.task_id] = TaskEnd(task.task_id, group.task_state, group.reason)
    if missing := sorted(task.task_id for task in planned.values() if task.state == "open"):
        raise MismatchError(f"{where}: the outcome says nothing about {', '.join(missing)}")
    return ends


def _narrow_row(stored: Dispatch, ended: Dispatch, documents: Mapping[str, bytes]) -> NarrowRow:
    named = (ended.signed_sha256, ended.run_sha256)
    kept = sum(len(documents[sha256]) for sha256 in named if sha256 is not None)
    return NarrowRow(*stored.key, stored.state, stored.reason, ended.state, ended.reason, kept or None)


def recorded_answers_line(
    head: Head, tasks: Sequence[TaskEnd | TaskRecord], document: Callable[[str], bytes], commands: Commands
) -> bytes:
    """Return the answers line; of a round that was not settled it has the end of every dispatch.

    `document` returns a plan or a run by its digest; `commands` are those for `answers_line`.
    """
    void = {task.task_id for task in tasks if task.state == "void"}
    return answers_line(
        [_packed(one, document) for one in head.dispatches if one.passed is not None],
        rejections=[
            {name: getattr(one, name) for name in ("task_id", "hotkey", "role", "reason", "seconds")}
            for one in head.dispatches
            if one.state == "failed"
        ],
        void=[{"task_id": task.task_id, "reason": task.reason} for task in tasks if task.task_id in void],
        alone=[
            {"task_id": one.task_id, "hotkey": one.hotkey, "reason": one.reason}
            for one in head.dispatches
            if one.state == "void" and (head.outcome is None or one.task_id not in void)
        ],
        raw=[[one.raw for one in head.dispatches if one.task_id == task.task_id] for task in tasks],
        commands=commands,
    )


def _packed(one: Dispatch, document: Callable[[str], bytes]) -> Packed:
    """Return an answer with what its line has of it: of a plan all documents, of an attestation none."""
    fields = dict(one.passed or {})
    run = fields.pop(RUN, None)
    if run is None:
        return Packed(fields, b"")
    return Packed(fields, document(one.signed_sha256 or ""), document(run))


def frames(head: Head, groups: Iterable[Group] = ()) -> Iterator[bytes]:
    """Yield the frames of a record; groups are taken one at a time."""
    buffer, cut = bytearray(), False
    for item in chain([head], groups):
        data = _ENCODER.encode(item)
        buffer += len(data).to_bytes(_LENGTH) + data
        while len(buffer) >= FRAME:
            cut = True
            yield compressed(bytes(buffer[:FRAME]), _QUICK_LEVEL)
            del buffer[:FRAME]
    if buffer:
        yield compressed(bytes(buffer), _QUICK_LEVEL if cut or len(buffer) > SMALL else _LEVEL)


class Items:
    """Cuts what frames expand to into the documents of the stream, as encoded."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def take(self, data: bytes) -> Iterator[bytes]:
        """Yield the documents that end in what the next frame expands to (DamagedError)."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._buffer[:_LENGTH])
            if end > MOST:
                raise DamagedError(f"a document of a record would have {end} bytes")
            if len(self._buffer) < end:
                return
            item = bytes(self._buffer[_LENGTH:end])
            del self._buffer[:end]
            yield item

    def require_end(self) -> None:
        """Refuse a stream that ends inside a document (DamagedError)."""
        if self._buffer:
            raise DamagedError("a record is cut short")


def head_of(item: bytes) -> Head:
    """Return the first document of a record (DamagedError: it is something else)."""
    return _decoded(_HEAD, item)


def group_of(item: bytes) -> Group:
    """Return one of the others (DamagedError: it is something else)."""
    return _decoded(_GROUP, item)


def _decoded(decoder: "msgspec.msgpack.Decoder[T]", item: bytes) -> T:
    try:
        return decoder.decode(item)
    except msgspec.MsgspecError as error:
        raise DamagedError(f"a record cannot be read: {printable(str(error))}") from None


def _with_task(one: Dispatch, task: TaskEnd) -> Dispatch:
    """Return a dispatch as it ends with its task: with a void one it is void, for the reason that it had.

    Of a void one no answer counts; what was kept of it may be what cannot be read any more.
    """
    if task.state != "void":
        return one
    reason = one.reason or task.reason
    return msgspec.structs.replace(one, state="void", reason=reason, signed_sha256=None, submission=None)


def _readable(blob: bytes | None) -> bytes | None:
    try:
        return None if blob is None else expanded(blob)
    except DamagedError:
        return None  # the round is abandoned for that reason


def _group(task_id: str, open_round: OpenRound, proof: bytes | None) -> Group:
    mine = [one for one in open_round.dispatches if one.task_id == task_id]
    signed = [one.signed_sha256 for one in mine if one.signed_sha256 is not None]
    runs = [one.run_sha256 for one in mine if one.run_sha256 is not None]
    attested = tuple(expanded(_named(open_round, sha256)) for sha256 in signed)
    ran = tuple(expanded(_named(open_round, sha256)) for sha256 in runs)
    document = None if proof is None else expanded(proof)
    if document is None or len(document) <= _LARGE_PROOF:
        return Group(task_id, attested, ran, document)
    return Group(task_id, attested, ran, compressed_after(document, _texts(attested), _PROOF_LEVEL), is_frame=True)


def _named(open_round: OpenRound, sha256: str) -> bytes:
    if sha256 not in open_round.documents:
        raise DamagedError(f"no document {sha256} that an answer names")
    return open_round.documents[sha256]


def _texts(signed: Iterable[bytes]) -> bytes:
    """Return the texts of attestations as a proof repeats them: as spelled, escaped (D-2) and in lower case (D-16)."""
    spelled = b"".join(signed)
    return spelled + spelled.replace(b"%", b"%25").replace(b"|", b"%7C") + spelled.lower()


_ENCODER: Final = msgspec.msgpack.Encoder()
_HEAD: Final = msgspec.msgpack.Decoder(Head)
_GROUP: Final = msgspec.msgpack.Decoder(Group)
