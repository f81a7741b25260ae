"""The benchmark's goals: what each says, how many steps it takes, what it may cost, and its truth."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from goals_written.code import TESTS
from goals_written.data import DATA
from goals_written.oracle import keywords, passages, rows_of, summary
from goals_written.tables import INCIDENTS, MEMO, ORDERS, REVIEW, SALES, STOCK, TRAVEL

_TOPICS: Final = (
    "prompt injection",
    "sandboxing",
    "least privilege",
    "supply chain",
    "tool poisoning",
    "secrets",
    "audit logs",
    "backups",
    "phishing",
)
_TEXT: Final = ("retrieval", "text")
_TABLE: Final = ("transform",)
_BOTH: Final = ("text", "transform")
_ALL: Final = ("text", "code", "retrieval", "transform")


class Spec(NamedTuple):
    """One goal. `budget` in TAO, `latency` in seconds; `allowed` None: all services that are offered."""

    name: str
    kind: str
    steps: int
    goal: str
    reference: dict[str, Any]
    services: Sequence[str]
    budget: float
    latency: float
    allowed: Sequence[str] | None = None


def specs() -> Iterator[Spec]:
    """Yield every goal."""
    yield from _rag()
    yield from _data()
    yield from _agent()
    for name, (number, tests) in zip(TESTS, enumerate(TESTS.values(), start=1), strict=True):
        goal = f'Write the function "{name}". Tidy it.'
        services, allowed = (("code",), None) if number % 2 else (_ALL, ("code",))
        yield Spec(f"code-{name}", "code", 2, goal, {"tests": tests}, services, 0.01 + 0.005 * number, 2.0, allowed)


def _find(*topics: str) -> str:
    found = " ".join(f'Find what there is on "{topic}".' for topic in topics)
    return f"{found} Join them." if len(topics) > 1 else found


def _rag() -> Iterator[Spec]:
    for topics, sentences, budget, latency in (
        (_TOPICS[:1], 2, 0.03, 4.0),
        (_TOPICS[6:7], 1, 0.012, 2.0),
        (_TOPICS[1:3], 3, 0.03, 4.0),
        (_TOPICS[7:9], 2, 0.02, 3.0),
        (_TOPICS[3:6], 4, 0.03, 4.0),
        (_TOPICS[:4], 5, 0.03, 5.0),
        (_TOPICS[4:9], 6, 0.04, 5.0),
        (_TOPICS[1:8], 8, 0.04, 6.0),
        (_TOPICS[:8], 9, 0.04, 8.0),
    ):
        steps = len(topics) + 1 + (len(topics) > 1)
        said = f"{_find(*topics)} Summarise it in {sentences} sentences."
        truth = summary(passages(*topics), sentences)
        services = _TEXT if len(topics) < 4 else _ALL
        yield Spec(f"rag-{len(topics)}-of-{topics[0]}", "rag", steps, said, {"text": truth}, services, budget, latency)
    twice = summary(summary(passages("secrets"), 3), 1)
    said = f"{_find('secrets')} Summarise it in 3 sentences. Summarise it in 1 sentences."
    yield Spec("rag-twice", "rag", 3, said, {"text": twice}, _TEXT, 0.02, 3.0)
    for name, text, sentences in (("memo", MEMO, 2), ("travel", TRAVEL, 3)):
        said = f"Read the text. Summarise it in {sentences} sentences.\n\n{text}"
        yield Spec(f"rag-{name}", "rag", 2, said, {"text": summary(text, sentences)}, ("text",), 0.015, 2.0)
    said = f"Read the text. {_find('phishing')} Join them. Summarise it in 3 sentences.\n\n{REVIEW}"
    truth = summary(f"{REVIEW} {passages('phishing')}", 3)
    yield Spec("rag-review", "rag", 4, said, {"text": truth}, _ALL, 0.03, 4.0, ("retrieval", "text"))


def _data() -> Iterator[Spec]:
    for data in DATA:
        rows = rows_of(data.table, data.sql)
        goal = f"Read the table. {data.orders}\n\n{data.table}"
        steps = 1 + len(re.findall(r"\.(?: |$)", data.orders))
        services = _TABLE if steps < 4 else _BOTH
        yield Spec(f"data-{data.name}", "data_transform", steps, goal, data.form(rows), services, data.budget, 3.0)


def _agent() -> Iterator[Spec]:
    def checked(*criteria: tuple[str, str]) -> dict[str, Any]:
        return {"checklist": [{"type": kind, "value": value} for kind, value in criteria]}

    def spec(name: str, steps: int, goal: str, *criteria: tuple[str, str], services: Sequence[str] = _TEXT) -> Spec:
        return Spec(f"agent-{name}", "agent", steps, goal, checked(*criteria), services, 0.008 + 0.004 * steps, 4.0)

    yield spec(
        "poisoned-tools",
        3,
        'Find what there is on "tool poisoning". Summarise it in 2 sentences. Report it under "Poisoned tools".',
        ("keyword", "Poisoned tools"),
        ("keyword", "description"),
        ("regex", "^# "),
        ("regex", r"\.\s*$"),
    )
    yield spec(
        "keywords",
        3,
        'Find what there is on "secrets". List its 5 keywords. Report it under "Keywords".',
        ("keyword", "# Keywords"),
        ("keyword", keywords(passages("secrets"), 5)[0]),
        ("regex", r"\w+, \w+, \w+, \w+, \w+"),
    )
    yield spec(
        "one-sentence",
        3,
        'Find what there is on "sandboxing". Summarise it in 1 sentences. Report it under "Sandboxes".',
        ("keyword", "# Sandboxes"),
        ("keyword", summary(passages("sandboxing"), 1)),
    )
    both = passages("backups", "audit logs")
    yield spec(
        "two-topics",
        5,
        f'{_find("backups", "audit logs")} List its 7 keywords. Report it under "What to keep".',
        ("keyword", "What to keep"),
        ("keyword", ", ".join(keywords(both, 7))),
        ("regex", "^# What"),
    )
    three = passages("phishing", "secrets", "backups")
    yield spec(
        "three-topics",
        6,
        f'{_find("phishing", "secrets", "backups")} Summarise it in 3 sentences. Report it under "Three habits".',
        ("keyword", "# Three habits"),
        ("keyword", summary(three, 3)),
        ("regex", r"(?s)^#.*\.\s*$"),
    )
    yield spec(
        "review",
        3,
        f'Read the text. List its 4 keywords. Report it under "Reviews".\n\n{REVIEW}',
        ("keyword", "# Reviews"),
        ("keyword", ", ".join(keywords(REVIEW, 4))),
        services=("text",),
    )
    totals = rows_of(SALES, "SELECT region, sum(amount) FROM t WHERE status = 'open' GROUP BY 1 ORDER BY 1")
    yield spec(
        "open-sales",
        4,
        f'Read the table. Keep the rows whose "status" is "open". Total the "amount" by "region". '
        f'Report it under "Open".\n\n{SALES}',
        ("keyword", "# Open"),
        *(("keyword", f'"{region}":{amount:g}') for region, amount in totals),
        services=_BOTH,
    )
    counted = rows_of(INCIDENTS, "SELECT severity, count(*) FROM t GROUP BY 1 ORDER BY 1")
    yield spec(
        "severities",
        2,
        f'Read the table. Count the rows by "severity".\n\n{INCIDENTS}',
        *(("json_key", severity) for severity, _ in counted),
        *(("regex", f'"{severity}":{count}\\b') for severity, count in counted),
        services=_TABLE,
    )
    paid = rows_of(ORDERS, "SELECT customer FROM t WHERE status = 'paid' ORDER BY amount DESC LIMIT 2")
    yield spec(
        "best-two",
        5,
        f'Read the table. Keep the rows whose "status" is "paid". Take the 2 rows with the largest "amount". '
        f'List the "customer". Report it under "Best customers".\n\n{ORDERS}',
        ("keyword", "Best customers"),
        ("regex", f'"{paid[0][0]}","{paid[1][0]}"'),
        services=_ALL,
    )
    shelves = rows_of(STOCK, "SELECT shelf, avg(price) FROM t WHERE pieces > 50 GROUP BY 1 ORDER BY 1")
    yield spec(
        "shelves",
        3,
        f'Read the table. Keep the rows whose "pieces" is above 50. Average the "price" by "shelf".\n\n{STOCK}',
        *(("json_key", shelf) for shelf, _ in shelves),
        *(("keyword", f'"{shelf}":{price}') for shelf, price in shelves),
        services=_BOTH,
    )
