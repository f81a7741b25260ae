"""`validator tasks goals`: the benchmark's goals with addresses of one's own services, as a validator takes them."""

from pathlib import Path

import pytest
from cli_store import answered, called

from miner.goals.goal_files import local_goals
from miner.services.catalogue import SERVICES, ServiceAddress
from validator.protocol.signatures import Signer
from validator.protocol.workflow_task import task_sha256
from validator.tasks.check import check_tasks
from validator.tasks.goals import find_goals, read_goal

HOTKEYS: dict[str, str] = {name: Signer.from_uri(f"//{name}").hotkey for name in SERVICES}
URL = "https://services.example/"


def given(*names: str) -> list[str]:
    return [part for name in names for part in ("--service", f"{name}={URL}{name},{HOTKEYS[name]}")]


def test_the_goals_are_written_for_services_of_ones_own(tmp_path: Path) -> None:
    done = called("tasks", "goals", "tasks/benchmark", *given(*SERVICES), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "tasks/benchmark: 47 goals of benchmark 1\n"
    addresses = {name: ServiceAddress(URL + name, HOTKEYS[name]) for name in SERVICES}
    found = [read_goal(path) for path in find_goals(tmp_path)]
    assert {task_sha256(task) for task in found} == {
        task_sha256(task) for task in local_goals(addresses, None).values()
    }
    assert [task.problems for task in check_tasks(tmp_path)] == [()] * 47
    again = called("tasks", "goals", "tasks/benchmark", *given(*SERVICES), cwd=tmp_path)
    said = "The task is refused: `benchmark` exists already: name another folder\n"
    assert (again.returncode, again.stderr) == (2, said)


def test_goals_of_services_that_are_not_given_are_left_out(tmp_path: Path) -> None:
    told = answered("tasks", "goals", "some", *given("transform", "text"), cwd=tmp_path)
    names = {one["name"] for one in told["goals"]}
    assert {"data-totals", "agent-open-sales", "rag-memo"} < names
    assert not any(name.startswith("code") for name in names)
    assert {path.name for path in (tmp_path / "some").iterdir()} == names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (given("text", "text"), "at most once - at `--service`"),
        (["--service", "mail=http://a/,b"], "`mail` is none of text, code, retrieval, transform"),
        (["--service", f"text=ftp://a/,{HOTKEYS['text']}"], "text: not a plain http or https url"),
        (["--service", "text=http://a/,somebody"], "text: not an ss58 address"),
        (["--service", "text"], "text: not a plain http or https url"),
        (given("retrieval"), "no goal takes these services alone"),
    ],
)
def test_what_is_no_address_is_told_in_a_line_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = called("tasks", "goals", "out", *arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
