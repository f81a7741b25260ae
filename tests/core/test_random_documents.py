"""Documents by the thousand, written and read: the fast ways, compared with the plain ones."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import Any

import msgspec
import pytest
from plain_forms import canonical, read, signed_bytes
from random_documents import attestation, value, written

from validator.protocol.canonical import canonical_bytes
from validator.protocol.sssa import Sssa, signing_bytes
from validator.protocol.strict_json import DuplicateKeyError, SchemaError, TooDeepError, decode

FIRST = 2_000
DOCUMENTS = int(os.environ.get("RANDOM_DOCUMENTS", "0"))


def test_random_documents_are_written_and_read_as_the_plain_ways_do() -> None:
    accepted, twice, refused = _held(range(FIRST))
    assert min(accepted, twice, refused) > FIRST // 20


@pytest.mark.skipif(not DOCUMENTS, reason="long: `pytest tests/core/test_random_documents.py` runs it")
def test_many_random_documents_are_written_and_read_as_the_plain_ways_do() -> None:
    with ProcessPoolExecutor() as pool:
        parts = [range(start, min(start + 10_000, DOCUMENTS)) for start in range(0, DOCUMENTS, 10_000)]
        told = list(pool.map(_held, parts))
    accepted, twice, refused = (sum(one) for one in zip(*told, strict=True))
    print(f"\n{DOCUMENTS} documents: {accepted} read, {twice} with a key twice, {refused} refused")  # noqa: T201 - figures


def _held(numbers: range) -> tuple[int, int, int]:
    """Return how many readings accepted, how many found a key twice, how many no such document."""
    outcomes = {"accepted": 0, "twice": 0, "refused": 0}
    for i in numbers:
        random = Random(f"document {i}")
        plain, sssa = value(random), attestation(random)
        assert canonical_bytes(plain) == canonical(plain), i
        assert canonical_bytes(sssa) == canonical(sssa), i
        assert signing_bytes(sssa) == signed_bytes(sssa), i
        outcomes[_alike(written(random, plain), Any, i)] += 1
        outcomes[_alike(written(random, msgspec.to_builtins(sssa)), Sssa, i)] += 1
    return outcomes["accepted"], outcomes["twice"], outcomes["refused"]


def _alike(data: bytes, kind: Any, number: int) -> str:
    """Read the document in both ways; return what both say of it."""
    found = _told(lambda: decode(data, kind, limit=10**6))
    assert found == _told(lambda: read(data, kind)), (number, data)
    return found[0]


def _told(reading: Callable[[], object]) -> tuple[str, str]:
    try:
        return "accepted", repr(reading())
    except DuplicateKeyError:
        return "twice", ""
    except (msgspec.MsgspecError, SchemaError, TooDeepError, RecursionError, ValueError):
        return "refused", ""
