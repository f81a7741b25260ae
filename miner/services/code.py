"""The code service: functions from a small written library."""

from typing import Final

from miner.services.params import Params, ParamsError, text_of
from validator.protocol.workflow_run import StepOutput

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
