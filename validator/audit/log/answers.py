"""What a round's answers say of themselves, held against groups, windows, index and attestations (SPEC 5, 6; D-28)."""

from collections import Counter

from validator.audit.log.documents import Answers, Planned
from validator.audit.log.faults import FaultError
from validator.kinds.judging import expected_of
from validator.kinds.registry import kind_of
from validator.protocol.reasons import Reason
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import RawAnswer, Rejection, RoundTask
from validator.protocol.round.forms import placed
from validator.scoring import Version

_NEVER_ASKED = (Reason.DEADLINE_NO_AXON, Reason.DEADLINE_AXON_REFUSED, Reason.DEADLINE_CONNECT)
_CUT_OFF = (Reason.PARSE_TOO_LARGE, Reason.DEADLINE_LATE)


def check_facts(planned: Planned, answers: Answers, end: RoundEnd, scored_by: Version) -> None:
    """Hold what is said of answers against what follows from the file. Groups and signatures hold already.

    Raises:
        FaultError: it does not follow.
    """

    def fault(path: str, what: str) -> FaultError:
        return FaultError(answers.number, "answers", end.round_id, what, path)

    tasks = {task.task_id: task for task in planned.frozen.tasks}
    witnesses = Counter(one.task_id for one in answers.results.passed if one.is_witness(tasks[one.task_id].skill_type))
    for path, answer in placed(answers.results):
        task = tasks[answer.task_id]
        expected = expected_of(planned.frozen, task, answer.hotkey, answer.role)
        wrong = kind_of(task).misstated(scored_by, expected, answer, witnesses[answer.task_id])
        if wrong is not None:
            raise fault(f"{path}.{wrong.path}", wrong.what)
    for i, rejection in enumerate(answers.results.rejections):
        refused = _refused(tasks[rejection.task_id], rejection)
        if refused is not None:
            raise fault(f"rejections[{i}].{refused[0]}", refused[1])
    wrong_raw = _raw_fault(planned, answers)
    if wrong_raw is not None:
        raise fault(*wrong_raw)


def _refused(task: RoundTask, one: Rejection) -> tuple[str, str] | None:
    """Return what no gate does: one that the answer does not go through, or in a time that another one ends."""
    if one.gate not in (1, *kind_of(task).gates(task, one.role)):
        return "reason", f"{one.reason} is of a gate that such an answer does not go through"
    late = one.seconds is not None and one.seconds > task.windows.of(one.role).deadline
    if late and one.gate > 1 and one.reason not in _CUT_OFF:
        return "seconds", "is later than the deadline: gate 1 comes first"
    return None


def _raw_fault(planned: Planned, answers: Answers) -> tuple[str, str] | None:
    raw, groups = answers.results.raw, planned.plan.groups
    if [len(of_task) for of_task in raw] != [len(group.members) for group in groups]:
        return "raw", "is not one digest or null for each member of the groups"
    reasons = {(one.task_id, one.hotkey): one.reason for one in answers.results.rejections}
    whole = {(one.task_id, one.hotkey) for one in answers.results.passed}
    for i, group in enumerate(groups):
        for j, (hotkey, _) in enumerate(group.members):
            key = (group.task_id, hotkey)
            what = _contradiction(raw[i][j], reasons.get(key), passed=key in whole)
            if what is not None:
                return f"raw[{i}][{j}]", what
    return None


def _contradiction(raw: RawAnswer | None, reason: Reason | None, *, passed: bool) -> str | None:
    """Return how a digest contradicts the end of its dispatch; of void ones anything may be known."""
    judged = passed or (reason is not None and reason.gate > 1 and reason not in _CUT_OFF)
    if judged and (raw is None or not raw.complete):
        return "is not that of a whole answer, and it was judged"
    if raw is not None and reason in _NEVER_ASKED:
        return f"is there, although nothing was sent: {reason}"
    if raw is not None and raw.complete and reason in (Reason.DEADLINE_STATUS, Reason.DEADLINE_TRANSPORT):
        return f"is that of a whole answer, although none came: {reason}"
    return None
