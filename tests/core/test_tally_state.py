"""State of 2.0.0: packed tallies and answers come back, execution strikes entries, and turns tell who stayed."""

from group_rounds import worked_example
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from validator.protocol.round import MinerState
from validator.protocol.skill_types import SkillType
from validator.protocol.tallies import EvidenceRow, Record, Tally, pair_of
from validator.scoring.v2_0.inputs import complete, pair_values
from validator.scoring.v2_0.tallies import struck
from validator.scoring.versions import VERSIONS, Version20
from validator.state.tallies import PairEvidence, TallyWindow, record_of, with_answer
from validator.state.values import FrozenRound, Miner, Pair, Shared, State

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


def test_a_record_counts_the_last_hundred_answers_and_the_faults_of_those_that_passed() -> None:
    answers = with_answer(with_answer(b"", 0.0, None, 0), 0.5, 3, 8)
    assert record_of(answers) == Record(0.5, 2, 3, 8)
    for _ in range(100):
        answers = with_answer(answers, 0.25, 1, 2)
    assert record_of(answers) == Record(25.0, 100, 100, 200)
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


def test_evidence_of_a_pair_is_believed_only_where_rounds_are_unknown() -> None:
    example = worked_example()
    pair = pair_of(*(miner.hotkey for miner in example.frozen.miners[:2]))
    frozen = structs.replace(example.frozen, proven=(pair,))
    told = structs.replace(example.outcome, evidence=(EvidenceRow("t", pair, 1.0, 5e5, 5e5, True),))
    assert pair_values(State(shared=Shared(since=0)), frozen, told) == {}
    later = State(shared=Shared(since=3))
    assert pair_values(later, frozen, told) == {pair: PairEvidence(5e5, True)}
    known = State({pair[0]: Miner(evidence={pair[1]: PairEvidence(2.0, False)})}, later.shared)
    assert pair_values(known, frozen, told) == {pair: PairEvidence(2.0, False)}


def test_a_pair_meets_once_in_a_round() -> None:
    example, kind = worked_example(), SkillType.MCP_SERVER
    hotkeys = sorted(miner.hotkey for miner in example.frozen.miners)
    (task,) = example.frozen.tasks
    frozen = structs.replace(
        example.frozen,
        scoring_version="2.0.0",
        miners=tuple(MinerState(one, (kind,), 2, {}, 0, {}, {}, turns={kind: 0}) for one in hotkeys),
        tasks=tuple(structs.replace(task, task_id=f"{slot}", slot=slot, planted=True) for slot in range(2)),
        pairs=(pair_of(*hotkeys[:2]),),
    )
    assert [one.group.met for one in VERSIONS["2.0.0"].plan_tasks(frozen)] == [frozen.pairs, ()]
