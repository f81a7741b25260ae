"""Folders next to the log file: bundles, tasks and raw answers, each named by its digest (D-28).

The folders may be strangers'. Names that are looked up come from the log and are hex; a link is not followed, what is
no regular file or larger than it may be is refused, and nothing in them is executed.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from msgspec import UNSET

from sssa.log.answers import Answers
from sssa.log.lines import Line, Planned
from sssa.log.stored_gates import StoredGates
from sssa.protocol.answer import parse_answer
from sssa.protocol.archives import ArchiveError
from sssa.protocol.bundles import index_bundle, read_bundle
from sssa.protocol.canonical import digest, sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_BODY_RUNTIME_PRIMARY, MAX_BUNDLE_COMPRESSED, MAX_TASK_BODY
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Packed, Rejection
from sssa.protocol.round import AssessmentTask, is_submitted
from sssa.protocol.strict_json import JsonError
from sssa.protocol.task import Task, parse_task

_NOT_SHOWN: Final = (Reason.PARSE_TOO_COSTLY, Reason.PARSE_TOO_LARGE, Reason.DEADLINE_LATE)
_UNNAMED: Final = 100_000  # files that are looked into, and answers that are looked for
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
Key = tuple[str, str]


class GivenError(ValidatorError):
    """Something in a folder next to the file is not what its name says."""


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

        Raises:
            GivenError: it is a link, no regular file, larger than `limit`, or has other bytes than its digest says.
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


class Bodies(Protocol):
    """Raw answers by their sha256: a `Folder`, or a store."""

    def names(self) -> Iterator[str]:
        """Yield the digests of everything that is given without being asked for."""

    def read(self, name: str, limit: int, sha256: str | None = None) -> bytes | None:
        """Return the bytes, None where there are none (GivenError: they are not what the digest says)."""


@dataclass(slots=True)
class Given:
    """The folders, and how much of the log was compared with them.

    Attributes:
        bundles: `SHA256` of a bundle as dispatched.
        tasks: `SHA256.json`, a task's document, by the sha256 of its source bundle.
        answers: `SHA256` of an answer's body.
        counted: how many of each were there, and how many were missing.

    Raises:
        FaultError: the log says something else.
        GivenError, OSError: a file cannot be used.
    """

    bundles: Folder | None = None
    tasks: Folder | None = None
    answers: Bodies | None = None
    counted: Counter[str] = field(default_factory=Counter)
    _unnamed: set[str] | None = None
    _missing: dict[str | None, tuple[Line, str]] = field(default_factory=dict)

    def check_tasks(self, planned: Planned) -> None:
        """Compare a round's tasks with bundles and documents."""
        for i, task in enumerate(planned.frozen.tasks):
            if not isinstance(task, AssessmentTask):
                continue
            for wrong in (self._bundle(task), self._task(task)):
                if wrong is not None:
                    path, what = wrong
                    raise planned.input_line.fault(what, f"tasks[{i}].{path}")

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
        if self.tasks is None or task.made_here or is_submitted(task):
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

    def judge(self, planned: Planned, answers: Answers) -> frozenset[Key]:
        """Judge a round's answers again from the bytes that exist; return which those were."""
        if self.answers is None:
            return frozenset()
        if self._unnamed is None:
            self._unnamed = set(self.answers.names())
        judged: set[Key] = set()
        for i, task in enumerate(planned.frozen.tasks):
            judged |= {(task.task_id, hotkey) for hotkey in self._judge_group(planned, answers, i, self.answers)}
        return frozenset(judged)

    def _judge_group(self, planned: Planned, answers: Answers, i: int, folder: Bodies) -> Collection[str]:
        task, group = planned.frozen.tasks[i], planned.plan.groups[i]
        stored: dict[str, Packed | Rejection] = {one.hotkey: one for one in answers.of_task(task.task_id)}
        stored |= {one.hotkey: one for one in answers.results.rejections if one.task_id == task.task_id}
        gates, places = StoredGates(planned.frozen, task), dict[str, str]()
        for j, (hotkey, role) in enumerate(group.members):
            raw, one, place = answers.results.raw[i][j], stored.get(hotkey), f"raw[{i}][{j}]"
            if raw is None:
                continue
            if self._unnamed is not None:
                self._unnamed.discard(raw.sha256)
            if (
                not raw.complete
                or one is None
                or one.seconds is None
                or (isinstance(one, Rejection) and one.reason in _NOT_SHOWN)
            ):
                continue
            body = folder.read(raw.sha256, raw.size, raw.sha256)
            self.counted["answers" if body is not None else "answers missing"] += 1
            if body is not None:
                gates.judge(hotkey, role, body, one.seconds, one)
                places[hotkey] = place
            elif isinstance(one, Packed) and len(self._missing) < _UNNAMED:
                self._missing[one.sha256] = (answers.line, place)
        for hotkey, path in gates.differences(stored):
            what = f"the gates say otherwise of the given answer, at `{path}`"
            raise answers.line.fault(what, places[hotkey])
        return places

    def finish(self) -> None:
        """Look for answers that the log has under another digest: the bytes were missing, the attestation is here."""
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
                line, path = place
                raise line.fault(f"is not the digest of the given answer with its attestation: that is {name}", path)


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
