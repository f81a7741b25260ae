"""The mechanism's state: a value that a step changes, and that inputs are frozen from (SPEC 8 to 11; SPEC 11, D-23)."""

import msgspec
import pytest
from builders import V1
from group_rounds import worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from sssa.protocol.round import ClearedFlag, FlagsCleared, MinerState, RoundInput
from sssa.protocol.skill_types import SkillType
from sssa.scoring import standing_of
from sssa.state.inputs import freeze_miner, learn_miners
from sssa.state.mechanism_state import (
    Declarations,
    ExecutedTask,
    FrozenRound,
    Late,
    Miner,
    Pair,
    Shared,
    State,
    Window,
)
from sssa.state.round_end import Change, Ended, UnknownFlagError, apply, record_vector, start_at

PAIRS = st.frozensets(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([*SkillType][:3])))
MECHANISM = (1, 0)


def declaring(round_: RoundInput, number: int, pairs: frozenset[tuple[str, SkillType]]) -> RoundInput:
    miners = tuple(
        MinerState(hotkey, tuple(name for one, name in sorted(pairs) if one == hotkey), 1, {}, 0, {}, {})
        for hotkey in sorted({hotkey for hotkey, _ in pairs})
    )
    return msgspec.structs.replace(round_, round_id=str(number), miners=miners)


@settings(max_examples=50)
@given(st.lists(PAIRS, max_size=8))
def test_each_round_keeps_what_was_declared_in_it(rounds: list[frozenset[tuple[str, SkillType]]]) -> None:
    example, state = worked_example(), start_at(State(), 0)
    for number, pairs in enumerate(rounds):
        ended = Ended(declaring(example.frozen, number, pairs), example.plan, "void")
        state = apply(state, V1.step(state, ended))

    def numbered(hotkey: str, name: SkillType) -> int | None:
        return state.pair(hotkey, name).number

    for pairs, found in zip(rounds, state.shared.rounds, strict=True):
        declared = {(one, name) for one in "abcdefgh" for name in SkillType if found.declares(numbered(one, name))}
        assert declared == pairs


@pytest.mark.parametrize(("rounds", "holds"), [(1, True), (2, True), (3, False)])
def test_a_type_that_is_missing_in_more_than_half_of_the_rounds_is_not_declared(rounds: int, holds: bool) -> None:
    declared = [b"\x01", *[b""] * (rounds - 1)]
    seen = tuple(FrozenRound(number, 0, "1.0.0", pairs, counted=True) for number, pairs in enumerate(declared))
    assert Declarations(seen, counted=True).holds(0) is holds
    assert not Declarations(seen, counted=True).holds(1)


def test_flags_that_rounds_before_a_log_raised_are_added_to_those_of_the_log() -> None:
    name = SkillType.DECLARATIVE
    pairs = {name: Pair(window=Window().entered(1, "t", 1.0), counts=((69, 1, 1), (70, 2, 1), (99, 4, 2)))}
    state = State({"a": Miner(pairs=pairs, flags=(ClearedFlag(name, "1"),), earlier=2)})
    standing = standing_of(V1, state, ["a"], Declarations((), counted=False), following=100)["a"]
    assert standing.collusion_flags == 3
    of_type = standing.types[str(name)]
    assert (of_type.dispatches, of_type.failures) == (6, 3), "of the thirty rounds before the next one"


def test_a_void_round_counts_for_declarations_and_for_nothing_else() -> None:
    example = worked_example()
    before = learn_miners(start_at(State(), int(example.frozen.round_id)), example.frozen)
    void, abandoned = (
        apply(before, V1.step(before, ended))
        for ended in (
            Ended(example.frozen, example.plan, "void"),
            Ended(example.frozen, example.plan, "abandoned"),
        )
    )
    assert void.miners == abandoned.miners
    for miner in example.frozen.miners:
        pairs = void.miner(miner.hotkey).pairs
        unnumbered = {name: msgspec.structs.replace(pair, number=None, candidate=0) for name, pair in pairs.items()}
        assert {name: pair for name, pair in unnumbered.items() if pair != Pair()} == before.miner(miner.hotkey).pairs
    assert [one.counted for state in (void, abandoned) for one in state.shared.rounds] == [True, False]


def test_what_is_learned_from_an_input_is_what_is_frozen_from_the_state() -> None:
    frozen = worked_example().frozen
    state = learn_miners(start_at(State(), int(frozen.round_id)), frozen)
    assert frozen.miners
    for miner in frozen.miners:
        again = freeze_miner(
            state,
            miner.hotkey,
            frozen.index,
            history_rounds=30,
            samples=30,
            skill_types=miner.skill_types,
            max_concurrent=miner.max_concurrent,
        )
        assert (again.reputations, again.agreements, again.flags) == (
            miner.reputations,
            miner.agreements,
            miner.flags,
        )


def test_a_step_changes_no_state_and_the_next_one_has_a_form() -> None:
    example = worked_example()
    before = learn_miners(start_at(State(), int(example.frozen.round_id)), example.frozen)
    encoded = msgspec.msgpack.encode(before)
    ended = Ended(example.frozen, example.plan, "settled", example.outcome)
    after = apply(before, V1.step(before, ended))
    assert msgspec.msgpack.encode(before) == encoded
    assert after != before
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(after), type=State) == after


@given(st.lists(st.floats(0, 1), max_size=230), st.integers(0, 229))
def test_a_window_keeps_the_newest_entries_and_strikes_only_those(values: list[float], struck: int) -> None:
    window = Window()
    for number, value in enumerate(values):
        window = window.entered(number, "task", value)
    values[struck : struck + 1] = [0.0] if struck < len(values) else []
    window = window.struck(struck, "task").struck(struck, "another")
    assert (window.newest(100).tolist(), window.added) == (values[-100:], len(values))
    assert window.newest(3).tolist() == values[-3:]


def test_the_newest_epochs_of_a_mechanism_are_known() -> None:
    state = State()
    for epoch in range(20):
        state = record_vector(state, MECHANISM, epoch, str(epoch))
    assert state.shared.vectors == {MECHANISM: {epoch: str(epoch) for epoch in range(12, 20)}}
    assert Change(state).delta().shared is state.shared


def cleared(*numbers: int) -> FlagsCleared:
    flags = tuple(ClearedFlag(SkillType.MCP_SERVER, str(number)) for number in numbers)
    return FlagsCleared("a", "2026-01-01T00:00:00Z", "looked at", flags)


def test_flags_of_before_the_first_known_round_are_cleared_as_often_as_they_stand() -> None:
    state = State({"a": Miner(earlier=2)}, Shared(since=10))
    change = Change(state)
    change.clear([cleared(3)])
    assert change.miner("a").earlier == 1
    change.clear([cleared(4)])
    assert change.miner("a").earlier == 0
    with pytest.raises(UnknownFlagError):
        change.clear([cleared(5)])
    with pytest.raises(UnknownFlagError):
        Change(state).clear([cleared(10)])  # of a round that is known: it raised none


def test_a_flag_of_a_miner_of_whom_nothing_is_known_is_cleared_without_a_trace() -> None:
    change = Change(State({}, Shared(since=10)))
    change.clear([cleared(3)])
    assert change.delta().miners == {}


def test_what_is_to_come_of_the_oldest_rounds_is_unknown_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sssa.state.round_end.LATE_ROUNDS", 2)
    late, change = Late((ExecutedTask("t", SkillType.MCP_SERVER, 0, ("a",), made_here=False),)), Change(State())
    for number in (5, 7, 9):
        change.await_late(number, late)
    assert (change.shared.late, change.shared.late_since) == ({7: late, 9: late}, 6)
