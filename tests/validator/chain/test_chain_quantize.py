import math

import pytest
from bittensor.intents import normalize
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.weight_rows import U16_MAX, WeightRowError, to_u16

VECTORS = st.dictionaries(
    st.integers(0, U16_MAX), st.floats(0, allow_nan=False, allow_infinity=False, width=64), max_size=40
)


@given(VECTORS)
def test_the_chain_gets_what_the_sdk_would_send(weights: dict[int, float]) -> None:
    uids = sorted(weights)
    assert to_u16(weights) == dict(zip(*normalize(uids, [weights[uid] for uid in uids]), strict=True))


@given(VECTORS)
def test_the_largest_is_full_scale_zeros_go_and_order_stays(weights: dict[int, float]) -> None:
    values = to_u16(weights)
    if not any(weights.values()):
        assert values == {}
        return
    assert max(values.values()) == U16_MAX
    assert min(values.values()) >= 1
    assert list(values) == sorted(values)
    top = max(weights.values())
    for uid, weight in weights.items():
        assert abs(values.get(uid, 0) - weight / top * U16_MAX) <= 0.5
    by_weight = sorted(weights, key=lambda uid: weights[uid])
    assert [values.get(uid, 0) for uid in by_weight] == sorted(values.get(uid, 0) for uid in weights)


@pytest.mark.parametrize("weight", [-1e-9, math.nan, math.inf, -math.inf])
def test_weights_that_are_no_weights_are_refused(weight: float) -> None:
    with pytest.raises(WeightRowError, match="the weight of uid 3"):
        to_u16({1: 0.5, 3: weight})


@pytest.mark.parametrize("uid", [-1, U16_MAX + 1])
def test_uids_outside_u16_are_refused(uid: int) -> None:
    with pytest.raises(WeightRowError, match="uid"):
        to_u16({uid: 0.5})
