"""What a reader has beside the file: bundles, tasks and raw answers, in folders, each named by its digest (D-28).

The folders may be strangers'. Names that are looked up come from the log and are hex; a link is not followed, what is
no regular file or larger than it may be is refused, and nothing in them is executed.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET, structs

from validator.audit.log.documents import Answers, Planned
from validator.audit.log.faults import FaultError
from validator.audit.replay.compare import first_difference
from validator.audit.replay.gates import StoredGates
from validator.protocol.answer import parse_answer
from validator.protocol.archives import ArchiveError
from validator.protocol.bundles import index_bundle, read_bundle
from validator.protocol.canonical import digest, sha256_hex
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_BODY_RUNTIME_PRIMARY, MAX_BUNDLE_COMPRESSED, MAX_TASK_BODY
from validator.protocol.reasons import Reason
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import AssessmentTask, Judgement, RawAnswer, RawAnswers, Rejection, Submission
from validator.protocol.strict_json import JsonError
from validator.protocol.task import Task, parse_task

_NOT_SHOWN: Final = (Reason.PARSE_TOO_COSTLY, Reason.PARSE_TOO_LARGE, Reason.DEADLINE_LATE)
_UNNAMED: Final = 100_000  # files that are looked into, and answers that are looked for
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
Key = tuple[str, str]


class GivenError(ValidatorError):
    """Something in a folder beside the file is not what its name says."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Files named by their sha256."""

    path: Path

    def names(self) -> Iterator[str]:
        """Yield the names that are digests."""
        with os.scandir(self.path) as entries:
            yield from (entry.name for entry in entries if _DIGEST.fullmatch(entry.name))

    def read(self, name: str, limit: int, sha256: str | None = None) -> bytes | None:
        """Return a file's bytes, None where there is none.

        Args:
            name: of the file.
            limit: most bytes.
            sha256: that the bytes must have; None for any.

        Raises:
            GivenError: it is a link, no regular file, too large, or has other bytes than its name says.
            OSError: it cannot be read.
        """
        try:
            file = os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise GivenError(f"{self.path / name}: {error.strerror}") from None
        with ExitStack() as stack:
            stack.callback(os.close, file)
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise GivenError(f"{self.path / name} is no regular file")
            data = stack.enter_context(os.fdopen(file, "rb", closefd=False)).read(limit + 1)
        if len(data) > limit:
            raise GivenError(f"{self.path / name} is larger than {limit} bytes")
        if sha256 is not None and sha256_hex(data) != sha256:
            raise GivenError(f"{self.path / name} does not hold what its name says: its sha256 is another")
        return data


@dataclass(slots=True)
class Given:
    """The folders, and how much of the log was held against them.

    Attributes:
        bundles: `SHA256` of a bundle as dispatched.
        tasks: `SHA256.json`, a task's document, by the sha256 of its source bundle.
        answers: `SHA256` of an answer's body.
        counted: how many of each were there, and how many were missing.
    """

    bundles: Folder | None = None
    tasks: Folder | None = None
    answers: Folder | None = None
    counted: Counter[str] = field(default_factory=Counter)
    _unnamed: set[str] | None = None
    _missing: dict[str | None, tuple[int, str, str]] = field(default_factory=dict)

    def hold_tasks(self, planned: Planned, end: RoundEnd) -> None:
        """Hold a round's tasks against bundles and documents.

        Raises:
            FaultError: the log says something else.
            GivenError, OSError: a file cannot be used.
        """
        for i, task in enumerate(planned.frozen.tasks):
            if not isinstance(task, AssessmentTask):
                continue
            for wrong in (self._bundle(task), self._task(task)):
                if wrong is not None:
                    path, what = wrong
                    raise FaultError(planned.input_line, "input", end.round_id, what, f"tasks[{i}].{path}")

    def _bundle(self, task: AssessmentTask) -> tuple[str, str] | None:
        if self.bundles is None:
            return None
        data = self.bundles.read(task.bundle_sha256, MAX_BUNDLE_COMPRESSED, task.bundle_sha256)
        self.counted["bundles" if data is not None else "bundles missing"] += 1
        if data is None:
            return None
        try:
            index = index_bundle(read_bundle(data))
        except ArchiveError as error:
            return "bundle_sha256", f"no bundle that can be dispatched: {error}"
        return None if index == task.index else ("index", "is not that of the given bundle")

    def _task(self, task: AssessmentTask) -> tuple[str, str] | None:
        if self.tasks is None or task.made_here:
            return None
        data = self.tasks.read(f"{task.source_sha256}.json", MAX_TASK_BODY)
        self.counted["tasks" if data is not None else "tasks missing"] += 1
        if data is None:
            return None
        try:
            document = parse_task(data)
        except JsonError as error:
            raise GivenError(f"{task.source_sha256}.json is no task: {error}") from None
        if document.bundle_sha256 != task.source_sha256:
            raise GivenError(f"{task.source_sha256}.json is a task of another bundle")
        return _unlike(task, document)

    def judge(self, planned: Planned, answers: Answers, end: RoundEnd) -> frozenset[Key]:
        """Judge a round's answers again from the bytes that are there; return which those were.

        Raises:
            FaultError: the log says something else of one.
            GivenError, OSError: a file cannot be used.
        """
        raw = answers.results.raw
        if self.answers is None:
            return frozenset()
        results = answers.results
        stored = {(one.task_id, one.hotkey): one for one in (*results.passed, *results.rejections)}
        gates, places = StoredGates(planned.frozen), dict[Key, str]()
        if self._unnamed is None:
            self._unnamed = set(self.answers.names())
        unnamed = self._unnamed
        for key, place, found in _digests(planned, raw):
            one = stored.get(key)
            unnamed.discard(found.sha256)
            if (
                not found.complete
                or one is None
                or one.seconds is None
                or (isinstance(one, Rejection) and one.reason in _NOT_SHOWN)
            ):
                continue
            body = self.answers.read(found.sha256, found.size, found.sha256)
            self.counted["answers" if body is not None else "answers missing"] += 1
            if body is not None:
                gates.judge(key, one.role, body, one.seconds, one)
                places[key] = place
            elif not isinstance(one, Rejection) and len(self._missing) < _UNNAMED:
                self._missing[one.sha256] = (answers.number, end.round_id, place)
        _compared(planned, answers, gates, places, end)
        return frozenset(places)

    def finish(self) -> None:
        """Look for answers that the log has under another digest: the bytes were missing, the attestation is here.

        Raises:
            FaultError: there is one; the log's digest is not that of the answer that was given.
            GivenError, OSError: a file cannot be used.
        """
        if self.answers is None:
            return
        names = self.answers.names() if self._unnamed is None else self._unnamed
        for name in sorted(names):
            self.counted["answers that no line names"] += 1
            if not self._missing or self.counted["answers that no line names"] > _UNNAMED:
                continue
            body = self.answers.read(name, MAX_BODY_RUNTIME_PRIMARY, name)
            place = None if body is None else self._missing.get(_signed_part(body))
            if place is not None:
                line, round_id, path = place
                what = f"is not the digest of the given answer with its attestation: that is {name}"
                raise FaultError(line, "answers", round_id, what, path)


def _compared(planned: Planned, answers: Answers, gates: StoredGates, places: Mapping[Key, str], end: RoundEnd) -> None:
    """Hold what the gates say now against what the log says; gate 7 where all of a task's witnesses were there."""
    results = answers.results
    stored: dict[Key, Judgement] = {(one.task_id, one.hotkey): one for one in (*results.passed, *results.rejections)}
    types = {task.task_id: task.skill_type for task in planned.frozen.tasks}
    untold = {task.task_id for task in planned.frozen.tasks if task.truth_sha256 is not UNSET}
    partial = {
        one.task_id
        for one in results.passed
        if one.is_witness(types[one.task_id]) and (one.task_id, one.hotkey) not in places
    }
    for key, again in gates.judgements().items():
        both = [_alone(one) if key[0] in partial else one for one in (stored[key], again)]
        if key[0] in untold:
            both = [_without_truth(one) for one in both]
        found = first_difference("", *map(msgspec.to_builtins, both))
        if found is not None:
            what = f"the gates say otherwise of the given answer, at `{found.path.removeprefix('.')}`"
            raise FaultError(answers.number, "answers", end.round_id, what, places[key])


def _alone(one: Judgement) -> Judgement:
    return one if isinstance(one, Rejection) else one.alone()


def _without_truth(one: Judgement) -> Judgement:
    """Return it without what a truth decides that the log does not show."""
    if isinstance(one, Rejection):
        return one
    if isinstance(one, Submission):
        return structs.replace(one, shell_commands=None)
    return structs.replace(one, quality=None)


def _digests(planned: Planned, raw: RawAnswers) -> Iterator[tuple[Key, str, RawAnswer]]:
    """Yield what arrived, with whose it is and its place."""
    for i, group in enumerate(planned.plan.groups):
        for j, (hotkey, _) in enumerate(group.members):
            if (one := raw[i][j]) is not None:
                yield (group.task_id, hotkey), f"raw[{i}][{j}]", one


def _signed_part(body: bytes) -> str | None:
    """Return the digest of the attestation in an answer's bytes, None where they hold none."""
    try:
        return digest(parse_answer(body, limit=MAX_BODY_RUNTIME_PRIMARY).sssa)
    except JsonError:
        return None


def _unlike(task: AssessmentTask, document: Task) -> tuple[str, str] | None:
    """Return where a round's task is not its document."""
    for name in ("skill_type", "provenance", "truth", "canary"):
        if name == "truth" and task.truth_sha256 is not UNSET:
            continue
        if getattr(task, name) != getattr(document, name):
            return name, "is not that of the given task"
    if task.brings_windows != (document.windows is not None):
        return "own_windows", "is not so in the given task"
    if document.windows is not None and task.windows != document.windows:
        return "windows", "are not those of the given task"
    return None
