"""What the store knows of a file with old rounds."""

from datetime import datetime
from typing import NamedTuple


class ArchivedSpan(NamedTuple):
    """An archive file that the store knows.

    Attributes:
        first_round, last_round: what it holds; every round from the one to the other.
        file: its name, without a folder.
        sha256: hex, of its manifest.
        bytes: its size.
        removed_through: the rows of this round and those before are in files alone; those after in the store as well.
    """

    first_round: int
    last_round: int
    file: str
    sha256: str
    bytes: int
    removed_through: int
    archived_at: datetime
