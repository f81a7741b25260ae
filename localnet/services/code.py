"""The code service: functions from a small written library."""

from typing import Final

from localnet.services.params import Params, ParamsError, text_of
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
