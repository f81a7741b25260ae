"""The answers of a round in an audit file, compared with groups, windows, index and attestations (SPEC 5, 6; D-28).

Called by `verify.py` and the laboratory; reads that file alone. Each attestation is read, checked, and let go; a
group's are read again for its scores.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from sssa.kinds.judging import expected_of
from sssa.kinds.registry import kind_of
from sssa.log.lines import DEPTH, FaultError, Line, LineReader, Planned, Wrong, converted
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import OURS, Reason
from sssa.protocol.receipt import AnswersDocument, RoundEnd
from sssa.protocol.results import Packed, Passed, RawAnswer, Rejection, RoundResults, Submission, packed
from sssa.protocol.round import RoundTask, expected_commands
from sssa.protocol.sssa import Sssa, check_sssa
from sssa.protocol.strict_json import SchemaError, decode_plain
from sssa.scoring import Version

_NOT_SENT = (Reason.DEADLINE_NO_AXON, Reason.DEADLINE_AXON_REFUSED, Reason.DEADLINE_CONNECT)
_CUT_OFF = (Reason.PARSE_TOO_LARGE, Reason.DEADLINE_LATE)


@dataclass(frozen=True, slots=True)
class ListedAnswer:
    """An answer that passed, without its attestation, which begins at `start` in the file.

    None of a plan, which is whole.
    """

    packed: Packed
    start: int | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that came back; `results` are all but the answers that passed, `line` is without its bytes."""

    results: RoundResults
    passed: Sequence[ListedAnswer]
    line: Line
    reader: LineReader

    def of_task(self, task_id: str) -> list[Packed]:
        """Return the answers to a task that passed, with their documents."""
        return [self._whole(one) for one in self.passed if one.packed.task_id == task_id]

    def _whole(self, one: ListedAnswer) -> Packed:
        return one.packed if one.start is None else one.packed._replace(signed=self.reader.again(one.start, one.size))


def read_answers(
    reader: LineReader, end: RoundEnd, answers_digest: str, planned: Planned, scored_by: Version
) -> Answers:
    """Read the line of the answers and the attestations after it; return the answers (FaultError)."""
    answers_line = reader.require("answers", end.round_id, answers_digest)
    try:
        plain = decode_plain(answers_line.document, limit=len(answers_line.document), depth=DEPTH)
        listed = [dict(each) for each in plain["submissions"]]
    except (ValidatorError, KeyError, TypeError, ValueError):
        raise answers_line.fault("does not list the submissions of a round") from None
    line = answers_line.bare()
    checks = _Checks(planned, scored_by, line, _witnesses(planned, listed))
    passed = [checks.attested(reader, f"submissions[{i}]", each) for i, each in enumerate(listed)]
    document: AnswersDocument = converted({**plain, "submissions": ()}, AnswersDocument, answers_line, "")
    for i, answer in enumerate(document.workflows):
        checks.look(f"workflows[{i}]", answer, None)
        passed.append(ListedAnswer(packed(answer)))
    ends = RoundResults((), document.rejections, document.void, document.void_dispatches, document.raw)
    answers = Answers(ends, passed, line, reader)
    checks.require(answers)
    return answers


def check_ends(reader: LineReader, planned: Planned, end: RoundEnd) -> None:
    """Read the ends of the dispatches of a void or abandoned round: every one is listed, none counts (FaultError)."""
    line = reader.require("answers", end.round_id, end.lines.answers or "")
    form = line.parsed(AnswersDocument)
    line.require_canonical()
    groups = planned.plan.groups
    members = [(group.task_id, hotkey) for group in groups for hotkey, _ in group.members]
    complete = {
        "void": [one.task_id for one in form.void] == [group.task_id for group in groups if group.mode != "skip"],
        "void_dispatches": [(one.task_id, one.hotkey) for one in form.void_dispatches] == members,
        "raw": [len(of_task) for of_task in form.raw] == [len(group.members) for group in groups],
        "submissions": not form.submissions,
        "workflows": not form.workflows,
        "rejections": not form.rejections,
    }
    what = f"must be the end of every task and dispatch of a round that is {end.state}"
    line.refuse((path, what) for path, holds in complete.items() if not holds)


def _witnesses(planned: Planned, listed: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Return the number of answers to each task that gate 7 compared, by their listed roles."""
    types = {task.task_id: task.skill_type for task in planned.frozen.tasks}
    names = [(each.get("task_id"), each.get("role")) for each in listed]
    return Counter(
        task_id
        for task_id, role in names
        if isinstance(task_id, str) and task_id in types and Packed({"role": role}, b"").is_witness(types[task_id])
    )


def _sssa(line: Line, sha256: object) -> Sssa:
    """Return the attestation of a line, which must have this digest (FaultError)."""
    if sha256_hex(line.document) != sha256:
        raise line.fault("was changed: it does not have the digest in the answers")
    sssa = line.parsed(Sssa)
    try:
        check_sssa(sssa)
    except SchemaError as error:
        raise line.fault(str(error)) from None
    line.require_canonical()
    return sssa


@dataclass(slots=True)
class _Checks:
    """The first fault of each kind among the answers; the graver ones are raised first."""

    planned: Planned
    scored_by: Version
    line: Line
    witnesses: Counter[str]
    _tasks: dict[str, RoundTask] = field(init=False)
    _commands: Mapping[str, Sequence[str]] = field(init=False)
    _first: dict[str, FaultError] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tasks = {task.task_id: task for task in self.planned.frozen.tasks}
        self._commands = expected_commands(self.planned.frozen)

    def attested(self, reader: LineReader, path: str, each: Mapping[str, Any]) -> ListedAnswer:
        """Read the attestation of an answer that is listed at `path`, and check it (FaultError)."""
        line = reader.require("sssa", self.line.round_id, None)
        sssa = _sssa(line, each.get("sssa_sha256"))
        submission: Submission = converted({**each, "sssa": sssa}, Submission, self.line, path)
        answer = self._sent(path, submission)
        self.look(path, answer, line)
        return ListedAnswer(packed(answer, b""), line.start, len(line.document))

    def _sent(self, path: str, answer: Submission) -> Submission:
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
            self._first.setdefault("commands", self.line.fault(what, f"{path}.shell_commands"))
        return structs.replace(answer, shell_commands=named)

    def look(self, path: str, answer: Passed, attestation: Line | None) -> None:
        """Check one answer that passed by itself; a plan has no line of an attestation."""
        task = self._tasks.get(answer.task_id)
        if task is None or not isinstance(answer, task.answer):
            return  # `require` says so
        wrong = kind_of(task).fault(self.scored_by, task, answer)
        if wrong is not None and attestation is None:
            self._first.setdefault("unsigned", self.line.fault(wrong.what, f"{path}.{wrong.path}"))
        elif wrong is not None and attestation is not None:
            place = wrong.path.removeprefix("sssa.")
            self._first.setdefault("unsigned", attestation.fault(wrong.what, place))
        expected = expected_of(self.planned.frozen, task, answer.hotkey, answer.role)
        wrong = kind_of(task).misstated(self.scored_by, expected, answer, self.witnesses[answer.task_id])
        if wrong is not None:
            self._first.setdefault("misstated", self.line.fault(wrong.what, f"{path}.{wrong.path}"))

    def require(self, answers: Answers) -> None:
        """Raise the first fault that there is (FaultError)."""
        if "commands" in self._first:
            raise self._first["commands"]
        check_members(self.planned, answers)
        for kind in ("unsigned", "misstated"):
            if kind in self._first:
                raise self._first[kind]
        for i, rejection in enumerate(answers.results.rejections):
            refused = _refused(self._tasks[rejection.task_id], rejection)
            if refused is not None:
                raise self.line.fault(refused[1], f"rejections[{i}].{refused[0]}")
        self.line.refuse(_raw_faults(self.planned, answers))


def check_members(planned: Planned, answers: Answers) -> None:
    """Check that each member of each group has one answer or failure (FaultError)."""
    answers.line.refuse(_member_faults(planned, answers))


def _member_faults(planned: Planned, answers: Answers) -> Iterator[Wrong]:
    results = answers.results
    void = {task.task_id for task in results.void}
    dispatched = [
        (group.task_id, hotkey, role)
        for group in planned.plan.groups
        if group.task_id not in void
        for hotkey, role in group.members
    ]
    # That dispatches are void alone is the validator's word (D-26).
    alone = {(one.task_id, one.hotkey) for one in results.alone}
    if len(alone) != len(results.alone) or not alone <= {member[:2] for member in dispatched}:
        yield "void_dispatches", "are not dispatches of the groups, each once, of tasks that are not void"
    for one in results.alone:
        if one.reason not in OURS:
            yield "void_dispatches", f"{one.reason} is no fault of the validator"
    members = [member for member in dispatched if member[:2] not in alone]
    tasks = {task.task_id: task for task in planned.frozen.tasks}
    listed = [one.packed for one in answers.passed]
    passed = [
        (one.task_id, one.hotkey, one.fields["role"])
        for one in listed
        if one.task_id in tasks and (tasks[one.task_id].answer is Submission) is (one.run is None)
    ]
    failed = [(r.task_id, r.hotkey, r.role) for r in results.rejections]
    if sorted(passed + failed) != sorted(members) or len(passed) != len(listed):
        yield "", "are not one answer or failure for each member of the groups"
    for i, rejection in enumerate(results.rejections):
        if not rejection.gate:
            yield f"rejections[{i}].reason", f"{rejection.reason} is no gate's reason"


def _refused(task: RoundTask, one: Rejection) -> Wrong | None:
    """Return the fault of a rejection that no gate can give: its gate does not apply, or gate 1 comes first."""
    if one.gate not in (1, *kind_of(task).gates(task, one.role)):
        return "reason", f"{one.reason} is of a gate that such an answer does not go through"
    late = one.seconds is not None and one.seconds > task.windows.of(one.role).deadline
    if late and one.gate > 1 and one.reason not in _CUT_OFF:
        return "seconds", "is later than the deadline: gate 1 comes first"
    return None


def _raw_faults(planned: Planned, answers: Answers) -> Iterator[Wrong]:
    raw, groups = answers.results.raw, planned.plan.groups
    if [len(of_task) for of_task in raw] != [len(group.members) for group in groups]:
        yield "raw", "is not one digest or null for each member of the groups"
        return
    reasons = {(one.task_id, one.hotkey): one.reason for one in answers.results.rejections}
    whole = {(one.task_id, one.hotkey) for one in (listed.packed for listed in answers.passed)}
    for i, group in enumerate(groups):
        for j, (hotkey, _) in enumerate(group.members):
            key = (group.task_id, hotkey)
            what = _contradiction(raw[i][j], reasons.get(key), passed=key in whole)
            if what is not None:
                yield f"raw[{i}][{j}]", what


def _contradiction(raw: RawAnswer | None, reason: Reason | None, *, passed: bool) -> str | None:
    """Return how a digest contradicts the end of its dispatch; of void ones anything may be known."""
    judged = passed or (reason is not None and reason.gate > 1 and reason not in _CUT_OFF)
    if judged and (raw is None or not raw.complete):
        return "is not that of a whole answer, and it was judged"
    if raw is not None and reason in _NOT_SENT:
        return f"exists, although nothing was sent: {reason}"
    if raw is not None and raw.complete and reason in (Reason.DEADLINE_STATUS, Reason.DEADLINE_TRANSPORT):
        return f"is that of a whole answer, although none came: {reason}"
    return None
