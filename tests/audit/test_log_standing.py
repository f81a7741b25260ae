"""What a log says of miners follows from round to round (SPEC 9, 10)."""

from typing import Any

import msgspec
import pytest
from builders import V1, make_task
from group_rounds import NAMES, Settled, settled, signed, signer

from validator.audit.log.documents import Planned
from validator.audit.log.standing import Standing
from validator.protocol.reasons import Reason
from validator.protocol.round import AgreementPair, AgreementSample, FlagRaised, RoundInput, RoundOutcome
from validator.protocol.round.acts import Acts, ClearedFlag, FlagsCleared
from validator.protocol.skill_types import SkillType

RAG = SkillType.RAG_KNOWLEDGE
FLAGGED = signer("P1").hotkey


def first() -> Settled:
    """A round in which all agree: every reputation rises, and P1 gets a sample."""
    task = make_task(RAG)
    analysis = {"verdict": "ALLOW", "risk_score": 0.0, "findings": [], "capabilities": [], "dependencies": []}
    round_ = settled(task, {name: signed(task, name, analysis) for name in NAMES})
    sample = AgreementSample(FLAGGED, RAG, 0.95, 0.5, True, Reason.SAMPLE_COUNTED)
    return round_._replace(outcome=msgspec.structs.replace(round_.outcome, samples=(sample,), flags=()))


def after(frozen: RoundInput, outcome: RoundOutcome, **changes: Any) -> RoundInput:
    """The next round's input; `changes` are those of P1."""
    ends = {event.hotkey: event.after for event in outcome.reputation}
    windows = {} if outcome.flags else {FLAGGED: {RAG: (AgreementPair(0.95, 0.5),)}}
    miners = [
        msgspec.structs.replace(
            miner,
            reputations={RAG: ends[miner.hotkey]},
            agreements=windows.get(miner.hotkey, {}),
            flags=sum(flag.hotkey == miner.hotkey for flag in outcome.flags),
        )
        for miner in frozen.miners
    ]
    miners[0] = msgspec.structs.replace(miners[0], **changes)
    return msgspec.structs.replace(frozen, miners=tuple(miners))


def add(standing: Standing, round_: Settled) -> None:
    standing.add(V1, Planned(round_.frozen, round_.plan, 0, 0, drawn=True), round_.outcome)


def followed(outcome: RoundOutcome, **changes: Any) -> str | None:
    frozen = first().frozen
    standing = Standing()
    assert standing.fault(frozen, 30) is None  # a part of a log: its first input is taken at its word
    add(standing, first()._replace(outcome=outcome))
    return standing.fault(after(frozen, outcome, **changes), 30)


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
        ({"agreements": {RAG: (AgreementPair(0.95, 0.5),)}}, "miners[0].agreements"),
    ],
)
def test_a_flag_consumes_the_window_and_only_operators_take_it_away(changes: dict[str, Any], place: str | None) -> None:
    flagged = msgspec.structs.replace(first().outcome, flags=(FlagRaised(FLAGGED, RAG, 0.95, 0.5, 5),))
    assert followed(flagged, **changes) == place


def test_a_whole_log_tells_every_past() -> None:
    round_ = first()
    assert Standing(whole=True).fault(round_.frozen, 30) == "miners[0].reputations"
    fresh = [msgspec.structs.replace(miner, reputations={}) for miner in round_.frozen.miners]
    assert Standing(whole=True).fault(msgspec.structs.replace(round_.frozen, miners=tuple(fresh)), 30) is None


def test_a_miner_that_was_away_comes_back_as_it_left() -> None:
    round_ = first()
    standing = Standing()
    assert standing.fault(round_.frozen, 30) is None
    add(standing, round_)
    back = after(round_.frozen, round_.outcome)
    assert standing.fault(msgspec.structs.replace(back, miners=back.miners[1:]), 30) is None
    assert standing.fault(back, 30) is None
    assert standing.fault(after(round_.frozen, round_.outcome, reputations={RAG: 0.5}), 30) == "miners[0].reputations"


def cleared(hotkey: str, *flags: tuple[SkillType, str]) -> Acts:
    """The act of an operator who clears these flags."""
    these = tuple(ClearedFlag(kind, round_id) for kind, round_id in flags)
    return (FlagsCleared("flags_cleared", hotkey, "2026-01-01T00:00:00Z", "looked into", these),)


def flagged() -> tuple[Standing, RoundInput, RoundOutcome]:
    """A log of one round, which flags P1."""
    frozen = first().frozen
    outcome = msgspec.structs.replace(first().outcome, flags=(FlagRaised(FLAGGED, RAG, 0.95, 0.5, 5),))
    standing = Standing()
    assert standing.fault(frozen, 30) is None
    standing.flags.since = 0
    add(standing, first()._replace(outcome=outcome))
    return standing, frozen, outcome


def test_no_flag_goes_without_an_act() -> None:
    standing, frozen, outcome = flagged()
    assert standing.fault(after(frozen, outcome, flags=1), 30) is None
    assert standing.fault(after(frozen, outcome, flags=0), 30) == "miners[0].flags"
    assert standing.flags.clear(cleared(FLAGGED, (RAG, frozen.round_id))) is None
    assert standing.fault(after(frozen, outcome, flags=1), 30) == "miners[0].flags"
    assert standing.fault(after(frozen, outcome, flags=0), 30) is None
    assert (standing.flags.acts, standing.flags.before) == (1, 0)


def test_an_act_is_of_a_flag_that_stands_and_told_once() -> None:
    standing, frozen, _ = flagged()
    for hotkey, flag in (
        (FLAGGED, (SkillType.MCP_SERVER, frozen.round_id)),
        (signer("P2").hotkey, (RAG, frozen.round_id)),
    ):
        assert standing.flags.clear(cleared(hotkey, flag)) == "acts[0].flags[0]"
    once = cleared(FLAGGED, (RAG, frozen.round_id))
    assert standing.flags.clear(once) is None
    assert standing.flags.clear(once) == "acts[0].flags[0]"
