"""Check of task folders, `validator tasks check` and `draft`: truth that no answer can meet, and notes. Reads only."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from sssa.protocol import limits
from sssa.protocol.bundles import read_bundle
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.sssa import EvidenceRef, Rule, parse_evidence_ref
from sssa.protocol.strict_json import JsonError
from sssa.protocol.task import TRUTH_OF_AXIS, Task, Truth, parse_task
from sssa.protocol.text import is_text, printable
from sssa.protocol.vocabulary import ACTIONS, ANY, RESOURCES, pattern_fault
from sssa.protocol.workflow_run import StepOutput
from sssa.protocol.workflow_task import Criterion, WorkflowTask, rouge_words, task_sha256
from sssa.scoring import CURRENT, read_quality, version
from validator.tasks.folder import (
    BUNDLE_NAME,
    TASK_NAME,
    WORKFLOW_NAME,
    faults,
    find_drafts,
    find_tasks,
    label,
    read_bounded,
    read_parts,
    undecided,
)
from validator.tasks.goals import find_goals, read_goal
from validator.tasks.source import TaskError

_SHOWN: Final = 300  # code points of an example
_VERSION: Final = version(CURRENT)
_NEEDS_SANDBOX: Final = (
    "its plans' code is judged by running its tests: a validator needs a container engine for it (`sandbox`), "
    "and lets the plans wait without one"
)
_IMPORTS_ALL: Final = re.compile(r"\bimport[ \t\\\n]*\*")


def goal_notes(task: WorkflowTask) -> Iterator[str]:
    """Yield what a result of a goal is worth 1 for, each with its field."""
    match task.type:
        case "code":
            yield "worth 1: a module for which every test passes and the linter finds nothing - at `reference.tests`"
            if _IMPORTS_ALL.search(task.reference.given("tests")):
                yield (
                    "`import *` lets a solution replace any name that the tests use, `len` and `pytest` too: import "
                    "by name - at `reference.tests`"
                )
            yield _NEEDS_SANDBOX
        case "rag":
            yield _of_text(task.reference.given("text"))
        case "agent":
            yield _of_checklist(task)
        case _ if task.reference.expected_text is not UNSET:
            yield _of_expected_text(task.reference.expected_text)
        case _:
            yield _of_expected(task.reference.given("expected"))
    echoed = None if task.type == "code" else read_quality(task, StepOutput(task.goal, None, None))
    if echoed is not None and echoed > _VERSION.rules.workflow.gate:
        yield f"the goal's own text, given back, is worth {echoed:.2g}: enough for cost and latency - at `goal`"


def _of_text(text: str) -> str:
    many = len(rouge_words(text))
    return (
        f"worth 1: text with its {many} words in their order and no others, e.g. itself; case, punctuation and white "
        "space do not count, only runs of ASCII letters and digits do - at `reference.text`"
    )


def _of_expected_text(text: str) -> str:
    return (
        f"worth 1: the text `{_excerpt(text.strip())}`, or data that is this text; case and white space inside count, "
        "white space around it does not; nothing is read as JSON - at `reference.expected_text`"
    )


def _of_expected(expected: Any) -> str:
    line = (
        f"worth 1: data, or text that is JSON, equal to `{_excerpt(canonical_bytes(expected).decode())}`; case counts"
    )
    if isinstance(expected, str):
        return (
            f"{line}; text without the quotes is worth 0: say `expected_text` in a task of version 1.1 for that"
            " - at `reference.expected`"
        )
    parts = "; an object with some of its keys is worth their share" if isinstance(expected, dict) else ""
    return f"{line}, white space and the order of keys do not, 1 and 1.0 are the same{parts} - at `reference.expected`"


def _of_checklist(task: WorkflowTask) -> str:
    """Return a note with the output that meets most of the checklist; without one if it has a regex."""
    checklist: tuple[Criterion, ...] = task.reference.given("checklist")
    line = f"each of {len(checklist)} criteria is worth the same; case counts in json_key alone"
    if any(one.type == "regex" for one in checklist):
        return f"{line}; no example is made where a regex counts - at `reference.checklist`"
    met, example = max(
        ((read_quality(task, one) or 0.0, one.text or "") for one in _examples(checklist)),
        key=lambda pair: pair[0],
    )
    if met == 1.0:
        return f"{line}; worth 1: text `{_excerpt(example)}` - at `reference.checklist`"
    missed = round((1 - met) * len(checklist))
    return f"{line}; no example is known that meets more than all but {missed} - at `reference.checklist`"


def _examples(checklist: tuple[Criterion, ...]) -> Iterator[StepOutput]:
    keys = [one.value for one in checklist if one.type == "json_key"]
    ordered = [one.value for one in checklist if one.type != "json_key"]
    if keys:
        for given in ("", " ".join(ordered)):
            yield StepOutput(canonical_bytes(dict.fromkeys(keys, given)).decode(), None, None)
        pairs = [text for text in ordered if '"' in text]
        yield StepOutput(f"{{{', '.join(_members(keys, pairs, ordered))}}}", None, None)
    yield StepOutput("\n".join(ordered), None, None)
    yield StepOutput(" ".join(ordered), None, None)


def _members(keys: Iterable[str], pairs: Iterable[str], ordered: Iterable[str]) -> Iterator[str]:
    """Yield the members of an object; a criterion may name one as it is written: `"key":1`."""
    written = [pair for pair in pairs if pair.startswith('"') and ":" in pair]
    yield from written
    for key in keys:
        name = canonical_bytes(key).decode()
        if not any(pair.startswith(f"{name}:") for pair in written):
            yield f"{name}:{canonical_bytes(' '.join(one for one in ordered if one not in written)).decode()}"


def _excerpt(text: str) -> str:
    return printable(text, _SHOWN)


Files = Mapping[str, bytes]

MCP_MANIFEST: Final = "mcp.json"
_NEEDS_ENGINE: Final = (
    "answers of this type are run again only where the validator has a container engine (`sandbox`) - at `skill_type`"
)
_TAKES_MARKER: Final = (".md", ".markdown", ".txt", ".rst", ".html", ".prompt")
_LOOKED_FOR: Final = 64  # names of tools: each goes through the whole bundle


class _Blanks:
    """Blank lines of a bundle's files. Each file is scanned once, for any number of references."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._written: dict[str, array[int]] = {}

    def at(self, ref: EvidenceRef) -> bool:
        """Return whether the reference names lines, all of them blank."""
        if ref.first is None or ref.last is None:
            return False
        if ref.path not in self._written:
            lines = enumerate(BytesIO(self._files[ref.path]), start=1)
            self._written[ref.path] = array("L", (number for number, line in lines if line.strip()))
        written = self._written[ref.path]
        return bisect_left(written, ref.first) == bisect_right(written, ref.last)


def unmeetable(task: Task, files: Files) -> Iterator[str]:
    """Yield what no answer can agree with, each with its field; for a task that has no other fault."""
    truth = task.truth
    if truth is None:
        return
    yield from unmeetable_rules(truth.policy_rules or (), "truth.policy_rules")
    blanks = _Blanks(files)
    yield from _unmeetable_injections(truth, blanks)
    yield from _unmeetable_findings(truth, blanks)
    yield from _unmeetable_commands(truth)
    yield from _repeated(truth.poisoned_tools or (), "truth.poisoned_tools")
    wanted = truth.manifest_sha256
    if wanted is not None and wanted.lower() not in map(sha256_hex, files.values()):
        yield "no file of the bundle has this hash - at `truth.manifest_sha256`"


def remarks(task: Task, files: Files) -> Iterator[str]:
    """Yield what the task leaves out or asks for, each with its field: it is used all the same."""
    if task.truth is None:
        yield "none: answers are scored against their group (D-7) - at `truth`"
    else:
        yield from _missing_axes(task, task.truth)
        yield from _remarks_on_truth(task.truth, files)
    yield from _remarks_on_marker(task, files)
    if is_runtime(task.skill_type):
        yield _NEEDS_ENGINE


def _unmeetable_injections(truth: Truth, blanks: _Blanks) -> Iterator[str]:
    known: dict[EvidenceRef, int] = {}
    for i, text in enumerate(truth.injections or ()):
        ref, where = parse_evidence_ref(text), f"truth.injections[{i}]"
        first = known.setdefault(ref, i)
        if first != i:
            yield f"the same place as `truth.injections[{first}]` - at `{where}`"
        elif blanks.at(ref):
            yield f"`{printable(text)}` holds nothing but blanks - at `{where}`"


def _unmeetable_findings(truth: Truth, blanks: _Blanks) -> Iterator[str]:
    known: dict[tuple[object, ...], int] = {}
    for i, finding in enumerate(truth.findings or ()):
        ref, where = parse_evidence_ref(finding.evidence_ref), f"truth.findings[{i}]"
        first = known.setdefault((finding.category, ref, finding.cve_ids, finding.target_pattern), i)
        if first != i:
            yield f"the same finding as `truth.findings[{first}]` - at `{where}`"
        elif blanks.at(ref):
            yield f"`{printable(finding.evidence_ref)}` holds nothing but blanks - at `{where}.evidence_ref`"
        elif finding.category == "dependency_cve" and not finding.cve_ids:
            yield f"a known advisory has an id - at `{where}.cve_ids`"


def _unmeetable_commands(truth: Truth) -> Iterator[str]:
    commands = truth.shell_commands or ()
    for i, command in enumerate(commands):
        if not command.strip() or command != command.strip():
            text = "blank" if not command.strip() else "begins or ends with a blank, as no traced command does"
            yield f"{text} - at `truth.shell_commands[{i}]`"
    yield from _repeated(commands, "truth.shell_commands")


def _repeated(texts: tuple[str, ...], where: str) -> Iterator[str]:
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if first.setdefault(text, i) != i:
            yield f"the same as `{where}[{first[text]}]` - at `{where}[{i}]`"


def _missing_axes(task: Task, truth: Truth) -> Iterator[str]:
    for axis, weight in version(CURRENT).rules.types[task.skill_type].axes:
        field = TRUTH_OF_AXIS.get(axis)
        if field is not None and getattr(truth, field) is None:
            yield f"missing: {axis}, {weight:g} of the quality of {task.skill_type}, is left out - at `truth.{field}`"


def _remarks_on_truth(truth: Truth, files: Files) -> Iterator[str]:
    open_ended = without_rest(truth.policy_rules) if truth.policy_rules else []
    if open_ended:
        text = f"no rule for `*` of {', '.join(open_ended)}: an analysis has one for every resource"
        yield f"{text} - at `truth.policy_rules`"
    for i, text in enumerate(truth.injections or ()):
        if parse_evidence_ref(text).first is None:
            yield f"the whole file: analyses that name lines of it are not agreed with - at `truth.injections[{i}]`"
    for i, name in enumerate((truth.poisoned_tools or ())[:_LOOKED_FOR]):
        if not any(name.encode() in content for content in files.values()):
            yield f"no file of the bundle spells `{printable(name, 60)}` - at `truth.poisoned_tools[{i}]`"
    wanted = truth.manifest_sha256
    if wanted is not None and MCP_MANIFEST in files and sha256_hex(files[MCP_MANIFEST]) != wanted.lower():
        yield f"the hash of another file than {MCP_MANIFEST} - at `truth.manifest_sha256`"
    if truth.verdict == "ALLOW" and (truth.injections or truth.poisoned_tools):
        yield "ALLOW, and yet injections or poisoned tools are known - at `truth.verdict`"


def _remarks_on_marker(task: Task, files: Files) -> Iterator[str]:
    if task.canary is None:
        if not is_runtime(task.skill_type):
            yield "none: a bundle of this type can carry a marker of its dispatch - at `canary`"
        return
    file = task.canary.file
    if not file.lower().endswith(_TAKES_MARKER):
        text = "gets the marker as a last line, and may then be no longer what its name says"
        yield f"`{printable(file)}` {text} - at `canary.file`"
    elif not is_text(files[file]):
        yield f"`{printable(file)}` is no text in UTF-8: a reader may not see the marker in it - at `canary.file`"


def unmeetable_rules(rules: Sequence[Rule], where: str) -> Iterator[str]:
    """Yield one text per rule that no analysis would write, with its field below `where`."""
    first: dict[tuple[str, str], int] = {}
    for i, rule in enumerate(rules):
        fault = _rule_fault(rule)
        if fault is not None:
            field, text = fault
            yield f"{text} - at `{where}[{i}].{field}`"
            continue
        j = first.setdefault((rule.resource, rule.pattern), i)
        if j == i:
            continue
        if rules[j].action == rule.action:
            yield f"the same rule as `{where}[{j}]` - at `{where}[{i}]`"
        else:
            text = f"`{where}[{j}]` says `{rules[j].action}` of the same pattern, and an analysis says one of the two"
            yield f"{text} - at `{where}[{i}].action`"


def without_rest(rules: Sequence[Rule]) -> list[str]:
    """Return the resources that have no rule for `*`; an analysis has one for each."""
    closed = {rule.resource for rule in rules if rule.pattern == ANY}
    return [name for name in RESOURCES if name not in closed]


def _rule_fault(rule: Rule) -> tuple[str, str] | None:
    """Return the first field that an analysis would not write, and why."""
    if rule.resource not in RESOURCES:
        return "resource", f"`{printable(rule.resource, 60)}` is no resource: {', '.join(RESOURCES)}"
    if rule.action not in ACTIONS:
        return "action", f"`{printable(rule.action, 60)}` is no action: {', '.join(ACTIONS)}"
    if rule.pattern == ANY and rule.action == "allow":
        return "action", "`*` is denied or put to review, never allowed"
    if rule.pattern != ANY and rule.action == "review":
        return "pattern", "only `*` is put to review"
    fault = pattern_fault(rule.resource, rule.pattern)
    return ("pattern", f"`{printable(rule.pattern, 60)}` {fault}") if fault else None


_DECIDED: Final = f"nothing is left to decide: renamed to {TASK_NAME} it is the task"


class CheckedTask(NamedTuple):
    """A task folder or archive, or a `workflow.json`.

    Attributes:
        problems: what is wrong with it, one text per fault, with its field.
        notes: what it leaves out or asks for; it is used all the same.
    """

    path: Path
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def check_tasks(root: Path) -> list[CheckedTask]:
    """Return every task folder, archive, draft and `workflow.json` at or below `root` with its problems. Blocks.

    Reported is what makes a task refused (of a `workflow.json` its first fault, else all at once), and besides: no task
    at all (then `root` itself is in the list), the same task twice (of a type with the same bundle, or the same
    workflow: only the first is served), and truth that no answer can agree with. Notes say what is
    missing, what a goal's reference takes, and what needs a container engine.

    Raises:
        TaskError: `root` cannot be listed.
    """
    seen: dict[tuple[str, str], str] = {}
    checks = dict.fromkeys(find_tasks(root), _check_task) | dict.fromkeys(find_goals(root), _check_goal)
    checked = [checks[path](path, _shown(path, root), seen) for path in sorted(checks)]
    checked = sorted([*checked, *map(_check_draft, find_drafts(root))], key=lambda one: one.path)
    return checked or [CheckedTask(root, (f"holds no {TASK_NAME}, no task archive and no {WORKFLOW_NAME}",))]


def _shown(path: Path, root: Path) -> str:
    return label(path) if path == root else printable(path.relative_to(root).as_posix())


def _check_task(path: Path, name: str, seen: dict[tuple[str, str], str]) -> CheckedTask:
    try:
        data, bundle = read_parts(path)
        task = parse_task(data)
    except TaskError as error:
        return CheckedTask(path, (error.detail,))
    except JsonError as error:
        return CheckedTask(path, _undecided(data) or (f"{TASK_NAME}: {error.detail}",))
    problems, notes = _looked_over(task, bundle)
    first = seen.setdefault((task.skill_type, task.bundle_sha256.lower()), name)
    if first != name:
        problems.append(f"the same bundle as `{first}`: it is never served - at `bundle_sha256`")
    return CheckedTask(path, tuple(problems), tuple(notes))


def _check_draft(path: Path) -> CheckedTask:
    try:
        data = read_bounded(path, limits.MAX_TASK_BODY)
        bundle = read_bounded(path.with_name(BUNDLE_NAME), limits.MAX_BUNDLE_COMPRESSED)
        if todo := _undecided(data):
            return CheckedTask(path, todo)
        problems, notes = _looked_over(parse_task(data), bundle)
    except (TaskError, JsonError) as error:
        return CheckedTask(path, (error.detail,))
    return CheckedTask(path, tuple(problems), (*notes, _DECIDED))


def _undecided(data: bytes) -> tuple[str, ...]:
    try:
        return tuple(undecided(data))
    except JsonError:
        return ()


def _looked_over(task: Task, bundle: bytes) -> tuple[list[str], list[str]]:
    """Return the problems and the notes of a task."""
    task_faults = list(faults(task, bundle))
    if task_faults:
        return task_faults, []
    files = read_bundle(bundle)
    return list(unmeetable(task, files)), list(remarks(task, files))


def _check_goal(path: Path, name: str, seen: dict[tuple[str, str], str]) -> CheckedTask:
    try:
        task = read_goal(path)
    except TaskError as error:
        return CheckedTask(path, (error.detail,))
    first = seen.setdefault((SkillType.WORKFLOW, task_sha256(task)), name)
    problems = () if first == name else (f"the same task as `{first}`: it is never served",)
    return CheckedTask(path, problems, tuple(goal_notes(task)))
