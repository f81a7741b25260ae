"""Making the checks: all at once, each with a time limit of its own, none waiting for another's end."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from validator.health.doctor.finding import Check, Examined, Finding, NotLookedAtError, fault, unknown
from validator.health.doctor.site import Site

_CLOSE_S: Final = 1.0


async def examine(site: Site, checks: Iterable[Check]) -> tuple[Examined, ...]:
    """Return what the checks find, in their order; takes at most `site.limits.whole` seconds and one more.

    A check that comes to no end is a fault of what it looks at; one that raises is an error of ours, and told as such.
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
    except NotLookedAtError as error:
        findings = [unknown(check.name, error.detail)]
    except Exception as error:  # noqa: BLE001 - whatever it is, the other checks are worth having
        seen = f"this check failed, an error of ours: {type(error).__name__}: {error}"
        findings = [fault(check.name, seen, f"report it; meanwhile: {check.advice}")]
    return Examined(check.name, tuple(findings), round(time.monotonic() - began, 3), cut_off)
