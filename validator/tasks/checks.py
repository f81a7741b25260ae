"""Faults of a task and its bundle: hashes, evidence that does not resolve, a marker without room (SPEC 5, 6, 13)."""

from collections.abc import Iterator, Mapping

import msgspec

from validator.protocol.archives import ArchiveError
from validator.protocol.bundles import count_lines, evidence_resolves, read_bundle, with_canary
from validator.protocol.canonical import sha256_hex
from validator.protocol.evidence import EvidenceRef, parse_evidence_ref
from validator.protocol.strict_json import SchemaError
from validator.protocol.task import Task, check_task
from validator.protocol.text import printable
from validator.tasks.source import SourcedTask, TaskError

_ANY_NONCE = "0" * 64


def sourced_task(task: Task, bundle: bytes) -> SourcedTask:
    """Return the task with its bundle if nothing speaks against them, hashes in lower case.

    Raises:
        TaskError: the first fault, with the field it is at.
    """
    for fault in faults(task, bundle):
        raise TaskError(fault)
    return SourcedTask(lower_hashes(task), bundle)


def faults(task: Task, bundle: bytes) -> Iterator[str]:
    """Yield what is wrong with the task or its bundle, each with its field; nothing when they can be used."""
    try:
        check_task(task)
    except SchemaError as error:
        yield error.detail
        return
    if (found := sha256_hex(bundle)) != task.bundle_sha256.lower():
        yield f"the bundle hashes to {found} - at `bundle_sha256`"
    try:
        files = read_bundle(bundle)
    except ArchiveError as error:
        yield f"{error.detail} - at `bundle`"
        return
    if not files:
        yield "the bundle holds no file - at `bundle`"
    yield from _unresolved(task, files)
    if task.canary is not None:
        yield from _canary_faults(task.canary.file, files)


def _unresolved(task: Task, files: Mapping[str, bytes]) -> Iterator[str]:
    if task.truth is None:
        return
    places = [(f"injections[{i}]", ref) for i, ref in enumerate(task.truth.injections or ())]
    places += [(f"findings[{i}].evidence_ref", one.evidence_ref) for i, one in enumerate(task.truth.findings or ())]
    lines = {path: count_lines(content) for path, content in files.items()} if places else {}
    for where, text in places:
        if not evidence_resolves(parse_evidence_ref(text), lines):
            yield f"`{printable(text)}` does not resolve in the bundle - at `truth.{where}`"


def _canary_faults(path: str, files: Mapping[str, bytes]) -> Iterator[str]:
    if path not in files or parse_evidence_ref(path) != EvidenceRef(path):
        yield f"`{printable(path)}` is no file of the bundle that evidence can name - at `canary.file`"
        return
    try:
        read_bundle(with_canary(files, path, _ANY_NONCE))
    except ArchiveError as error:
        # What is dispatched is the bundle packed again: it must keep the limits as well.
        yield f"with its marker the bundle is refused: {error.detail} - at `bundle`"


def lower_hashes(task: Task) -> Task:
    """Return the task with its hashes in lower case."""
    truth = task.truth
    if truth is not None and truth.manifest_sha256 is not None:
        truth = msgspec.structs.replace(truth, manifest_sha256=truth.manifest_sha256.lower())
    return msgspec.structs.replace(task, bundle_sha256=task.bundle_sha256.lower(), truth=truth)
