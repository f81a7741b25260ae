"""Goals over tables: what is asked for in the local network's English, and the same in SQL."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from goals_written.tables import INCIDENTS, ORDERS, READINGS, SALES, STAFF, STOCK

Rows = Sequence[tuple[Any, ...]]


def by_group(rows: Rows) -> dict[str, Any]:
    """Return a reference of one key for each row."""
    return {"expected": dict(rows)}


def listed(rows: Rows) -> dict[str, Any]:
    """Return a reference of the rows' only values, in their order."""
    return {"expected": [value for (value,) in rows]}


def named(rows: Rows) -> dict[str, Any]:
    """Return a reference that is the text of the only row."""
    ((text,),) = rows
    return {"expected_text": text}


class Data(NamedTuple):
    """One goal: orders behind `Read the table.`, SQL over `t`, how its rows become a reference, TAO."""

    name: str
    table: str
    orders: str
    sql: str
    form: Callable[[Rows], dict[str, Any]]
    budget: float


DATA: Final = (
    Data(
        "totals",
        SALES,
        'Total the "amount" by "region".',
        "SELECT region, sum(amount) FROM t GROUP BY 1",
        by_group,
        0.03,
    ),
    Data(
        "paid-totals",
        SALES,
        'Keep the rows whose "status" is "paid". Total the "amount" by "region".',
        "SELECT region, sum(amount) FROM t WHERE status = 'paid' GROUP BY 1",
        by_group,
        0.03,
    ),
    Data(
        "states",
        ORDERS,
        'Count the rows by "status".',
        "SELECT status, count(*) FROM t GROUP BY 1",
        by_group,
        0.01,
    ),
    Data(
        "hours",
        STAFF,
        'Average the "hours" by "team".',
        "SELECT team, avg(hours) FROM t GROUP BY 1",
        by_group,
        0.01,
    ),
    Data(
        "large-orders",
        ORDERS,
        'Keep the rows whose "amount" is above 100. Count the rows by "region".',
        "SELECT region, count(*) FROM t WHERE amount > 100 GROUP BY 1",
        by_group,
        0.01,
    ),
    Data(
        "best-customers",
        ORDERS,
        'Take the 3 rows with the largest "amount". List the "customer".',
        "SELECT customer FROM t ORDER BY amount DESC LIMIT 3",
        listed,
        0.01,
    ),
    Data(
        "services",
        INCIDENTS,
        'List the "service".',
        "SELECT service FROM t",
        listed,
        0.008,
    ),
    Data(
        "longest-incident",
        INCIDENTS,
        'Take the 1 rows with the largest "minutes". Name the "id".',
        "SELECT id FROM t ORDER BY minutes DESC LIMIT 1",
        named,
        0.01,
    ),
    Data(
        "longest-closed-login",
        INCIDENTS,
        'Keep the rows whose "state" is "closed". Keep the rows whose "service" is "login". Take the 1 rows with the '
        'largest "minutes". Name the "severity".',
        "SELECT severity FROM t WHERE state = 'closed' AND service = 'login' ORDER BY minutes DESC LIMIT 1",
        named,
        0.02,
    ),
    Data(
        "dearest-part",
        STOCK,
        'Keep the rows whose "pieces" is above 30. Take the 1 rows with the largest "price". Name the "part".',
        "SELECT part FROM t WHERE pieces > 30 ORDER BY price DESC LIMIT 1",
        named,
        0.02,
    ),
    Data(
        "severe-minutes",
        INCIDENTS,
        'Keep the rows whose "severity" is "high". Total the "minutes" by "service".',
        "SELECT service, sum(minutes) FROM t WHERE severity = 'high' GROUP BY 1",
        by_group,
        0.012,
    ),
    Data(
        "dear-shelves",
        STOCK,
        'Keep the rows whose "price" is above 0.5. Keep the rows whose "pieces" is above 10. Average the "price" by '
        '"shelf".',
        "SELECT shelf, avg(price) FROM t WHERE price > 0.5 AND pieces > 10 GROUP BY 1",
        by_group,
        0.015,
    ),
    Data(
        "readings",
        READINGS,
        'Total the "value" by "place".',
        "SELECT place, sum(value) FROM t GROUP BY 1",
        by_group,
        0.01,
    ),
    Data(
        "late-sensors",
        READINGS,
        'Keep the rows whose "state" is "late". Take the 5 rows with the largest "value". List the "sensor".',
        "SELECT sensor FROM t WHERE state = 'late' ORDER BY value DESC LIMIT 5",
        listed,
        0.02,
    ),
    Data(
        "roof",
        READINGS,
        'Keep the rows whose "place" is "roof". Keep the rows whose "state" is "ok". Keep the rows whose "value" is '
        'above 20. Count the rows by "sensor".',
        "SELECT sensor, count(*) FROM t WHERE place = 'roof' AND state = 'ok' AND value > 20 GROUP BY 1",
        by_group,
        0.02,
    ),
    Data(
        "busiest-of-a-site",
        STAFF,
        'Keep the rows whose "site" is "Oslo". Take the 1 rows with the largest "hours". Name the "name".',
        "SELECT name FROM t WHERE site = 'Oslo' ORDER BY hours DESC LIMIT 1",
        named,
        0.015,
    ),
)
