"""The harness of `make bench`: turns, medians, the file of rows, what ONLY chooses. No test asks how long it takes."""

from collections.abc import Iterator
from pathlib import Path

import cases
import msgspec
import pytest
from harness import Case, Row, microseconds, per_second
from harness.case_discovery import UnknownBenchmarkError, chosen, known
from harness.paired_runs import measure
from harness.rows import table, update
from samples.group import FINDINGS, MEMBERS, TASK, answers, bodies

from sssa.protocol.answer import parse_answer
from sssa.protocol.limits import MAX_BODY
from sssa.protocol.signatures import verify_document


def recorded(name: str, figures: Iterator[float], turns: list[str]) -> float:
    turns.append(name)
    return next(figures)


def test_case_and_floor_take_turns_and_what_warms_up_does_not_count() -> None:
    turns: list[str] = []
    values, floors = iter([99.0, 4.0, 8.0, 6.0]), iter([99.0, 1.0, 2.0, 3.0])
    case = Case(
        "c",
        "s",
        lambda: recorded("case", values, turns),
        lambda: recorded("floor", floors, turns),
        runs=3,
        warm_up=1,
    )
    assert measure("b", case) == Row("b", "c", value=6.0, unit="s", floor=2.0, ratio=3.0, min=4.0, max=8.0)
    assert turns == ["floor", "case", "case", "floor"] * 2


def test_a_case_without_a_floor_has_no_ratio() -> None:
    row = measure("b", Case("c", "s", lambda: 1.5, runs=2, warm_up=0))
    assert (row.value, row.floor, row.ratio) == (1.5, None, None)


def test_a_rate_counts_what_the_work_does_on_the_clock_that_it_is_given() -> None:
    now = 0.0

    def work() -> None:
        nonlocal now
        now += 0.01

    assert per_second(work, of=5, clock=lambda: now)() == pytest.approx(500)
    assert microseconds(work, of=5, clock=lambda: now)() == pytest.approx(2_000)


def test_the_file_has_the_newest_row_of_every_case(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    one, other = Row("a", "x", 1.0, "s", None, None, 1.0, 1.0), Row("a", "y", 2.0, "s", 1.0, 2.0, 1.0, 3.0)
    update(file, [one, other])
    newer = msgspec.structs.replace(one, value=7.0)
    update(file, [newer])
    assert msgspec.json.decode(file.read_bytes(), type=list[Row]) == [newer, other]


def test_the_table_has_a_line_for_each_case() -> None:
    case = Case("x", "groups/s", lambda: 0.0, lambda: 0.0, "bare decode", "≥ 2,000")
    row = Row("score", "x", 1234.5, "groups/s", 2469.0, 0.5, 1000.0, 1500.0)
    assert table([(case, row)]).splitlines()[2:] == [
        "| score | x | 1,234 groups/s | 1,000 – 1,500 | 2,469 (bare decode) | 0.5 | ≥ 2,000 |"
    ]


def test_only_chooses_benchmarks_by_name_and_refuses_what_is_none() -> None:
    names = known(cases.__path__)
    assert {"score", "signatures"} <= set(names)
    assert chosen(names, "") == names
    assert chosen(names, "signatures, score") == ["signatures", "score"]
    with pytest.raises(UnknownBenchmarkError, match=r"ONLY=speed: there are .*score"):
        chosen(names, "speed,score")


def test_the_group_that_is_measured_is_honest_and_of_the_size_that_its_name_says() -> None:
    group = answers()
    assert len({answer.sssa.signature.hotkey for answer in group}) == MEMBERS
    for answer, body in zip(group, bodies(group), strict=True):
        assert parse_answer(body, limit=MAX_BODY) == answer
        assert verify_document(answer.sssa, answer.sssa.signature.hotkey)
        assert len(answer.sssa.analysis.findings) == FINDINGS
        assert answer.sssa.skill.nonce == TASK.nonce
        assert 9_300 < len(body) < 9_900
