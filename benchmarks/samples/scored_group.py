"""A group's answers read, checked and compared: what scoring does with them before anything is weighed."""

from collections.abc import Sequence
from typing import Final

from samples.group import PLAN, TASK
from sssa.protocol.answer import Answer, answer_limit, parse_answer
from sssa.protocol.results import Checks, Submission
from sssa.scoring import CURRENT, FindingKeys, compare_answers, version

SCORED_BY: Final = version(CURRENT)
_ESTABLISHED: Final = Checks(probes=True, traces=None, manifest_digest=None, evidence_resolves=True, canary=None)
_LIMIT: Final = answer_limit(runtime_primary=False)


def from_bytes(data: Sequence[bytes]) -> object:
    """Return the group's agreements from the bytes of its answers."""
    return compared([parse_answer(body, limit=_LIMIT) for body in data])


def compared(group: Sequence[Answer]) -> object:
    """Return the group's agreements from its answers as they were read."""
    submissions = [
        Submission(TASK.task_id, hotkey, role, 5.0, answer.sssa, "", _ESTABLISHED)
        for answer, (hotkey, role) in zip(group, PLAN.members, strict=True)
    ]
    return compare_answers(SCORED_BY, TASK, PLAN, submissions, FindingKeys())
