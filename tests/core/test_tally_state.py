"""State of 2.0.0: packed tallies and answers come back, execution strikes entries, and turns tell who stayed."""

from group_rounds import worked_example
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from sssa.protocol.round import MinerState
from sssa.protocol.skill_types import SkillType
from sssa.protocol.tallies import Record, Tally
from sssa.scoring.v2.inputs import complete
from sssa.scoring.v2.tallies import struck
from sssa.scoring.versions import VERSIONS, Version20
from sssa.state.mechanism_state import FrozenRound, Miner, Pair, Shared, State
from sssa.state.tallies import TallyWindow, record_of, with_answer

counts = st.none() | st.integers(0, 70_000)
shares = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 70_000))
units = st.none() | st.floats(0, 1)
verdicts = st.sampled_from([None, "ALLOW", "REVIEW", "BLOCK"])
tallies = st.builds(
    Tally, st.booleans(), counts, counts, counts, verdicts, verdicts, units, units, shares, shares, shares, units
)


@given(st.lists(tallies, min_size=1, max_size=120))
def test_the_newest_hundred_tallies_come_back_as_they_entered(entered: list[Tally]) -> None:
    window = TallyWindow()
    for number, one in enumerate(entered):
        window = window.entered(number, one)
    assert window.tallies() == entered[-100:]
    assert window.added == len(entered)
    last = len(entered) - 1
    caught = window.changed(last, struck)
    assert caught.tallies()[-1] == struck(entered[-1])
    assert caught.tallies()[:-1] == window.tallies()[:-1]
    assert window.changed(-7, struck) == window


def test_a_struck_entry_keeps_its_second_numbers() -> None:
    entry = Tally(True, 3, 4, 5, "ALLOW", "BLOCK", 0.9, 0.7, (1, 2), None, (0, 6), 1.0)
    assert struck(entry) == Tally(False, 0, 0, 5, None, "BLOCK", 0.0, 0.7, (0, 2), None, (0, 6), None)
    unknown = structs.replace(entry, hits=None, said=None, known=None, risk=None, risk_null=None)
    assert (struck(unknown).hits, struck(unknown).risk) == (None, None)


def test_a_record_counts_the_last_hundred_scores() -> None:
    scores = with_answer(with_answer(b"", 0.0), 0.5)
    assert record_of(scores) == Record(0.5, 2)
    for _ in range(100):
        scores = with_answer(scores, 0.25)
    assert record_of(scores) == Record(25.0, 100)
    assert record_of(b"") == Record()


def test_who_left_or_was_barred_waits_with_the_median_and_who_was_busy_stays() -> None:
    by = VERSIONS["2.0.0"]
    assert isinstance(by, Version20)
    kind, hotkeys = SkillType.DECLARATIVE, ("a", "b", "c", "d")
    candidates = tuple(MinerState(one, (kind,), 2, {}, 0, {}, {}) for one in hotkeys)
    frozen = structs.replace(worked_example().frozen, miners=candidates, scoring_version="2.0.0")
    turns = dict(zip(hotkeys, (9, 5, 0, 0), strict=True))
    miners = {one: Miner({kind: Pair(number=i, turn=turn)}) for i, (one, turn) in enumerate(turns.items())}
    declared = bytes([0b0111])  # the fourth was away; the third was there and barred
    newest = FrozenRound(0, 1, "2.0.0", declared, True, (2,))
    again = complete(by, State(miners, Shared(since=0, rounds=(newest,))), frozen)
    found = {one.hotkey: one.turns for one in again.miners}
    assert [(found[one] or {})[kind] for one in hotkeys] == [9, 5, 5, 5]
