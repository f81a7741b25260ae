"""Notes for an operator on a goal's reference: what is worth 1, an example that is, what counts (SPEC 12)."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec import UNSET

from validator.protocol.canonical import canonical_bytes
from validator.protocol.text import printable
from validator.protocol.workflow_run import StepOutput
from validator.protocol.workflow_task import Criterion, WorkflowTask, words
from validator.scoring import CURRENT, version

_SHOWN: Final = 300  # code points of an example
_VERSION: Final = version(CURRENT)
_NEEDS_SANDBOX: Final = (
    "its plans' code is judged by running its tests: a validator needs a container engine for it (`sandbox`), "
    "and lets the plans wait without one"
)
_IMPORTS_ALL: Final = re.compile(r"\bimport[ \t\\\n]*\*")
# What stands for each part of a pattern in an example, one after the other; what is left of it stands for itself.
_PARTS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"(?<!\\)\((?:\?:)?([^()|]*)\|[^()]*\)"), r"\1"),  # of alternatives the first
    (re.compile(r"\(\?[a-zA-Z-]*(?::|\))|\\[bBAz]|(?<!\\)[()^$]|(?<!\\)[*+?]\??"), ""),
    (re.compile(r"(?<!\\)\|.*"), ""),
    (re.compile(r"\[\^[^\]]+\]|\\[WDS]"), "-"),
    (re.compile(r"\[(\\?.)[^\]]*\]"), r"\1"),
    (re.compile(r"\\w|(?<!\\)\."), "a"),
    (re.compile(r"\\d"), "1"),
    (re.compile(r"\\[sn]"), " "),
    (re.compile(r"(\\?.)\{(\d{1,2})(?:,\d*)?\}"), lambda found: found[1] * int(found[2])),
    (re.compile(r"\\(.)"), r"\1"),
)


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
    echoed = None if task.type == "code" else _VERSION.read_quality(task, StepOutput(task.goal, None, None))
    if echoed is not None and echoed > _VERSION.rules.workflow.gate:
        yield f"the goal's own text, given back, is worth {echoed:.2g}: enough for cost and latency - at `goal`"


def _of_text(text: str) -> str:
    many = len(words(text))
    return (
        f"worth 1: text with its {many} words in their order and no others, e.g. itself; case, punctuation and white "
        "space do not count, only runs of ASCII letters and digits do - at `reference.text`"
    )


def _of_expected_text(text: str) -> str:
    return (
        f"worth 1: the text `{_shown(text.strip())}`, or data that is this text; case and white space inside count, "
        "white space around it does not; nothing is read as JSON - at `reference.expected_text`"
    )


def _of_expected(expected: Any) -> str:
    told = f"worth 1: data, or text that is JSON, equal to `{_shown(canonical_bytes(expected).decode())}`; case counts"
    if isinstance(expected, str):
        return (
            f"{told}; text without the quotes is worth 0: say `expected_text` in a task of version 1.1 for that"
            " - at `reference.expected`"
        )
    parts = "; an object with some of its keys is worth their share" if isinstance(expected, dict) else ""
    return f"{told}, white space and the order of keys do not, 1 and 1.0 are the same{parts} - at `reference.expected`"


def _of_checklist(task: WorkflowTask) -> str:
    """Return a note with the output that meets most of the checklist."""
    checklist: tuple[Criterion, ...] = task.reference.given("checklist")
    met, example = max(
        ((_VERSION.read_quality(task, one) or 0.0, one.text or "") for one in _examples(checklist)),
        key=lambda found: found[0],
    )
    told = f"each of {len(checklist)} criteria is worth the same; case counts in json_key alone"
    if met == 1.0:
        return f"{told}; worth 1: text `{_shown(example)}` - at `reference.checklist`"
    missed = round((1 - met) * len(checklist))
    return f"{told}; no example is known that meets more than all but {missed} - at `reference.checklist`"


def _examples(checklist: tuple[Criterion, ...]) -> Iterator[StepOutput]:
    keys = [one.value for one in checklist if one.type == "json_key"]
    found = [(one, _sample(one.value) if one.type == "regex" else one.value) for one in checklist]
    texts = [(one, text) for one, text in found if one.type != "json_key"]
    first = [text for one, text in texts if one.type == "regex" and "^" in one.value]
    last = [text for one, text in texts if one.type == "regex" and one.value.endswith("$")]
    others = [text for _, text in texts if text not in (*first, *last)]
    ordered = [*first, *others, *(text for text in last if text not in first)]
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


def _sample(pattern: str) -> str:
    """Return a text that the pattern may find: a guess, which is looked at before it is shown."""
    for part, text in _PARTS:
        pattern = part.sub(text, pattern)
    return pattern


def _shown(text: str) -> str:
    return printable(text, _SHOWN)
