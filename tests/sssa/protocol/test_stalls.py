"""The validator's own pauses within a miner's time (SPEC 16, D-26)."""

from hypothesis import given
from hypothesis import strategies as st

from validator.outgoing.stalls import BEAT_S, LEAST_STALL_S, Stall, overlap, own_seconds, stall_between

TIMES = st.integers(0, 4000).map(lambda quarter: quarter / 4)  # exact in binary: sums of them are


@st.composite
def stalls(draw: st.DrawFn) -> list[Stall]:
    """Some that do not overlap, in order."""
    moments = sorted(draw(st.sets(TIMES, max_size=12)))
    return [Stall(a, b - a) for a, b in zip(moments[::2], moments[1::2], strict=False)]


def test_a_gap_is_a_stall_from_one_second_too_long_on() -> None:
    least = BEAT_S + LEAST_STALL_S
    assert stall_between(0.0, least) == Stall(0.0, least)
    assert stall_between(0.0, least - 0.01) is None
    assert stall_between(5.0, 35.0) == Stall(5.0, 30.0)


@given(stalls(), TIMES, TIMES)
def test_the_overlap_is_counted_once_and_never_more_than_the_time(
    stalls: list[Stall], one: float, other: float
) -> None:
    start, end = min(one, other), max(one, other)
    quarters = [start + i / 4 for i in range(round(4 * (end - start)))]
    counted = sum(any(s.start <= at and at + 0.25 <= s.end for s in stalls) for at in quarters) / 4
    assert overlap(stalls, start, end) == counted <= end - start


@given(stalls(), TIMES, TIMES, TIMES)
def test_the_overlap_of_a_time_is_that_of_its_parts(stalls: list[Stall], a: float, b: float, c: float) -> None:
    a, b, c = sorted((a, b, c))
    assert overlap(stalls, a, c) == overlap(stalls, a, b) + overlap(stalls, b, c)


@given(measured=TIMES, stalled=TIMES, t_min=TIMES)
def test_a_stall_makes_nobody_slower_and_nobody_early(measured: float, stalled: float, t_min: float) -> None:
    own = own_seconds(measured, stalled, t_min)
    assert 0 <= own <= measured
    assert (own < t_min) == (measured < t_min)
    assert own == max(0.0, measured - stalled) or (own == t_min <= measured) or (own == measured < t_min)
    assert own_seconds(measured, 0.0, t_min) == measured
