"""What was found, and what a check is."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from validator.health.doctor.site import Site
from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable

Status = Literal["ok", "note", "unknown", "warning", "fault"]
"""ok: as it should be. note: so it is, and need not be otherwise. unknown: something else, which has a finding of its
own, kept it from being looked at. warning: it runs, and somebody should look. fault: it cannot do its work."""

_SEEN: Final = 400
_ADVICE: Final = 400


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        about: what, in a word or two.
        status: how it is.
        seen: one harmless line: what was seen, with the numbers behind it.
        advice: one harmless line: what to do; empty where there is nothing to do.
    """

    about: str
    status: Status
    seen: str
    advice: str = ""


class Examined(NamedTuple):
    """One check that was made: its name, what it found, and how many seconds it took.

    `cut_off` says that it came to no end in its time.
    """

    check: str
    findings: tuple[Finding, ...]
    seconds: float
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at.

    Attributes:
        name: one word, by which an operator asks for this check alone.
        meaning: one sentence: what is looked at.
        advice: what to do where it comes to no end, or ends in an error of ours.
        limit_s: how long it may take, seconds.
        run: looks; whatever is wrong is a finding, an exception an error of ours.
    """

    name: str
    meaning: str
    advice: str
    limit_s: float
    run: Callable[[Site], Awaitable[Sequence[Finding]]]


class NotLookedAtError(ValidatorError):
    """Something else kept it from being looked at."""


def ok(about: str, seen: str) -> Finding:
    """Return a finding that all is well."""
    return _made(about, "ok", seen, "")


def note(about: str, seen: str, advice: str = "") -> Finding:
    """Return a finding that an operator may want to know of."""
    return _made(about, "note", seen, advice)


def unknown(about: str, why: str) -> Finding:
    """Return that it could not be looked at, and why."""
    return _made(about, "unknown", why, "")


def warning(about: str, seen: str, advice: str) -> Finding:
    """Return something that somebody should look at."""
    return _made(about, "warning", seen, advice)


def fault(about: str, seen: str, advice: str) -> Finding:
    """Return something that keeps the validator from its work."""
    return _made(about, "fault", seen, advice)


def _made(about: str, status: Status, seen: str, advice: str) -> Finding:
    return Finding(about, status, printable(seen, _SEEN), printable(advice, _ADVICE))
