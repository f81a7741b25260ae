"""Every table of the store. A change here needs a migration beside it (a test compares the two).

State is keyed by hotkey; a dispatch by (round_id, task_id, hotkey). Blobs are canonical bytes, compressed
(`codec`), unless the column says otherwise.
"""

from validator.store.tables.answers import answers, dispatches, sssas, workflow_runs
from validator.store.tables.archived import archives
from validator.store.tables.base import metadata
from validator.store.tables.chain import store_chain
from validator.store.tables.conduct import acts, flags
from validator.store.tables.drains import drains
from validator.store.tables.log import receipts, records, weight_links
from validator.store.tables.rounds import (
    bundles,
    capabilities,
    given_tasks,
    groups,
    miners,
    retired_tasks,
    rounds,
    salts,
    stalls,
    tasks,
)
from validator.store.tables.state import state_copies, state_late, state_miners, state_rounds, state_shared
from validator.store.tables.waiting import waiting_work
from validator.store.tables.weights import weight_locks, weight_marks, weight_submissions, weight_vectors

__all__ = [
    "acts",
    "answers",
    "archives",
    "bundles",
    "capabilities",
    "dispatches",
    "drains",
    "flags",
    "given_tasks",
    "groups",
    "metadata",
    "miners",
    "receipts",
    "records",
    "retired_tasks",
    "rounds",
    "salts",
    "sssas",
    "stalls",
    "state_copies",
    "state_late",
    "state_miners",
    "state_rounds",
    "state_shared",
    "store_chain",
    "tasks",
    "waiting_work",
    "weight_links",
    "weight_locks",
    "weight_marks",
    "weight_submissions",
    "weight_vectors",
    "workflow_runs",
]
