"""Make a dictionary for stored documents from stores of the local network: STORE… FILE NUMBER.

What tells one network from another (keys, digests, signatures, encoded bundles) is replaced by other such names in each
document: a dictionary holds what all documents share, and its room is small.
"""

import random
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import zstandard

from validator.store.codec import expanded

SIZE: Final = 32 * 1024
LONGEST: Final = 4096  # of a document's bytes that are looked at: no kind must have most of the room
DOCUMENTS: Final = (
    "SELECT body FROM answers ORDER BY round_id, task_id, hotkey",
    "SELECT line FROM receipts ORDER BY sequence",
    "SELECT line FROM weight_links ORDER BY sequence",
    "SELECT document FROM declarations ORDER BY sha256",
)
NAMES: Final = re.compile(rb"5[1-9A-HJ-NP-Za-km-z]{47}|[0-9a-f]{16,}|[A-Za-z0-9+/=]{64,}")
BASE58: Final = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def main(stores: list[str], target: Path, number: int) -> None:
    """Train on every document of the stores and write the dictionary."""
    draw = random.Random(number)
    samples: list[bytes | bytearray | memoryview] = [
        NAMES.sub(lambda found: _other(found[0], draw), one)[:LONGEST] for one in _documents(stores)
    ]
    trained = zstandard.train_dictionary(SIZE, samples, dict_id=number, level=9)
    target.write_bytes(trained.as_bytes())
    print(f"{len(samples)} documents, {len(trained.as_bytes())} bytes")


def _documents(stores: list[str]) -> Iterator[bytes]:
    for store in stores:
        with closing(sqlite3.connect(store)) as connection:
            for statement in DOCUMENTS:
                for (blob,) in connection.execute(statement):
                    yield expanded(blob)


def _other(name: bytes, draw: random.Random) -> bytes:
    if re.fullmatch(rb"[0-9a-f]+", name):
        return draw.randbytes(len(name)).hex()[: len(name)].encode()
    letters = BASE58 if len(name) == 48 and name.startswith(b"5") else BASE64  # noqa: PLR2004 - an address
    return name[:1] + bytes(draw.choices(letters, k=len(name) - 1))


if __name__ == "__main__":
    main(sys.argv[1:-2], Path(sys.argv[-2]), int(sys.argv[-1]))
