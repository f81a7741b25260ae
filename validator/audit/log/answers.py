"""The answers of a round in an audit file, held against groups, windows, index and attestations (SPEC 5, 6; D-28).

Each attestation is read with its line, checked, and let go; a group's are read from the file again when it is scored.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from validator.audit.log.documents import Planned, converted
from validator.audit.log.lines import DEPTH, FaultError, Line, LineReader, parse, require_canonical
from validator.kinds.judging import expected_of
from validator.kinds.registry import kind_of
from validator.protocol.canonical import sha256_hex
from validator.protocol.errors import ValidatorError
from validator.protocol.reasons import OURS, Reason
from validator.protocol.receipt import AnswersDocument, RoundEnd
from validator.protocol.results import Packed, Passed, RawAnswer, Rejection, RoundResults, Submission, packed
from validator.protocol.round import RoundPlan, RoundTask, expected_commands
from validator.protocol.sssa import Sssa, check_sssa
from validator.protocol.strict_json import SchemaError, decode_plain
from validator.scoring import Version

_NEVER_ASKED = (Reason.DEADLINE_NO_AXON, Reason.DEADLINE_AXON_REFUSED, Reason.DEADLINE_CONNECT)
_CUT_OFF = (Reason.PARSE_TOO_LARGE, Reason.DEADLINE_LATE)


@dataclass(frozen=True, slots=True)
class ListedAnswer:
    """An answer that passed.

    Attributes:
        path: its place in the line of the answers, like `submissions[0]`.
        packed: its fields; of an attestation without the document.
        line: number of the line of its attestation; None of a plan, which the line of the answers has in whole.
        start: where the attestation begins in the file.
        size: of the attestation, in bytes.
    """

    path: str
    packed: Packed
    line: int | None = None
    start: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that came back.

    Attributes:
        results: all but the answers that passed.
        passed: these.
        number: of the line.
        reader: of the file.
    """

    results: RoundResults
    passed: Sequence[ListedAnswer]
    number: int
    reader: LineReader

    def of_task(self, task_id: str) -> list[Packed]:
        """Return the answers to a task that passed, with their documents."""
        return [self._whole(one) for one in self.passed if one.packed.task_id == task_id]

    def _whole(self, one: ListedAnswer) -> Packed:
        if one.line is None:
            return one.packed
        return one.packed._replace(signed=self.reader.again(one.start, one.size))


def read_answers(
    reader: LineReader, end: RoundEnd, answers_digest: str, planned: Planned, scored_by: Version
) -> Answers:
    """Return what came back: the line of the answers, and behind it the line of every attestation in it.

    Args:
        reader: after the plan's line.
        end: of the round.
        answers_digest: of the answers' line.
        planned: input and groups.
        scored_by: the round's version.

    Raises:
        FaultError: a line is missing, was changed or is not of its form, or what it says does not follow.
    """
    found = reader.require("answers", end.round_id, answers_digest)
    try:
        plain = decode_plain(found.document, limit=len(found.document), depth=DEPTH)
        listed = [dict(each) for each in plain["submissions"]]
    except (ValidatorError, KeyError, TypeError, ValueError):
        raise FaultError(found.number, "answers", end.round_id, "does not list the submissions of a round") from None
    checks = _Checks(planned, end, scored_by, found, _witnesses(planned, listed))
    passed = [_attested(reader, end, found, checks, i, each) for i, each in enumerate(listed)]
    told: AnswersDocument = converted({**plain, "submissions": ()}, AnswersDocument, found, end, "")
    for i, answer in enumerate(told.workflows):
        checks.look(f"workflows[{i}]", answer, None)
        passed.append(ListedAnswer(f"workflows[{i}]", packed(answer)))
    ends = RoundResults((), told.rejections, told.void, told.void_dispatches, told.raw)
    answers = Answers(ends, passed, found.number, reader)
    checks.require(answers)
    return answers


def check_ends(reader: LineReader, planned: Planned, end: RoundEnd) -> None:
    """Read the ends of the dispatches of a round that is void or abandoned: every one is told, and none counts.

    Raises:
        FaultError: the line is missing, was changed or is not of its form, or does not fit.
    """
    found = reader.require("answers", end.round_id, end.lines.answers or "")
    form = parse(found, AnswersDocument, found.document, end.round_id)
    require_canonical(found, end.round_id)
    groups = planned.plan.groups
    members = [(group.task_id, hotkey) for group in groups for hotkey, _ in group.members]
    told = {
        "void": [one.task_id for one in form.void] == [group.task_id for group in groups if group.mode != "skip"],
        "void_dispatches": [(one.task_id, one.hotkey) for one in form.void_dispatches] == members,
        "raw": [len(of_task) for of_task in form.raw] == [len(group.members) for group in groups],
        "submissions": not form.submissions,
        "workflows": not form.workflows,
        "rejections": not form.rejections,
    }
    for path, holds in told.items():
        if not holds:
            what = f"must be the end of every task and dispatch of a round that is {end.state}"
            raise FaultError(found.number, "answers", end.round_id, what, path)


def _witnesses(planned: Planned, listed: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Return how many answers to each task gate 7 compared, by what is said of them."""
    types = {task.task_id: task.skill_type for task in planned.frozen.tasks}
    names = [(each.get("task_id"), each.get("role")) for each in listed]
    return Counter(
        task_id
        for task_id, role in names
        if isinstance(task_id, str) and task_id in types and Packed({"role": role}, b"").is_witness(types[task_id])
    )


def _attested(  # noqa: PLR0913, PLR0917 - an attestation, and where it is listed
    reader: LineReader, end: RoundEnd, found: Line, checks: "_Checks", i: int, each: Mapping[str, Any]
) -> ListedAnswer:
    line, sssa = _read_sssa(reader, end, each.get("sssa_sha256"))
    path = f"submissions[{i}]"
    submission: Submission = converted({**each, "sssa": sssa}, Submission, found, end, path)
    answer = checks.sent(path, submission)
    checks.look(path, answer, line.number)
    fields = packed(answer, b"")
    return ListedAnswer(path, fields, line.number, line.start, len(line.document))


def _read_sssa(reader: LineReader, end: RoundEnd, sha256: object) -> tuple[Line, Sssa]:
    found = reader.next("sssa", end.round_id)
    if found is None:
        raise FaultError(reader.number + 1, "sssa", end.round_id, "missing: the file ends before it")
    if found.kind != "sssa":
        raise FaultError(
            found.number, "sssa", end.round_id, f"missing: a line of kind {found.kind} stands in its place"
        )
    if sha256_hex(found.document) != sha256:
        raise FaultError(found.number, "sssa", end.round_id, "was changed: it does not have the digest in the answers")
    sssa = parse(found, Sssa, found.document, end.round_id)
    try:
        check_sssa(sssa)
    except SchemaError as error:
        raise FaultError(found.number, "sssa", end.round_id, str(error)) from None
    require_canonical(found, end.round_id)
    return found, sssa


class _Checks:
    """The first fault of each kind among the answers; one that is read before is told after those that weigh more."""

    def __init__(
        self, planned: Planned, end: RoundEnd, scored_by: Version, found: Line, witnesses: Counter[str]
    ) -> None:
        self._planned, self._end, self._scored_by, self._found = planned, end, scored_by, found
        self._witnesses = witnesses
        self._tasks = {task.task_id: task for task in planned.frozen.tasks}
        self._commands = expected_commands(planned.frozen)
        self._untold: FaultError | None = None
        self._unsigned: FaultError | None = None
        self._misstated: FaultError | None = None

    def sent(self, path: str, answer: Submission) -> Submission:
        """Return an answer with the commands that a truth names, where the log has their places."""
        if answer.task_id not in self._commands or answer.shell_commands is None:
            return answer
        expected = self._commands[answer.task_id]
        try:
            named = tuple(expected[int(one)] for one in answer.shell_commands)
        except (ValueError, IndexError):
            named = ()
        if tuple(str(expected.index(one)) for one in sorted(set(named))) != answer.shell_commands:
            what = "names no commands of the truth by their places, in the order of their names"
            self._untold = self._untold or self._fault(what, f"{path}.shell_commands")
        return structs.replace(answer, shell_commands=named)

    def look(self, path: str, answer: Passed, line: int | None) -> None:
        """Check one answer that passed by itself; `line` is the number of its attestation's."""
        task = self._tasks.get(answer.task_id)
        if task is None or not isinstance(answer, task.answer):
            return  # `require` says so
        wrong = kind_of(task).fault(self._scored_by, task, answer)
        if wrong is not None and line is None:
            self._unsigned = self._unsigned or self._fault(wrong.what, f"{path}.{wrong.path}")
        elif wrong is not None:
            place = wrong.path.removeprefix("sssa.")
            self._unsigned = self._unsigned or FaultError(line or 0, "sssa", self._end.round_id, wrong.what, place)
        expected = expected_of(self._planned.frozen, task, answer.hotkey, answer.role)
        wrong = kind_of(task).misstated(self._scored_by, expected, answer, self._witnesses[answer.task_id])
        if wrong is not None:
            self._misstated = self._misstated or self._fault(wrong.what, f"{path}.{wrong.path}")

    def require(self, answers: Answers) -> None:
        """Raise the first fault that there is (FaultError)."""
        if self._untold is not None:
            raise self._untold
        check_members(self._planned, answers, self._end)
        for found in (self._unsigned, self._misstated):
            if found is not None:
                raise found
        for i, rejection in enumerate(answers.results.rejections):
            refused = _refused(self._tasks[rejection.task_id], rejection)
            if refused is not None:
                raise self._fault(refused[1], f"rejections[{i}].{refused[0]}")
        wrong_raw = _raw_fault(self._planned, answers)
        if wrong_raw is not None:
            raise self._fault(wrong_raw[1], wrong_raw[0])

    def _fault(self, what: str, path: str) -> FaultError:
        return FaultError(self._found.number, "answers", self._end.round_id, what, path)


def check_members(planned: Planned, answers: Answers, end: RoundEnd) -> None:
    """Hold what came back against the groups: one answer or failure per member.

    Raises:
        FaultError: it does not fit.
    """

    def fault(what: str, path: str = "") -> FaultError:
        return FaultError(answers.number, "answers", end.round_id, what, path)

    results = answers.results
    void = {task.task_id for task in results.void}
    wrong = _void_fault(planned.plan, results)
    if wrong is not None:
        raise fault(wrong, "void_dispatches")
    alone = {(one.task_id, one.hotkey) for one in results.alone}
    members = [
        (group.task_id, hotkey, role)
        for group in planned.plan.groups
        if group.task_id not in void
        for hotkey, role in group.members
        if (group.task_id, hotkey) not in alone
    ]
    tasks = {task.task_id: task for task in planned.frozen.tasks}
    listed = [one.packed for one in answers.passed]
    passed = [
        (one.task_id, one.hotkey, one.fields["role"])
        for one in listed
        if one.task_id in tasks and (tasks[one.task_id].answer is Submission) is (one.run is None)
    ]
    failed = [(r.task_id, r.hotkey, r.role) for r in results.rejections]
    if sorted(passed + failed) != sorted(members) or len(passed) != len(listed):
        raise fault("are not one answer or failure for each member of the groups")
    for i, rejection in enumerate(results.rejections):
        if not rejection.gate:
            raise fault(f"{rejection.reason} is no gate's reason", f"rejections[{i}].reason")


def _void_fault(plan: RoundPlan, results: RoundResults) -> str | None:
    """Return what is wrong with the dispatches that are void alone: that they are is the validator's word (D-26)."""
    void = {task.task_id for task in results.void}
    members = {
        (group.task_id, hotkey) for group in plan.groups if group.task_id not in void for hotkey, _ in group.members
    }
    alone = {(one.task_id, one.hotkey) for one in results.alone}
    if len(alone) != len(results.alone) or not alone <= members:
        return "are not dispatches of the groups, each once, of tasks that are not void"
    unknown = next((one.reason for one in results.alone if one.reason not in OURS), None)
    return None if unknown is None else f"{unknown} is no fault of the validator"


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
    whole = {(one.task_id, one.hotkey) for one in (listed.packed for listed in answers.passed)}
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
