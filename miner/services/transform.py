"""The transform service: tables in, tables and totals out."""

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from miner.services.params import Params, ParamsError, count_of, rows_of, text_of
from validator.protocol.text import printable
from validator.protocol.workflow_run import StepOutput

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
    return _data([row for row in rows_of(params, "rows") if row.get(name) == value])


def keep_above(params: Params) -> StepOutput:
    """Return those `rows` whose number in `field` is above `above`."""
    least = _number(params, "above", "params.above")
    name = text_of(params, "field")
    rows = list(enumerate(rows_of(params, "rows")))
    return _data([row for i, row in rows if _number(row, name, f"params.rows[{i}]") > least])


def largest(params: Params) -> StepOutput:
    """Return the `count` rows with the largest numbers in `field`, the largest first."""
    name, count = text_of(params, "field"), count_of(params, "count", _MOST_ROWS)
    rows = rows_of(params, "rows")
    numbers = [_number(row, name, f"params.rows[{i}]") for i, row in enumerate(rows)]
    ranked = sorted(range(len(rows)), key=lambda i: (-numbers[i], i))
    return _data([rows[i] for i in ranked[:count]])


def column(params: Params) -> StepOutput:
    """Return what stands in `field`, row by row."""
    name = text_of(params, "field")
    return _data([row.get(name) for row in rows_of(params, "rows")])


def name(params: Params) -> StepOutput:
    """Return the text that stands in `field` of the first row, as a text."""
    field, rows = text_of(params, "field"), rows_of(params, "rows")
    if not rows:
        raise ParamsError("no row - at `params.rows`")
    value = rows[0].get(field)
    if not isinstance(value, str):
        raise ParamsError(f"must be a text - at `params.rows[0].{printable(field)}`")
    return StepOutput(text=value, code=None, data=None)


def count(params: Params) -> StepOutput:
    """Return how many `rows` there are of each value of the field `by`."""
    by = text_of(params, "by")
    return _data(dict(sorted(Counter(str(row.get(by)) for row in rows_of(params, "rows")).items())))


def total(params: Params) -> StepOutput:
    """Return the sums of the field `value` over `rows`, by the field `by`."""
    return _by_group(params, math.fsum)


def average(params: Params) -> StepOutput:
    """Return the means of the field `value` over `rows`, by the field `by`."""
    return _by_group(params, lambda numbers: math.fsum(numbers) / len(numbers))


def _by_group(params: Params, computed: Callable[[Sequence[float]], float]) -> StepOutput:
    by, value = text_of(params, "by"), text_of(params, "value")
    groups: dict[str, list[float]] = {}
    for i, row in enumerate(rows_of(params, "rows")):
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
