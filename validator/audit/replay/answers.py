"""What is stored of the answers: readable, still signed, and in step with the dispatches."""

from collections.abc import Iterator, Mapping, Sequence

from validator.audit.replay.compare import Difference
from validator.audit.replay.plain import compared
from validator.kinds.registry import kind_of
from validator.protocol.reasons import Reason
from validator.protocol.round import Judgement, Passed, Rejection, RoundInput, RoundTask
from validator.scoring import Version
from validator.store import DispatchKey
from validator.store.dispatch import Dispatch
from validator.store.errors import DamagedError


def answer_differences(
    version: Version,
    frozen: RoundInput,
    records: Sequence[Dispatch],
    answers: Mapping[DispatchKey, Judgement | DamagedError | None],
) -> Iterator[Difference]:
    """Yield the first thing wrong with each answer."""
    tasks = {task.task_id: task for task in frozen.tasks}
    for record in records:
        path, answer = f"answers[{record.key.task_id}/{record.key.hotkey}]", answers.get(record.key)
        task = tasks[record.key.task_id]
        if answer is None:
            yield Difference(path, f"the dispatch is {record.state}, but no judgement of it is stored")
        elif isinstance(answer, DamagedError):
            yield Difference(f"{path}.{task.answer.signed_part}", str(answer))
        elif not isinstance(answer, Rejection):
            yield from filter(None, [_difference(version, path, record, answer, task)])


def _difference(version: Version, path: str, record: Dispatch, answer: Passed, task: RoundTask) -> Difference | None:
    fault = kind_of(task).fault(version, task, answer)
    if fault is not None:
        return Difference(f"{path}.{fault.path}", fault.what)
    return _columns(path, record, answer.reason(task.windows), answer.seconds, answer.sha256)


def _columns(path: str, record: Dispatch, reason: Reason, seconds: float, sha256: str) -> Difference | None:
    stored, computed = (record.reason, record.seconds, record.signed_sha256), (reason, seconds, sha256)
    if stored == computed:
        return None
    names = ("reason", "seconds", "sssa_sha256")
    return compared(path, dict(zip(names, stored, strict=True)), dict(zip(names, computed, strict=True)))
