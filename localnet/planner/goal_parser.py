"""A parser of a goal's sentences into the steps it takes. Pure.

The local network's goals are written in their own small English, one order per sentence, so that a planner without
any model can follow them. "It" is what came before; "them" is everything that was found so far.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from sssa.protocol.errors import ValidatorError


class UnreadableGoalError(ValidatorError):
    """The goal is not written in the local network's English."""


class Step(NamedTuple):
    """One step.

    Attributes:
        id: its name in the plan.
        service, action: who does it.
        params: with references to earlier steps.
        after: ids of the steps it needs.
    """

    id: str
    service: str
    action: str
    params: dict[str, Any]
    after: tuple[str, ...] = ()


_MAKE_DATA: Final = {"parse_table", "keep", "keep_above", "largest", "column", "count", "total", "average"}
_END: Final = re.compile(r"\.(?:\s+|$)")


class _Reader:
    """Steps so far, what "it" is, and what "them" are."""

    def __init__(self, given: str) -> None:
        self.steps: list[Step] = []
        self.collected: list[str] = []
        self._given = given

    @property
    def last(self) -> str:
        if not self.steps:
            raise UnreadableGoalError("the first sentence speaks of something before it")
        return self.steps[-1].id

    def find(self, subject: str) -> None:
        self.collected.append(self._add("retrieval", "search", {"query": subject, "count": 1}))

    def join(self) -> None:
        if not self.collected:
            raise UnreadableGoalError("there is nothing to join")
        parts = [_output(step, "text") for step in self.collected]
        self._add("text", "join", {"parts": parts}, *self.collected)

    def summarise(self, sentences: str) -> None:
        last = self.last
        self._add("text", "summarise", {"text": _output(last, "text"), "sentences": int(sentences)}, last)

    def keywords(self, count: str) -> None:
        last = self.last
        self._add("text", "keywords", {"text": _output(last, "text"), "count": int(count)}, last)

    def report(self, title: str) -> None:
        last = self.steps[-1].action if self.steps else ""
        # Within a longer string data is written as JSON; alone it would stay data, which is no body of a report.
        body = f"Found: {_output(self.last, 'data')}" if last in _MAKE_DATA else _output(self.last, "text")
        self._add("text", "report", {"title": title, "body": body}, self.last)

    def read_text(self) -> None:
        self.collected.append(self._add("text", "join", {"parts": [self._given]}))

    def read(self) -> None:
        self._add("transform", "parse_table", {"text": self._given})

    def write(self, name: str) -> None:
        self._add("code", "write", {"name": name})

    def tidy(self) -> None:
        last = self.last
        self._add("code", "tidy", {"code": _output(last, "code")}, last)

    def of_rows(self, action: str, params: dict[str, Any]) -> None:
        last = self.last
        self._add("transform", action, {"rows": _output(last, "data"), **params}, last)

    def _add(self, service: str, action: str, params: dict[str, Any], *after: str) -> str:
        step = Step(f"{action}-{len(self.steps) + 1}", service, action, params, after)
        self.steps.append(step)
        return step.id


def _rows(action: str, **read: Callable[[str], Any]) -> Callable[..., None]:
    """Return an order about the rows that came before; `read` names what the sentence says, and makes values of it."""

    def order(reader: _Reader, *texts: str) -> None:
        reader.of_rows(action, {name: read[name](text) for name, text in zip(read, texts, strict=True)})

    return order


_ORDERS: Final[tuple[tuple[str, Callable[..., None]], ...]] = (
    (r'find what there is on "([^"]+)"', _Reader.find),
    (r"join them", _Reader.join),
    (r"summarise it in ([1-9]) sentences", _Reader.summarise),
    (r"list its ([1-9]) keywords", _Reader.keywords),
    (r'report it under "([^"]+)"', _Reader.report),
    (r"read the text", _Reader.read_text),
    (r"read the table", _Reader.read),
    (r'keep the rows whose "([^"]+)" is "([^"]+)"', _rows("keep", field=str, value=str)),
    (
        r'keep the rows whose "([^"]+)" is above ([0-9]{1,9}(?:\.[0-9]{1,9})?)',
        _rows("keep_above", field=str, above=float),
    ),
    (r'take the ([1-9]) rows with the largest "([^"]+)"', _rows("largest", count=int, field=str)),
    (r'list the "([^"]+)"', _rows("column", field=str)),
    (r'name the "([^"]+)"', _rows("name", field=str)),
    (r'count the rows by "([^"]+)"', _rows("count", by=str)),
    (r'average the "([^"]+)" by "([^"]+)"', _rows("average", value=str, by=str)),
    (r'total the "([^"]+)" by "([^"]+)"', _rows("total", value=str, by=str)),
    (r'write the function "([^"]+)"', _Reader.write),
    (r"tidy it", _Reader.tidy),
)


def read_goal(goal: str) -> list[Step]:
    """Return the steps that the goal asks for, in its order.

    Raises:
        UnreadableGoalError: a sentence that is no order.
    """
    text, _, given = goal.partition("\n\n")
    reader = _Reader(given)
    for sentence in _sentences(text):
        for pattern, order in _ORDERS:
            match = re.fullmatch(pattern, sentence, re.IGNORECASE)
            if match is not None:
                order(reader, *match.groups())
                break
        else:
            raise UnreadableGoalError(f"{sentence!r}")
    if not reader.steps:
        raise UnreadableGoalError("no sentence")
    return reader.steps


def _sentences(text: str) -> Iterator[str]:
    return (sentence.strip() for sentence in _END.split(text) if sentence.strip())


def _output(step: str, kind: str) -> str:
    return f"${{{step}.output.{kind}}}"
