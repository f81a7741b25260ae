"""Studies: what is kept is not played again, tables and pictures come from it, and a page has its sections."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_store import called
from rich.console import Console

from laboratory import study as studies
from laboratory.population import Population
from laboratory.questions import QUESTIONS, Bound, Line, Measure, Question
from laboratory.report import correlated, part_of
from laboratory.results import Result
from laboratory.runs import play_all
from laboratory.study import StudyError, picture, rows_of, shown, study, written

QUIET = Console(quiet=True)
TINY = Question(
    "tiny",
    "Does it work?",
    {
        label: {
            "rounds": 4,
            "miners": [{"name": "honest", "behaviour": "honest", "count": 5, "skill": [0.2, 0.9]}],
            "world": {"epoch_rounds": 2, "kinds": kinds},
        }
        for label, kinds in (("few", 12), ("many", 48))
    },
    (
        Measure("pay", lambda results: part_of(results["few"], "honest"), Bound("≥", 0.5)),
        Measure("rank", lambda results: correlated(results["many"], 4), Bound("≤", -2.0)),
        Measure("older", lambda results: float(results["few"].version == "1.0.0"), Bound("≥", 1, "1.0.0")),
    ),
    (Line("few", "few", correlated),),
    "rank & pay",
    seeds=(3, 1),
)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


def test_a_study_goes_on_where_it_stopped_and_one_process_writes_what_two_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    study(one, [TINY], 1, QUIET, quick=True)
    assert list(files(one)) == ["tiny/1.0.0-1.json", "tiny/2.0.0-1.json"]
    study(one, [TINY], 1, QUIET, quick=False, most=2)
    answers = study(two, [TINY], 2, QUIET, quick=False, most=2)
    assert files(one) == files(two)
    assert len(files(one)) == 4
    (two / "tiny" / "1.0.0-2.json").write_text("{")  # cut off
    kept = files(two)
    kept["tiny/1.0.0-2.json"] = files(one)["tiny/1.0.0-2.json"]
    played: list[int] = []

    def counted(populations: Sequence[Population], *rest: Any) -> list[Result]:
        played.append(len(populations))
        return play_all(populations, *rest)

    monkeypatch.setattr(studies, "play_all", counted)
    assert study(two, [TINY], 1, QUIET, quick=False, most=2) == answers
    assert played == [2]
    assert files(two) == kept
    changed = TINY._replace(networks={"few": TINY.networks["many"], "many": TINY.networks["many"]})
    study(two, [changed], 1, QUIET, quick=True)
    assert played == [2, 4], "other networks of the same name are played"


def test_tables_pictures_and_pages_say_what_holds(tmp_path: Path) -> None:
    answers = study(tmp_path, [TINY], 1, QUIET, quick=True)
    pay, rank, older = rows_of(answers[0])
    assert pay == ("pay", "0.75", "0.75", "≥ 0.5", "yes")
    assert rank[3:] == ("≤ -2", "**no**")
    assert older == ("older", "1", "0", "≥ 1 under 1.0.0", "yes")
    drawn = picture(answers[0])
    assert drawn is not None
    assert drawn.startswith("<svg ")
    assert "rank &amp; pay" in drawn
    page = "before\n<!-- study: tiny -->\nold\n<!-- end: tiny -->\nafter\n"
    text = written(page, answers)
    assert text.startswith("before\n<!-- study: tiny -->\n| means over 1 seeds | 1.0.0 | 2.0.0 | must show | holds |\n")
    assert text.endswith("![rank & pay](pictures/mechanism-tiny.svg)\n<!-- end: tiny -->\nafter\n")
    assert written(text, answers) == text
    with pytest.raises(StudyError, match=r"<!-- study: tiny -->.*add both lines"):
        written("nothing", answers)


def test_infinite_values_are_counted_as_never() -> None:
    assert shown([1.0, 1.0]) == "1 ± 0"
    assert shown([1.0, 1.0, float("inf")]) == "1 ± 0 (never in 1 of 3)"
    assert shown([float("inf")]) == "never"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_every_question_has_networks_that_can_be_played(question: Question) -> None:
    populations = question.populations("2.0.0", 1)
    assert populations.keys() == question.networks.keys()
    assert {line.network for line in question.lines} <= populations.keys()
    assert question.seeds[0] >= question.seeds[1] > 0


def test_the_command_names_questions_and_ends_with_1_where_something_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = called("simulate", "study", "--only", "nope", "--folder", str(tmp_path))
    assert unknown.returncode == 2
    assert "write one of skill, luck" in unknown.stderr
    folder = tmp_path / "folder"
    answers: dict[str, Any] = {}
    for bound, code in ((Bound("≥", 0.5), 0), (Bound("≥", 0.9), 1)):
        question = TINY._replace(measures=(TINY.measures[0]._replace(bound=bound),))
        monkeypatch.setattr(studies, "QUESTIONS", (question,))
        done = called("simulate", "study", "--quick", "--folder", str(folder), "--jobs", "1", "--json")
        assert done.returncode == code, done.stderr
        answers = json.loads(done.stdout)
    assert answers == {"tiny": [["pay", "0.75", "0.75", "≥ 0.9", "**no**"]]}
