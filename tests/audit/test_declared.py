"""Who declared what is remembered of thousands of rounds, in few bytes each."""

from hypothesis import given, settings
from hypothesis import strategies as st

from validator.audit.log.declared import Declarations

PAIRS = st.frozensets(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("xyz")))


@settings(max_examples=50)
@given(st.lists(PAIRS, max_size=8))
def test_each_round_keeps_its_own_pairs(rounds: list[frozenset[tuple[str, str]]]) -> None:
    declarations = Declarations()
    kept = [declarations.of(pairs) for pairs in rounds]
    for pairs, found in zip(rounds, kept, strict=True):
        assert {(a, b) for a in "abcdefgh" for b in "xyz" if (a, b) in found} == pairs


def test_rounds_that_differ_in_a_few_cost_little() -> None:
    declarations = Declarations()
    everybody = {(f"hotkey {i}", name) for i in range(256) for name in "abcde"}
    kept = [declarations.of(everybody - {(f"hotkey {i % 256}", "a")}) for i in range(1_000)]
    assert sum(found.bits.bit_length() for found in kept) / 8 < 1_000 * 256
    assert {id(found.numbers) for found in kept} == {id(kept[0].numbers)}
