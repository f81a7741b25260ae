"""The transform service: tables in, tables and totals out."""

import csv
import io
import math
from itertools import islice
from typing import Any, Final

from localnet.services.params import Params, ParamsError, rows_of, text_of
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


def total(params: Params) -> StepOutput:
    """Return the sums of the field `value` over `rows`, by the field `by`."""
    by, value = text_of(params, "by"), text_of(params, "value")
    groups: dict[str, list[float]] = {}
    for i, row in enumerate(rows_of(params, "rows")):
        number = row.get(value)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ParamsError(f"no number in the field `{value}` - at `params.rows[{i}]`")
        groups.setdefault(str(row.get(by)), []).append(number)
    try:
        return _data({group: math.fsum(numbers) for group, numbers in sorted(groups.items())})
    except OverflowError:
        raise ParamsError("the sum is too large - at `params.rows`") from None


def _value(text: Any) -> Any:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return text
    return number if math.isfinite(number) else text


def _data(data: Any) -> StepOutput:
    return StepOutput(text=None, code=None, data=data)
