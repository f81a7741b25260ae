"""The order in which a validator gives its tasks (SPEC 16, D-29)."""

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.canonical import sha256_hex
from validator.tasks.source import least_given

SALT, OTHER = bytes(range(32)), bytes(range(1, 33))
SOURCES = [sha256_hex(b"%d" % number) for number in range(12)]


def drawn(salt: bytes, epoch: int, sha256: str) -> bytes:
    return hmac.new(salt, b"task|%d|" % epoch + sha256.encode(), hashlib.sha256).digest()


@given(st.dictionaries(st.sampled_from(SOURCES), st.integers(0, 3)), st.permutations(SOURCES), st.integers(0, 2**40))
def test_the_least_given_come_first_and_ties_by_a_draw_from_the_salt(
    counts: dict[str, int], sources: list[str], epoch: int
) -> None:
    order = least_given(counts, SALT, epoch, sources)
    assert sorted(order) == sorted(SOURCES)
    assert order == sorted(SOURCES, key=lambda sha256: (counts.get(sha256, 0), drawn(SALT, epoch, sha256)))


def test_no_two_salts_and_no_two_epochs_have_the_same_order() -> None:
    orders = {tuple(least_given({}, salt, epoch, SOURCES)) for salt in (SALT, OTHER) for epoch in range(5)}
    assert len(orders) == 10
