"""The actions of the local step services: text, code, retrieval and transform, with their parameters."""

import csv
import io
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib.resources import files
from inspect import signature
from itertools import islice
from typing import Annotated, Any, Final

import msgspec

from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from sssa.protocol.workflow_run import StepOutput

Params = Mapping[str, Any]
Rows = list[dict[str, Any]]
Few = Annotated[int, msgspec.Meta(ge=1, le=20)]


class ParamsError(ValidatorError):
    """The step's params are not what the action takes."""


def _action(function: Callable[..., StepOutput]) -> Callable[[Params], StepOutput]:
    """Return the function as one of a step's params, which must have the types of its parameters, or ParamsError."""
    form = msgspec.defstruct(
        function.__name__, [(name, one.annotation) for name, one in signature(function).parameters.items()]
    )

    @wraps(function)
    def perform(params: Params) -> StepOutput:
        try:
            given = msgspec.convert(params, form)
        except msgspec.ValidationError as error:
            raise ParamsError(str(error).replace("$", "params")) from None
        return function(**msgspec.structs.asdict(given))

    return perform


# Every sign is looked at once: what has no end is a sentence, too.
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]?")
_LONG_WORD: Final = re.compile(r"[a-z]{4,}")


@_action
def summarise(text: str, sentences: Few) -> StepOutput:
    """Return the `sentences` sentences of `text` that share most with the rest of it, in their order."""
    return _text(shortened(text, sentences))


@_action
def keywords(text: str, count: Few) -> StepOutput:
    """Return the `count` most frequent longer words of `text`; of equally frequent ones the first by alphabet."""
    frequency = Counter(_LONG_WORD.findall(text.lower()))
    chosen = sorted(frequency, key=lambda word: (-frequency[word], word))[:count]
    return StepOutput(text=", ".join(chosen), code=None, data=chosen)


@_action
def join(parts: list[str]) -> StepOutput:
    """Return the texts of `parts`, one after the other."""
    return _text(" ".join(part.strip() for part in parts))


@_action
def report(title: str, body: str) -> StepOutput:
    """Return a short report: `title` over `body`."""
    return StepOutput(text=f"# {title}\n\n{body}\n", code=None, data={"title": title, "body": body})


def shortened(text: str, sentences: int) -> str:
    """Return the sentences with the most frequent words per word, in the order of the text."""
    found = [match.strip() for match in _SENTENCE.findall(text) if match.strip()]
    frequency = Counter(_LONG_WORD.findall(text.lower()))

    def weight(sentence: str) -> float:
        words = _LONG_WORD.findall(sentence.lower())
        return sum(frequency[word] for word in words) / len(words) if words else 0.0

    ranked = sorted(range(len(found)), key=lambda i: (-weight(found[i]), i))
    return " ".join(found[i] for i in sorted(ranked[:sentences]))


def _text(text: str) -> StepOutput:
    return StepOutput(text=text, code=None, data=None)


FUNCTIONS: Final = {
    "slugify": '''import re


def slugify(text: str) -> str:
    """Return `text` in lower case with one hyphen for every run of other signs than letters and digits."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
''',
    "chunked": '''def chunked(items, size):
    """Return `items` in lists of at most `size`."""
    if size < 1:
        raise ValueError("size must be at least 1")
    return [list(items[i : i + size]) for i in range(0, len(items), size)]
''',
    "roman": '''NUMERALS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)


def roman(number):
    """Return a number from 1 to 3999 in Roman numerals."""
    if not 1 <= number <= 3999:
        raise ValueError("number must be from 1 to 3999")
    written = ""
    for value, numeral in NUMERALS:
        times, number = divmod(number, value)
        written += numeral * times
    return written
''',
    "is_palindrome": '''def is_palindrome(text):
    """Return whether the letters and digits of `text` read the same backwards, whatever the case."""
    signs = [sign for sign in text.casefold() if sign.isalnum()]
    return signs == signs[::-1]
''',
    "flatten": '''def flatten(items):
    """Return what is in the lists in `items`, however deep, as one list."""
    flat = []
    for item in items:
        flat.extend(flatten(item) if isinstance(item, list) else [item])
    return flat
''',
    "run_lengths": '''from itertools import groupby


def run_lengths(text):
    """Return each run of equal signs in `text`: the sign, and how often it stands there."""
    return [(sign, len(list(run))) for sign, run in groupby(text)]
''',
    "median": '''def median(numbers):
    """Return the middle number, or the mean of the two in the middle."""
    if not numbers:
        raise ValueError("nothing has no median")
    ranked = sorted(numbers)
    half = len(ranked) // 2
    return ranked[half] if len(ranked) % 2 else (ranked[half - 1] + ranked[half]) / 2
''',
    "merge_spans": '''def merge_spans(spans):
    """Return the spans sorted, those that touch or overlap as one."""
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
''',
}


@_action
def write(name: str) -> StepOutput:
    """Return the function called `name`."""
    if name not in FUNCTIONS:
        raise ParamsError("no such function - at `params.name`")
    return StepOutput(text=None, code=FUNCTIONS[name], data=None)


@_action
def tidy(code: str) -> StepOutput:
    """Return `code` without white space at line ends and with one final newline."""
    lines = [line.rstrip() for line in code.splitlines()]
    return StepOutput(text=None, code="\n".join(lines).strip("\n") + "\n", data=None)


_WORD: Final = re.compile(r"[a-z]{3,}")

PASSAGES: Final[Mapping[str, str]] = tomllib.loads(files(__package__).joinpath("passages.toml").read_text("utf-8"))


@_action
def search(query: str, count: Annotated[int, msgspec.Meta(ge=1, le=5)]) -> StepOutput:
    """Return the `count` passages that share most words with `query`."""
    wanted = set(_WORD.findall(query.lower()))
    shared = {title: len(wanted & set(_WORD.findall(f"{title} {text}".lower()))) for title, text in PASSAGES.items()}
    titled = {title: len(wanted & set(_WORD.findall(title))) for title in PASSAGES}
    chosen = sorted(PASSAGES, key=lambda title: (-titled[title], -shared[title], title))[:count]
    return StepOutput(
        text=" ".join(PASSAGES[title] for title in chosen),
        code=None,
        data=[{"title": title, "text": PASSAGES[title]} for title in chosen],
    )


_MOST_ROWS: Final = 500


@_action
def parse_table(text: str) -> StepOutput:
    """Return the rows of the CSV `text` as objects; what reads as a number is one."""
    table = csv.DictReader(io.StringIO(text.strip()), restkey="more", restval="")
    try:
        rows = list(islice(table, _MOST_ROWS + 1))
    except csv.Error as error:
        raise ParamsError(f"no table: {error} - at `params.text`") from None
    if len(rows) > _MOST_ROWS:
        raise ParamsError(f"more than {_MOST_ROWS} rows - at `params.text`")
    return _data([{str(key): _value(value) for key, value in row.items()} for row in rows])


@_action
def keep(rows: Rows, field: str, value: Any) -> StepOutput:
    """Return those `rows` whose `field` is `value`."""
    return _data([row for row in rows if row.get(field) == value])


@_action
def keep_above(rows: Rows, field: str, above: float) -> StepOutput:
    """Return those `rows` whose number in `field` is above `above`."""
    return _data([row for row, number in zip(rows, _numbers(rows, field), strict=True) if number > above])


@_action
def largest(rows: Rows, field: str, count: Annotated[int, msgspec.Meta(ge=1, le=_MOST_ROWS)]) -> StepOutput:
    """Return the `count` rows with the largest numbers in `field`, the largest first."""
    numbers = _numbers(rows, field)
    ranked = sorted(range(len(rows)), key=lambda i: (-numbers[i], i))
    return _data([rows[i] for i in ranked[:count]])


@_action
def column(rows: Rows, field: str) -> StepOutput:
    """Return what is in `field`, row by row."""
    return _data([row.get(field) for row in rows])


@_action
def name(rows: Rows, field: str) -> StepOutput:
    """Return the text that is in `field` of the first row, as a text."""
    value = rows[0].get(field) if rows else None
    if not isinstance(value, str):
        raise ParamsError(f"no text in the first row - at `params.rows[0].{printable(field)}`")
    return _text(value)


@_action
def count(rows: Rows, by: str) -> StepOutput:
    """Return how many `rows` there are of each value of the field `by`."""
    return _data(dict(sorted(Counter(str(row.get(by)) for row in rows).items())))


@_action
def total(rows: Rows, by: str, value: str) -> StepOutput:
    """Return the sums of the field `value` over `rows`, by the field `by`."""
    return _by_group(rows, by, value, math.fsum)


@_action
def average(rows: Rows, by: str, value: str) -> StepOutput:
    """Return the means of the field `value` over `rows`, by the field `by`."""
    return _by_group(rows, by, value, lambda numbers: math.fsum(numbers) / len(numbers))


def _by_group(rows: Rows, by: str, value: str, computed: Callable[[Sequence[float]], float]) -> StepOutput:
    groups: dict[str, list[float]] = {}
    for row, number in zip(rows, _numbers(rows, value), strict=True):
        groups.setdefault(str(row.get(by)), []).append(number)
    try:
        return _data({group: computed(numbers) for group, numbers in sorted(groups.items())})
    except OverflowError:
        raise ParamsError("the sum is too large - at `params.rows`") from None


def _numbers(rows: Rows, field: str) -> list[float]:
    for i, row in enumerate(rows):
        if isinstance(row.get(field), bool) or not isinstance(row.get(field), int | float):
            raise ParamsError(f"no number in the field `{printable(field)}` - at `params.rows[{i}]`")
    return [row[field] for row in rows]


def _value(text: Any) -> Any:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return text
    return number if math.isfinite(number) else text


def _data(data: Any) -> StepOutput:
    return StepOutput(text=None, code=None, data=data)
