"""Gate 7 over a round: every runtime primary's semantic_subset against its group's traces (SPEC 5, D-21)."""

from collections.abc import Mapping, Sequence

import msgspec

from validator.kinds.assessment.judge import PackedSignatures, Witnessed
from validator.kinds.judging import Judged, Key
from validator.protocol.round import Submission
from validator.scoring import Version


def facts(version: Version, judged: Mapping[Key, Judged]) -> tuple[Submission, ...]:
    """Return the answers that passed, gate 7 filled in from those that are there."""
    return with_semantics(
        version,
        [one.result for one in judged.values() if isinstance(one.result, Submission)],
        {key: one.signatures for key, one in judged.items() if isinstance(one, Witnessed)},
    )


def with_semantics(
    version: Version, submissions: Sequence[Submission], signatures: Mapping[Key, PackedSignatures]
) -> tuple[Submission, ...]:
    """Return the submissions with semantic_subset filled in; `signatures` is keyed by (task_id, hotkey).

    Only one task's sets are unpacked at a time.
    """
    subsets: dict[Key, float | None] = {}
    for task_id in dict.fromkeys(task_id for task_id, _ in signatures):
        traces = {hotkey: packed.unpack() for (task, hotkey), packed in signatures.items() if task == task_id}
        subsets |= {(task_id, hotkey): subset for hotkey, subset in version.semantic_subsets(traces).items()}
    return tuple(
        msgspec.structs.replace(submission, semantic_subset=subsets.get((submission.task_id, submission.hotkey)))
        for submission in submissions
    )
