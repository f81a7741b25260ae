"""Weights: whether they are locked, and what became of the newest ones."""

import asyncio
from collections.abc import Sequence
from typing import Final

from validator.health.doctor.finding import Check, Finding, fault, note, ok, unknown, warning
from validator.health.doctor.site import LIMITS, Site
from validator.protocol.text import printable
from validator.protocol.times import format_time
from validator.store import open_store
from validator.store.errors import StoreError, StoreUrlError
from validator.store.records import WeightsRecord
from validator.weights.lock import CLEAR, read_stop_file, stop_file_of

_UNLOCK: Final = f"stop the other program that uses this hotkey, wait for its last weights, then: {CLEAR}"


async def _look(site: Site) -> Sequence[Finding]:
    try:
        file = stop_file_of(site.settings)
    except StoreUrlError:
        return [unknown("weights", "needs store.url, which cannot be used")]
    seen = await asyncio.to_thread(read_stop_file, file)
    found = [] if seen is None else [fault("weights", f"locked by {printable(str(file))}: {seen}", _UNLOCK)]
    try:
        async with open_store(site.settings.store.url.reveal()) as store, store.read() as tx:
            newest = await tx.weights.listing(1)
            lock = await tx.weight_guard.locked() if await tx.weight_guard.present() else None
    except StoreError:
        return [*found, unknown("weights", "needs the store, which cannot be read or has no tables yet")]
    if lock is not None and seen is None:
        found.append(fault("weights", f"locked in the store: {lock.seen}", _UNLOCK))
    return [*found, _newest(newest[0]) if newest else note("weights", "none were sent from this store yet")]


def _newest(record: WeightsRecord) -> Finding:
    seen = f"the newest, of epoch {record.epoch}: {record.state}, {format_time(record.updated_at)}"
    if record.state == "rejected":
        said = f"{seen}: {record.message or 'no word why'}"
        return warning("weights", said, "`validator weights plan` says what stands in the way")
    return ok("weights", seen)


CHECK: Final = Check(
    "weights",
    "Whether weights are locked, and what became of the newest ones.",
    "look at the database",
    LIMITS.database,
    _look,
)
