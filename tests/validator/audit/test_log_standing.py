"""Miners' facts in a log follow from round to round (SPEC 9, 10)."""

from typing import Any

import msgspec
import pytest
from builders import V1, make_task
from group_rounds import NAMES, Settled, settled, signed, signer

from sssa.log.input_check import input_fault
from sssa.protocol.reasons import Reason
from sssa.protocol.round import (
    Acts,
    AgreementPair,
    AgreementSample,
    ClearedFlag,
    FlagRaised,
    FlagsCleared,
    RoundInput,
    RoundOutcome,
    TypeHistory,
)
from sssa.protocol.skill_types import SkillType
from sssa.state.inputs import learn_miners
from sssa.state.mechanism_state import State
from sssa.state.round_end import Change, Ended, UnknownFlagError, apply, start_at

RAG = SkillType.RAG_KNOWLEDGE
FLAGGED = signer("P1").hotkey
WHOLE = start_at(State(), 0)
PART = start_at(State(), 5)


def first() -> Settled:
    """A round in which all agree: every reputation rises, and P1 gets a sample."""
    task = make_task(RAG)
    analysis = {"verdict": "ALLOW", "risk_score": 0.0, "findings": [], "capabilities": [], "dependencies": []}
    round_ = settled(task, {name: signed(task, name, analysis) for name in NAMES})
    sample = AgreementSample(FLAGGED, RAG, 0.95, 0.5, 0.25, 0.75, True, Reason.SAMPLE_COUNTED)
    return round_._replace(outcome=msgspec.structs.replace(round_.outcome, samples=(sample,), flags=()))


def after(frozen: RoundInput, outcome: RoundOutcome, **changes: Any) -> RoundInput:
    """The next round's input; `changes` are those of P1."""
    ends = {event.hotkey: event.after for event in outcome.reputation}
    roles = dict(first().plan.groups[0].members)
    windows = {} if outcome.flags else {FLAGGED: {RAG: (AgreementPair(0.95, 0.5, 0.25, 0.75),)}}
    miners = [
        msgspec.structs.replace(
            miner,
            reputations={RAG: ends[miner.hotkey]},
            agreements=windows.get(miner.hotkey, {}),
            flags=sum(flag.hotkey == miner.hotkey for flag in outcome.flags),
            history={RAG: TypeHistory((roles[miner.hotkey],))},
        )
        for miner in frozen.miners
    ]
    miners[0] = msgspec.structs.replace(miners[0], **changes)
    return msgspec.structs.replace(frozen, miners=tuple(miners))


def fault(state: State, frozen: RoundInput) -> str | None:
    """Return the place where an input does not follow from a state; None if it follows."""
    known = learn_miners(state, frozen)
    change = Change(known)
    change.clear(frozen.acts)
    found = input_fault(V1, apply(known, change.delta()), frozen)
    return None if found is None else found[0]


def stepped(state: State, round_: Settled) -> State:
    known = learn_miners(state, round_.frozen)
    return apply(known, V1.step(known, Ended(round_.frozen, round_.plan, "settled", round_.outcome)))


def followed(outcome: RoundOutcome, **changes: Any) -> str | None:
    frozen = first().frozen
    assert fault(PART, frozen) is None  # a part of a log: its first input is taken at its word
    return fault(stepped(PART, first()._replace(outcome=outcome)), after(frozen, outcome, **changes))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, None),
        ({"reputations": {}}, "miners[0].reputations"),
        ({"reputations": {RAG: 0.9}}, "miners[0].reputations"),
        ({"agreements": {}}, "miners[0].agreements"),
        ({"flags": 1}, "miners[0].flags"),
    ],
)
def test_the_next_input_is_what_the_round_came_to(changes: dict[str, Any], place: str | None) -> None:
    assert followed(first().outcome, **changes) == place


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, None),
        ({"flags": 0}, "miners[0].flags"),
        ({"flags": 2}, "miners[0].flags"),
        ({"agreements": {RAG: (AgreementPair(0.95, 0.5, 0.25, 0.75),)}}, "miners[0].agreements"),
    ],
)
def test_a_flag_consumes_the_window_and_only_operators_take_it_away(changes: dict[str, Any], place: str | None) -> None:
    flagged = msgspec.structs.replace(first().outcome, flags=(FlagRaised(FLAGGED, RAG, 0.95, 0.5, 0.25, 0.75, 5),))
    assert followed(flagged, **changes) == place


def test_a_whole_log_tells_every_past() -> None:
    round_ = first()
    assert fault(WHOLE, round_.frozen) == "miners[0].reputations"
    fresh = [msgspec.structs.replace(miner, reputations={}) for miner in round_.frozen.miners]
    assert fault(WHOLE, msgspec.structs.replace(round_.frozen, miners=tuple(fresh))) is None


def test_a_miner_that_was_away_comes_back_as_it_left() -> None:
    round_ = first()
    state = stepped(PART, round_)
    back = after(round_.frozen, round_.outcome)
    assert fault(state, msgspec.structs.replace(back, miners=back.miners[1:])) is None
    assert fault(state, back) is None
    assert fault(state, after(round_.frozen, round_.outcome, reputations={RAG: 0.5})) == "miners[0].reputations"


def cleared(hotkey: str, *flags: tuple[SkillType, str]) -> Acts:
    """The act of an operator who clears these flags."""
    these = tuple(ClearedFlag(kind, round_id) for kind, round_id in flags)
    return (FlagsCleared(hotkey, "2026-01-01T00:00:00Z", "looked into", these),)


def flagged() -> tuple[State, RoundInput, RoundOutcome]:
    """A log of one round, which flags P1."""
    outcome = msgspec.structs.replace(first().outcome, flags=(FlagRaised(FLAGGED, RAG, 0.95, 0.5, 0.25, 0.75, 5),))
    return stepped(PART, first()._replace(outcome=outcome)), first().frozen, outcome


def with_acts(frozen: RoundInput, acts: Acts) -> RoundInput:
    return msgspec.structs.replace(frozen, acts=acts)


def test_no_flag_goes_without_an_act() -> None:
    state, frozen, outcome = flagged()
    one, none = after(frozen, outcome, flags=1), after(frozen, outcome, flags=0)
    assert (fault(state, one), fault(state, none)) == (None, "miners[0].flags")
    acts = cleared(FLAGGED, (RAG, frozen.round_id))
    assert (fault(state, with_acts(one, acts)), fault(state, with_acts(none, acts))) == ("miners[0].flags", None)


def test_an_act_is_of_a_flag_that_stands_and_told_once() -> None:
    state, frozen, outcome = flagged()
    none = after(frozen, outcome, flags=0)
    for hotkey, flag in (
        (FLAGGED, (SkillType.MCP_SERVER, frozen.round_id)),
        (signer("P2").hotkey, (RAG, frozen.round_id)),
    ):
        with pytest.raises(UnknownFlagError) as caught:
            fault(state, with_acts(none, cleared(hotkey, flag)))
        assert caught.value.place == "[0].flags[0]"
    once = cleared(FLAGGED, (RAG, frozen.round_id))
    with pytest.raises(UnknownFlagError) as caught:
        fault(state, with_acts(none, once + once))
    assert caught.value.place == "[1].flags[0]"
