"""Removal of raw bodies and bundles after their retention; records stay. Called by the daemon and `db prune`."""

from datetime import datetime
from typing import Final

from validator.store.engine import Store
from validator.store.rows import Pruned

_ROWS: Final = 200  # of each kind in a transaction


async def prune(store: Store, *, answers_before: datetime, bundles_before: datetime) -> Pruned:
    """Remove raw bodies and bundles stored before these moments; return how many rows went. A validator may be running.

    What open rounds and waiting executions need stays; what was removed until an error stays removed.
    """
    answers = bundles = 0
    while True:
        async with store.begin() as tx:
            pruned = await tx.retention.prune(answers_before=answers_before, bundles_before=bundles_before, limit=_ROWS)
        answers, bundles = answers + pruned.answers, bundles + pruned.bundles
        if not any(pruned):
            return Pruned(answers, bundles)
