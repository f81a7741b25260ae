"""What the store does not do."""

from typing import Final

from validator.conditions.condition import Condition

STORE: Final = (
    Condition(
        "store_away",
        "unhealthy",
        "The database does not answer.",
        "Look at the database; what has arrived is kept and written once it is back, no weights are sent meanwhile.",
    ),
    Condition(
        "store_no_write",
        "unhealthy",
        "The store takes no write.",
        "Free space on its disk, or look at its rights and its server; what has arrived is kept and written then.",
    ),
    Condition(
        "store_damaged",
        "unhealthy",
        "The store is damaged, or its path no longer leads to the file that is open; the validator stops.",
        "Put a moved file back with its -wal and -shm, else restore the newest backup.",
    ),
)
