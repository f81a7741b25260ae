"""What is stored of the answers: readable, still signed, and in step with the dispatches."""

from collections.abc import Iterator, Mapping, Sequence

from validator.audit.replay.again import Judgement
from validator.audit.replay.compare import Difference
from validator.audit.replay.plain import compared
from validator.protocol.reasons import Reason
from validator.protocol.round import RoundInput, Submission, WorkflowSubmission
from validator.protocol.signatures import verify_document
from validator.store import DispatchKey
from validator.store.errors import DamagedError
from validator.store.records import DispatchRecord


def answer_differences(
    frozen: RoundInput,
    records: Sequence[DispatchRecord],
    answers: Mapping[DispatchKey, Judgement | DamagedError | None],
) -> Iterator[Difference]:
    """Yield the first thing wrong with each answer."""
    windows = {task.task_id: task.windows for task in frozen.tasks}
    for record in records:
        path, answer = f"answers[{record.key.task_id}/{record.key.hotkey}]", answers.get(record.key)
        if answer is None:
            yield Difference(path, f"the dispatch is {record.state}, but no judgement of it is stored")
        elif isinstance(answer, DamagedError):
            yield Difference(f"{path}.sssa", str(answer))
        elif isinstance(answer, Submission) and not verify_document(answer.sssa, answer.hotkey):
            yield Difference(f"{path}.sssa.signature", "is not the hotkey's over the stored attestation")
        elif isinstance(answer, WorkflowSubmission):
            yield from _plan_differences(path, record, answer)
        elif isinstance(answer, Submission) and record.key.task_id in windows:
            early = answer.seconds < windows[record.key.task_id].of(answer.role)[0]
            difference = compared(
                path,
                {"reason": record.reason, "seconds": record.seconds, "sssa_sha256": record.sssa_sha256},
                {
                    "reason": str(Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED),
                    "seconds": answer.seconds,
                    "sssa_sha256": answer.sssa_sha256,
                },
            )
            if difference is not None:
                yield difference


def _plan_differences(path: str, record: DispatchRecord, answer: WorkflowSubmission) -> Iterator[Difference]:
    if not verify_document(answer.plan, answer.hotkey):
        yield Difference(f"{path}.plan.signature", "is not the hotkey's over the stored plan")
    difference = compared(
        path,
        {"reason": record.reason, "seconds": record.seconds, "plan_sha256": record.sssa_sha256},
        {"reason": str(Reason.ACCEPTED), "seconds": answer.seconds, "plan_sha256": answer.run.plan_sha256},
    )
    if difference is not None:
        yield difference
