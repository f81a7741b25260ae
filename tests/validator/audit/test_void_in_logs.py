"""Claims of a log that a dispatch is void alone: group members, once, a fault of the validator (SPEC 16, D-26)."""

import io
import json
from pathlib import Path

import pytest
from audit_file import export, receipts
from msgspec import structs
from random_rounds import returned
from world import VALIDATOR, World, prepared

from sssa.log.answers import Answers, ListedAnswer, _contradiction, check_ends, check_members
from sssa.log.lines import FaultError, Line, LineReader, Planned
from sssa.log.verify import verify_file
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import line, line_digest
from sssa.protocol.results import RawAnswer, RoundResults, VoidDispatch, packed
from sssa.protocol.round import RoundInput, RoundPlan
from sssa.scoring import version
from validator.rounds.settle import void_round
from validator.store import open_store

V1 = version("1.0.0")
STALL = Reason.LOCAL_STALL


def planned_of(frozen: RoundInput, plan: RoundPlan) -> Planned:
    return Planned(frozen, plan, Line(1, "input", b"", b""), Line(2, "plan", b"", b""), drawn=True)


def checked(*alone: VoidDispatch, kept: bool = False) -> None:
    """Compare a round that claims this with its groups; its failures are kept in any case, or left out as claimed."""
    frozen, plan, results, _ = next(
        found for found in (returned(number, V1) for number in range(100)) if found[2].rejections and not found[2].void
    )
    void = {(one.task_id, one.hotkey) for one in alone}
    failed = [one for one in results.rejections if kept or (one.task_id, one.hotkey) not in void]
    passed = [ListedAnswer(packed(one)) for one in results.passed]
    answers = Answers(
        RoundResults.of(failed, (), alone), passed, Line(7, "answers", b"", b""), LineReader(io.BytesIO())
    )
    check_members(planned_of(frozen, plan), answers)


def failure() -> tuple[str, str]:
    results = next(
        found for found in (returned(number, V1)[2] for number in range(100)) if found.rejections and not found.void
    )
    return results.rejections[0].task_id, results.rejections[0].hotkey


def what_of(*alone: VoidDispatch, kept: bool = False) -> str:
    with pytest.raises(FaultError) as fault:
        checked(*alone, kept=kept)
    return str(fault.value)


def test_the_validators_word_is_taken_where_it_can_be_true() -> None:
    checked(VoidDispatch(*failure(), STALL))


def test_what_no_validator_can_mean_is_found() -> None:
    mine = VoidDispatch(*failure(), STALL)
    assert "each once" in what_of(mine, mine)
    assert "each once" in what_of(VoidDispatch(mine.task_id, "nobody", STALL))
    assert "each once" in what_of(VoidDispatch("no-task", mine.hotkey, STALL))
    assert "deadline_late is no fault of the validator" in what_of(
        VoidDispatch(mine.task_id, mine.hotkey, Reason.DEADLINE_LATE)
    )
    assert "one answer or failure" in what_of(mine, kept=True)


async def test_a_void_round_tells_the_end_of_every_dispatch(sqlite_url: str, tmp_path: Path) -> None:
    async with open_store(sqlite_url, create=True) as store:
        world = World(store)
        round_ = await prepared(world)
        await void_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, Reason.VOID_OFFLINE)
        log = await export(store, tmp_path / "log.jsonl")
        (end,) = [one.round for one in await receipts(store) if one.round is not None]
    lines = log.read_bytes().splitlines(keepends=True)
    place = next(number for number, each in enumerate(lines) if each.startswith(b'{"answers":'))
    plain = json.loads(lines[place])["answers"]
    members = [[group.task_id, hotkey] for group in round_.plan.groups for hotkey, _ in group.members]
    assert [[one["task_id"], one["hotkey"]] for one in plain["void_dispatches"]] == members
    assert {one["reason"] for one in plain["void_dispatches"]} == {"void_offline"}
    assert verify_file(log).rounds == {"void": 1}
    planned = planned_of(round_.frozen, round_.plan)
    for name in ("void", "void_dispatches", "raw"):
        forged_line = line("answers", {**plain, name: plain[name][1:]})
        forged = structs.replace(end, lines=structs.replace(end.lines, answers=line_digest(forged_line)))
        with pytest.raises(FaultError, match="must be the end of every task and dispatch") as fault:
            check_ends(LineReader(io.BytesIO(forged_line + b"\n")), planned, forged)
        assert fault.value.path == name


@pytest.mark.parametrize(
    ("reason", "complete", "fault"),
    [
        (Reason.DEADLINE_NO_AXON, False, "nothing was sent"),
        (Reason.DEADLINE_AXON_REFUSED, False, "nothing was sent"),
        (Reason.DEADLINE_CONNECT, False, "nothing was sent"),
        (Reason.DEADLINE_STATUS, True, "none came"),
        (Reason.DEADLINE_TRANSPORT, True, "none came"),
        (Reason.PARSE_SCHEMA, False, "it was judged"),
        (Reason.DEADLINE_LATE, True, None),
        (Reason.PARSE_TOO_LARGE, False, None),
        (Reason.DEADLINE_TRANSPORT, False, None),
    ],
)
def test_a_digest_contradicts_no_end_of_its_dispatch(reason: Reason, complete: bool, fault: str | None) -> None:
    found = _contradiction(RawAnswer("0" * 64, 7, complete), reason, passed=False)
    assert found is None if fault is None else fault in (found or "")
