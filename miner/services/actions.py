"""The actions of the local step services: text, code, retrieval and transform, with their parameters."""

import csv
import io
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from typing import Any, Final, TypeVar

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.protocol.workflow_run import StepOutput

T = TypeVar("T")

Params = Mapping[str, Any]


class ParamsError(ValidatorError):
    """The step's params are not what the action takes."""


def text_of(params: Params, name: str) -> str:
    """Return a text.

    Raises:
        ParamsError: missing, or none.
    """
    value = params.get(name)
    if not isinstance(value, str):
        raise ParamsError(f"must be a text - at `params.{name}`")
    return value


def count_of(params: Params, name: str, most: int) -> int:
    """Return a whole number from 1 to `most`.

    Raises:
        ParamsError: missing, or none.
    """
    value = params.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= most or value % 1:
        raise ParamsError(f"must be a whole number from 1 to {most} - at `params.{name}`")
    return int(value)


def list_of(params: Params, name: str, kind: type[T], what: str) -> Sequence[T]:
    """Return a list of texts or objects, as `what` calls them.

    Raises:
        ParamsError: missing, or none.
    """
    value = params.get(name)
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise ParamsError(f"must be a list of {what} - at `params.{name}`")
    return value


def rows_of(params: Params) -> Sequence[Mapping[str, Any]]:
    """Return the objects of `rows`, as `list_of` does."""
    return list_of(params, "rows", dict, "objects")


# Every sign is looked at once: what has no end is a sentence, too.
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]?")
_LONG_WORD: Final = re.compile(r"[a-z]{4,}")
_MOST_ITEMS: Final = 20


def summarise(params: Params) -> StepOutput:
    """Return the `sentences` sentences of `text` that share most with the rest of it, in their order."""
    return _text(shortened(text_of(params, "text"), count_of(params, "sentences", _MOST_ITEMS)))


def keywords(params: Params) -> StepOutput:
    """Return the `count` most frequent longer words of `text`; of equally frequent ones the first by alphabet."""
    frequency = Counter(_LONG_WORD.findall(text_of(params, "text").lower()))
    ranked = sorted(frequency, key=lambda word: (-frequency[word], word))
    chosen = ranked[: count_of(params, "count", _MOST_ITEMS)]
    return StepOutput(text=", ".join(chosen), code=None, data=list(chosen))


def join(params: Params) -> StepOutput:
    """Return the texts of `parts`, one after the other."""
    return _text(" ".join(part.strip() for part in list_of(params, "parts", str, "texts")))


def report(params: Params) -> StepOutput:
    """Return a short report: `title` over `body`."""
    title, body = text_of(params, "title"), text_of(params, "body")
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


def write(params: Params) -> StepOutput:
    """Return the function called `name`."""
    name = text_of(params, "name")
    if name not in FUNCTIONS:
        raise ParamsError("no such function - at `params.name`")
    return StepOutput(text=None, code=FUNCTIONS[name], data=None)


def tidy(params: Params) -> StepOutput:
    """Return `code` without white space at line ends and with one final newline."""
    lines = [line.rstrip() for line in text_of(params, "code").splitlines()]
    return StepOutput(text=None, code="\n".join(lines).strip("\n") + "\n", data=None)


_WORD: Final = re.compile(r"[a-z]{3,}")
_MOST: Final = 5

PASSAGES: Final[Mapping[str, str]] = tomllib.loads(files(__package__).joinpath("passages.toml").read_text("utf-8"))


def search(params: Params) -> StepOutput:
    """Return the `count` passages that share most words with `query`."""
    wanted = set(_WORD.findall(text_of(params, "query").lower()))
    shared = {title: len(wanted & set(_WORD.findall(f"{title} {text}".lower()))) for title, text in PASSAGES.items()}
    titled = {title: len(wanted & set(_WORD.findall(title))) for title in PASSAGES}
    ranked = sorted(PASSAGES, key=lambda title: (-titled[title], -shared[title], title))
    chosen = ranked[: count_of(params, "count", _MOST)]
    return StepOutput(
        text=" ".join(PASSAGES[title] for title in chosen),
        code=None,
        data=[{"title": title, "text": PASSAGES[title]} for title in chosen],
    )


_MOST_ROWS: Final = 500


def parse_table(params: Params) -> StepOutput:
    """Return the rows of the CSV `text` as objects; what reads as a number is one."""
    table = csv.DictReader(io.StringIO(text_of(params, "text").strip()), restkey="more", restval="")
    try:
        rows = list(islice(table, _MOST_ROWS + 1))
    except csv.Error as error:
        raise ParamsError(f"no table: {error} - at `params.text`") from None
    if len(rows) > _MOST_ROWS:
        raise ParamsError(f"more than {_MOST_ROWS} rows - at `params.text`")
    return _data([{str(key): _value(value) for key, value in row.items()} for row in rows])


def keep(params: Params) -> StepOutput:
    """Return those `rows` whose `field` is `value`."""
    name, value = text_of(params, "field"), params.get("value")
    return _data([row for row in rows_of(params) if row.get(name) == value])


def keep_above(params: Params) -> StepOutput:
    """Return those `rows` whose number in `field` is above `above`."""
    least = _number(params, "above", "params.above")
    name = text_of(params, "field")
    rows = list(enumerate(rows_of(params)))
    return _data([row for i, row in rows if _number(row, name, f"params.rows[{i}]") > least])


def largest(params: Params) -> StepOutput:
    """Return the `count` rows with the largest numbers in `field`, the largest first."""
    name, count = text_of(params, "field"), count_of(params, "count", _MOST_ROWS)
    rows = rows_of(params)
    numbers = [_number(row, name, f"params.rows[{i}]") for i, row in enumerate(rows)]
    ranked = sorted(range(len(rows)), key=lambda i: (-numbers[i], i))
    return _data([rows[i] for i in ranked[:count]])


def column(params: Params) -> StepOutput:
    """Return what is in `field`, row by row."""
    name = text_of(params, "field")
    return _data([row.get(name) for row in rows_of(params)])


def name(params: Params) -> StepOutput:
    """Return the text that is in `field` of the first row, as a text."""
    field, rows = text_of(params, "field"), rows_of(params)
    if not rows:
        raise ParamsError("no row - at `params.rows`")
    value = rows[0].get(field)
    if not isinstance(value, str):
        raise ParamsError(f"must be a text - at `params.rows[0].{printable(field)}`")
    return StepOutput(text=value, code=None, data=None)


def count(params: Params) -> StepOutput:
    """Return how many `rows` there are of each value of the field `by`."""
    by = text_of(params, "by")
    return _data(dict(sorted(Counter(str(row.get(by)) for row in rows_of(params)).items())))


def total(params: Params) -> StepOutput:
    """Return the sums of the field `value` over `rows`, by the field `by`."""
    return _by_group(params, math.fsum)


def average(params: Params) -> StepOutput:
    """Return the means of the field `value` over `rows`, by the field `by`."""
    return _by_group(params, lambda numbers: math.fsum(numbers) / len(numbers))


def _by_group(params: Params, computed: Callable[[Sequence[float]], float]) -> StepOutput:
    by, value = text_of(params, "by"), text_of(params, "value")
    groups: dict[str, list[float]] = {}
    for i, row in enumerate(rows_of(params)):
        groups.setdefault(str(row.get(by)), []).append(_number(row, value, f"params.rows[{i}]"))
    try:
        return _data({group: computed(numbers) for group, numbers in sorted(groups.items())})
    except OverflowError:
        raise ParamsError("the sum is too large - at `params.rows`") from None


def _number(values: Mapping[str, Any], name: str, where: str) -> float:
    number = values.get(name)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ParamsError(f"no number in the field `{printable(name)}` - at `{where}`")
    return number


def _value(text: Any) -> Any:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return text
    return number if math.isfinite(number) else text


def _data(data: Any) -> StepOutput:
    return StepOutput(text=None, code=None, data=data)
