"""Quality of a workflow's output, in [0, 1]: compared with the reference, without a model (SPEC 12)."""

from typing import Any, Final

from msgspec import UNSET
from rapidfuzz.distance import LCSseq

from sssa.protocol.canonical import NotCanonicalError, canonical_bytes
from sssa.protocol.limits import MAX_STEP_TEXT
from sssa.protocol.strict_json import JsonError, decode_plain
from sssa.protocol.workflow_run import StepOutput
from sssa.protocol.workflow_task import Criterion, WorkflowTask, compile_pattern, rouge_words
from sssa.scoring.v1.rules import Ruled

_ABSENT: Final = object()
_AROUND: Final = " \t\r\n"


def read_quality(task: WorkflowTask, output: StepOutput | None) -> float | None:
    """Return how good a run's result is as far as reading it tells; None for code, which has to be run to be judged.

    Args:
        task: its type picks the rule, its reference the measure.
        output: of the run (see `result_of`); None is worth 0, and so is code without any.
    """
    if output is None:
        return 0.0
    match task.type:
        case "code":
            return None if code_of(output).strip() else 0.0
        case "rag":
            return rouge_l(task.reference.given("text"), output.text or "")
        case "agent":
            return checklist_share(task.reference.given("checklist"), output)
        case _ if task.reference.expected_text is not UNSET:
            return float(text_met(task.reference.expected_text, output))
        case _:
            return json_share(task.reference.given("expected"), output)


def code_quality(version: Ruled, passed: int, total: int, findings: int) -> float:
    """Return tests · share of tests passed + lint · max(0, 1 − finding · findings); without tests the share is 0."""
    rules = version.rules.workflow
    share = passed / total if total else 0.0
    return rules.tests * share + rules.lint * max(0.0, 1.0 - rules.finding * findings)


def rouge_l(reference: str, text: str) -> float:
    """Return ROUGE-L F1 over words: 2 · longest common subsequence / (words of both); 0 without common words."""
    common, expected, given = words_shared(reference, text)
    return 2 * common / (expected + given) if common else 0.0


def words_shared(reference: str, text: str) -> tuple[int, int, int]:
    """Return the length of the longest common subsequence of words, the words of the reference, those of the text."""
    numbers: dict[str, int] = {}
    expected, given = (
        [numbers.setdefault(word, len(numbers)) for word in rouge_words(side)] for side in (reference, text)
    )
    return int(LCSseq.similarity(expected, given)), len(expected), len(given)


def checklist_share(checklist: tuple[Criterion, ...], output: StepOutput) -> float:
    """Return the share of criteria that the output meets."""
    return sum(criteria_met(checklist, output)) / len(checklist)


def criteria_met(checklist: tuple[Criterion, ...], output: StepOutput) -> tuple[bool, ...]:
    """Return for each criterion whether the output meets it."""
    text, given = text_of(output), json_of(output)  # once: an output may be dear to write and to read
    folded = text.casefold()

    def meets(criterion: Criterion) -> bool:
        if criterion.type == "keyword":
            return criterion.value.casefold() in folded
        if criterion.type == "regex":
            return compile_pattern(criterion.value).search(text) is not None
        return isinstance(given, dict) and criterion.value in given

    return tuple(map(meets, checklist))


def json_share(expected: Any, output: StepOutput) -> float:
    """Return 1 for equal JSON, else the share of the expected object's keys with equal values, else 0.

    Equal is what has the same canonical bytes: 1 and 1.0 are one number, as they are in every signature; a number, its
    text and a truth value are three things; objects have no order.
    """
    if _equal(expected, json_of(output)):
        return 1.0
    met = keys_met(expected, output)
    return sum(met.values()) / len(met) if met else 0.0


def text_met(expected: str, output: StepOutput) -> bool:
    """Return whether the output is the expected text, ignoring white space at both ends.

    Its text is read, without one its data where that is a text. Nothing is read as JSON.
    """
    given = output.data if output.text is None else output.text
    return isinstance(given, str) and given.strip(_AROUND) == expected.strip(_AROUND)


def keys_met(expected: Any, output: StepOutput) -> dict[str, bool] | None:
    """Return for each key of the expected object whether its value is equal, None where equal or not is all there is.

    That is where not both are objects, or the two are the same.
    """
    given = json_of(output)
    if not (isinstance(expected, dict) and isinstance(given, dict)) or _equal(expected, given):
        return None
    return {key: _equal(value, given.get(key, _ABSENT)) for key, value in expected.items()}


def text_of(output: StepOutput) -> str:
    """Return what a checklist reads: the text, else the code, else the data as canonical JSON."""
    if output.text is not None:
        return output.text
    if output.code is not None:
        return output.code
    return "" if output.data is None else canonical_bytes(output.data).decode()


def code_of(output: StepOutput) -> str:
    """Return the code, else the text, which may be code as well."""
    return output.text or "" if output.code is None else output.code


def json_of(output: StepOutput) -> Any:
    """Return the data, else the text read as JSON, else None."""
    if output.data is not None or output.text is None:
        return output.data
    try:
        return decode_plain(output.text.encode(), limit=MAX_STEP_TEXT)
    except JsonError:
        return None


def _equal(expected: Any, given: Any) -> bool:
    if given is _ABSENT:
        return False
    try:
        return canonical_bytes(expected) == canonical_bytes(given)
    except NotCanonicalError:
        return False
