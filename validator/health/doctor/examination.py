"""Frame of the doctor: checks and findings, the site that checks examine, and their concurrent execution."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast

from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.cancellation import ended
from validator.health.catalogue import CATALOGUE
from validator.settings.model import Settings
from validator.workers.interface import Workers

T = TypeVar("T")


class Limits(NamedTuple):
    """Time limits of an examination, seconds.

    Attributes:
        wallet: reading the hotkey's file, and unlocking it.
        endpoint: connecting to an endpoint, and each of its answers.
        chain: a first look at the subnet: connecting, and half a dozen answers.
        database: connecting, and each statement.
        miners: all miners together.
        fresh_block: waiting for blocks that tell whether the clock is right.
    """

    whole: float = 26.0
    wallet: float = 6.0
    endpoint: float = 8.0
    chain: float = 18.0
    database: float = 12.0
    engine: float = 6.0
    miners: float = 9.0
    fresh_block: float = 14.0


LIMITS = Limits()


@dataclass(frozen=True)
class Site:
    """One validator's settings, the file where they were read, and its surroundings.

    `signer` is None where the hotkey cannot be read, which the check of the wallet tells; `workers` makes a pool of
    processes where what strangers send is judged.
    """

    settings: Settings
    file: Path
    signer: Signer | None
    environ: Mapping[str, str]
    clock: Clock
    workers: Callable[[], Workers]
    limits: Limits = LIMITS
    _looks: dict[object, asyncio.Task[Any]] = field(default_factory=dict)

    async def once(self, look: Callable[["Site"], Coroutine[Any, Any, T]]) -> T:
        """Return the result of `look` on this site, or raise its error; `look` runs once."""
        if look not in self._looks:
            self._looks[look] = asyncio.create_task(look(self))
        return cast("T", await asyncio.shield(self._looks[look]))

    async def close(self) -> None:
        """Cancel the looks that have not ended."""
        await ended(self._looks.values())


Status = Literal["ok", "note", "unknown", "warning", "fault"]
"""ok: as it should be. note: so it is, and need not be otherwise. unknown: something else, which has a finding of its
own, kept it from being looked at. warning: it runs, and somebody should look. fault: it cannot do its work."""

_MOST: Final = 400  # code points of a line


class Finding(NamedTuple):
    """Result of one examination: subject, observation with its numbers, and advice.

    Both are one harmless line; the advice is empty where there is nothing to do. `condition` is the one of the
    catalogue that it would be in a running validator; empty where there is none.
    """

    about: str
    status: Status
    seen: str
    advice: str = ""
    condition: str = ""


class Examined(NamedTuple):
    """One check that ran: its name, its findings, and its duration in seconds.

    `cut_off` says that it did not end in its time.
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
        advice: what to do if it does not end, or ends in an error of ours.
        run: looks; whatever is wrong is a finding, an exception an error of ours.
    """

    name: str
    advice: str
    limit_s: float
    run: Callable[[Site], Awaitable[Sequence[Finding]]]


class NotSeenError(ValidatorError):
    """Something else kept it from being looked at."""


def check(advice: str, limit_s: float) -> Callable[[Callable[[Site], Awaitable[Sequence[Finding]]]], Check]:
    """Return a decorator that makes a check of `check_NAME`."""

    def made(run: Any) -> Check:
        return Check(run.__name__.removeprefix("check_"), advice, limit_s, run)

    return made


def _finding(status: Status, about: str, seen: str, advice: str = "", condition: str = "") -> Finding:
    advice = advice or (CATALOGUE[condition].advice if condition else "")
    return Finding(about, status, printable(seen, _MOST), printable(advice, _MOST), condition)


# Each takes what a finding is about, what was seen, and what to do: a text, or the condition that has it.
ok = partial(_finding, "ok")
note = partial(_finding, "note")
unknown = partial(_finding, "unknown")
warning = partial(_finding, "warning")
fault = partial(_finding, "fault")
_CLOSE_S: Final = 1.0


async def examine(site: Site, checks: Iterable[Check]) -> tuple[Examined, ...]:
    """Return the checks' findings, in their order; takes at most `site.limits.whole` + 1 seconds.

    A check that does not end is a fault of what it looks at; one that raises is an error of ours, and reported as such.
    """
    began = time.monotonic()
    try:
        return tuple(await asyncio.gather(*(_made(check, site, began) for check in checks)))
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(site.close(), _CLOSE_S)


async def _made(check: Check, site: Site, began: float) -> Examined:
    limit = min(check.limit_s, site.limits.whole)
    findings: Sequence[Finding] = ()
    cut_off = False
    try:
        async with asyncio.timeout(limit):
            findings = await check.run(site)
    except TimeoutError:
        cut_off = True
        findings = [fault(check.name, f"no end within {limit:g} s", check.advice)]
    except NotSeenError as error:
        findings = [unknown(check.name, error.detail)]
    except Exception as error:  # noqa: BLE001 - whatever it is, the other checks are worth having
        seen = f"this check failed, an error of ours: {type(error).__name__}: {error}"
        findings = [fault(check.name, seen, f"report it; meanwhile: {check.advice}")]
    return Examined(check.name, tuple(findings), round(time.monotonic() - began, 3), cut_off)
