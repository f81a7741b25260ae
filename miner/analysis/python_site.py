"""A call as the rules about sinks look at it, and what they object to."""

import ast
from typing import Final, NamedTuple

from miner.analysis.python_flow import Flow, PassedCall
from miner.analysis.python_value import DECODED, FETCHED, Value
from validator.protocol.sssa import Category, Severity

PLANTED: Final = FETCHED | DECODED  # what somebody else may have put there


class Hit(NamedTuple):
    """A rule's objection."""

    category: Category
    severity: Severity
    text: str


def power(severity: Severity, text: str) -> Hit:
    """Return the objection that code can do more than it should."""
    return Hit("excessive_capability", severity, text)


class Site(NamedTuple):
    """A call as the rules look at it.

    Attributes:
        names: dotted names that the function may have.
        one: the call, or one that it passes on.
        node: where it stands.
        passed: whether it is passed on.
    """

    names: tuple[str, ...]
    one: PassedCall
    node: ast.Call
    flow: Flow
    passed: bool

    def is_any(self, known: frozenset[str]) -> str:
        """Return a name of the function that is known."""
        return next((name for name in self.names if name in known), "")

    def first(self) -> Value:
        """Return the first argument, whatever it is called."""
        return self.one.arguments.at(0, "args", "source", "object", "cmd", "command", "name", "path")
