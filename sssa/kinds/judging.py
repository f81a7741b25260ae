"""Values in and out of every kind's gates: `Expected`, `Judged`. Worker processes load it, so it imports little."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar

from sssa.protocol.answer import Role
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Packed, Rejection
from sssa.protocol.round import RoundInput, RoundTask
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.strict_json import DuplicateKeyError, JsonError, TooDeepError, TooLargeError

Key = tuple[str, str]
"""(task_id, hotkey): a dispatch within its round."""

T_co = TypeVar("T_co", bound=RoundTask, covariant=True)
"""The tasks of a kind."""

PARSE_REASONS: Final[Mapping[type[JsonError], Reason]] = {
    TooLargeError: Reason.PARSE_TOO_LARGE,
    TooDeepError: Reason.PARSE_TOO_DEEP,
    DuplicateKeyError: Reason.PARSE_DUPLICATE_KEY,
}
"""Reasons of gate 2 for a body that is no document, by what is wrong with it; else `parse_schema`."""


@dataclass(frozen=True, slots=True)
class Expected(Generic[T_co]):
    """A dispatch, as the gates need it.

    Attributes:
        image: what runs the bundles of runtime types.
    """

    task: T_co
    hotkey: str
    role: Role
    image: RuntimeImage
    scoring_version: str


def expected_of(frozen: RoundInput, task: RoundTask, hotkey: str, role: Role) -> Expected[RoundTask]:
    """Return the dispatch that the gates compare the answer of `hotkey` with."""
    return Expected(task, hotkey, role, frozen.runtime_image, frozen.scoring_version)


@dataclass(frozen=True, slots=True)
class Judged:
    """Result of one dispatch. A kind that needs more of an answer until its round is scored has a subclass.

    Attributes:
        result: what passed, as far as one answer alone decides it, or a rejection.
        detail: one printable line for the operator, perhaps empty.
        stored: whether the store has it already.
    """

    result: Packed | Rejection
    reason: Reason
    detail: str = ""
    stored: bool = False


class Accepted(Protocol):
    """An answer that passed its gates and has to be run before it is anything: once, by its kind's `Runner`."""

    def as_ran(self, expected: Expected[Any], seconds: float, stored: Packed | Rejection | None) -> Judged:
        """Return the judgement with the run that is stored: a run cannot be had again."""


def reject_answer(expected: Expected[RoundTask], reason: Reason, seconds: float, detail: str = "") -> Judged:
    """Return the judgement of a body that failed a gate."""
    return replace(reject(expected, reason, seconds, detail), stored=False)


def reject(expected: Expected[RoundTask], reason: Reason, seconds: float | None, detail: str = "") -> Judged:
    """Return the judgement of a dispatch that the store has as failed: without a body, or too costly to judge."""
    rejection = Rejection(expected.task.task_id, expected.hotkey, expected.role, reason, seconds)
    return Judged(rejection, reason, detail, stored=True)
