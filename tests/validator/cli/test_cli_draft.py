"""`validator tasks draft`: from a packed bundle to a task, with a person in between, as a user would."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cli_store import answered, called, validator

from miner.bundles.written import written_bundles
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.limits import MAX_BUNDLE_COMPRESSED
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Task
from taskmaker.packing import pack_task
from validator.tasks.folder import find_tasks, read_task
from validator.tasks.source import TaskError

BUNDLE = next(bundle for bundle in written_bundles() if bundle.name == "mcp-tickets")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A packed task without truth."""
    skill = tmp_path / "tickets"
    for name, content in BUNDLE.files.items():
        (skill / name).parent.mkdir(parents=True, exist_ok=True)
        (skill / name).write_bytes(content)
    assert called("tasks", "pack", str(skill), cwd=tmp_path).returncode == 0
    return tmp_path / "tasks" / "tickets"


def fields_of(path: Path) -> list[str]:
    (draft,) = json.loads(called("tasks", "check", str(path / "task.draft.json"), "--json").stdout)["tasks"]
    return [problem["field"] for problem in draft["problems"]]


def decide(draft: Path, **message: Any) -> None:
    """Remove the entries TODO, and set the rest."""
    document = json.loads(draft.read_text())
    truth = document["truth"]
    for name, value in truth.items():
        if isinstance(value, list):
            truth[name] = [one for one in value if not (isinstance(one, dict) and "TODO" in one)]
    truth.update(message)
    draft.write_text(json.dumps(document))


def test_a_draft_becomes_a_task_once_a_person_has_decided(task: Path) -> None:
    made = validator("tasks", "draft", "tasks/tickets", cwd=task.parents[1])
    assert (made.returncode, made.stderr) == (0, "")
    open_fields = ["truth.verdict", "truth.policy_rules", "truth.poisoned_tools", "truth.findings"]
    lines = made.stdout.splitlines()
    assert [line.rpartition(" - at ")[2].strip("`") for line in lines[:-2]] == open_fields
    assert lines[-2:] == [
        "tasks/tickets/task.draft.json: mcp_server, 4 fields to decide",
        "tasks/tickets/task.draft.txt: where everything was found",
    ]
    refused = called("tasks", "check", "tasks", cwd=task.parents[1])
    todo = [line for line in refused.stdout.splitlines() if line.startswith("tasks/tickets/task.draft.json: TODO: ")]
    assert (refused.returncode, len(todo), refused.stdout.splitlines()[-1]) == (1, 4, "1 tasks, 1 drafts, 4 problems")

    decide(task / "task.draft.json")
    assert fields_of(task) == ["truth.verdict"]
    decide(task / "task.draft.json", verdict="BLOCK")
    sound = called("tasks", "check", str(task / "task.draft.json"))
    assert (
        sound.returncode,
        "note: nothing is left to decide: renamed to task.json it is the task" in sound.stdout,
    ) == (
        0,
        True,
    )
    assert read_task(task).task.truth is None  # until somebody renames it
    (task / "task.draft.json").rename(task / "task.json")
    truth = read_task(task).task.truth
    assert truth is not None
    assert (truth.verdict, truth.manifest_sha256) == ("BLOCK", BUNDLE.truth.manifest_sha256)
    assert set(truth.poisoned_tools or ()) == set(BUNDLE.truth.poisoned_tools or ())
    assert set(truth.policy_rules or ()) == set(BUNDLE.truth.policy_rules or ())


def test_a_draft_that_is_renamed_too_early_is_never_served(task: Path) -> None:
    assert called("tasks", "draft", str(task)).returncode == 0
    whole = json.loads((task / "task.draft.json").read_text())
    (task / "task.draft.json").rename(task / "task.json")
    for name, value in whole["truth"].items():  # each open field alone keeps it from being a task
        if value == "TODO" or isinstance(value, list):
            (task / "task.json").write_text(json.dumps(whole))
            message = {other: None for other in whole["truth"] if other != name} | {name: value}
            message["verdict"] = message["verdict"] or "ALLOW"
            (task / "task.json").write_text(json.dumps(whole | {"truth": message}))
            with pytest.raises(TaskError):
                read_task(task)
            problems = json.loads(called("tasks", "check", str(task), "--json").stdout)["tasks"][0]["problems"]
            assert [problem["field"] for problem in problems] == [f"truth.{name}"]


def test_what_somebody_decided_is_never_overwritten(task: Path) -> None:
    assert called("tasks", "draft", str(task)).returncode == 0
    decide(task / "task.draft.json", verdict="BLOCK")
    decided = (task / "task.draft.json").read_bytes()
    again = called("tasks", "draft", str(task))
    assert (again.returncode, again.stdout, len(again.stderr.splitlines())) == (2, "", 1)
    assert "holds a draft already" in again.stderr
    assert (task / "task.draft.json").read_bytes() == decided
    (task / "task.draft.json").rename(task / "task.json")
    again = called("tasks", "draft", str(task))
    assert (again.returncode, len(again.stderr.splitlines())) == (2, 1)
    assert "has a truth, which somebody decided" in again.stderr
    assert not (task / "task.draft.json").exists()
    assert answered("tasks", "draft", str(task), "--replace")["todo"][0] == "truth.verdict"
    assert (task / "task.json").read_bytes() == decided


def test_an_export_is_compared_with_the_pins_and_a_draft_is_no_task(task: Path, tmp_path: Path) -> None:
    export = tmp_path / "PyPI"
    export.mkdir()
    (export / "one.json").write_text('{"id": "PYSEC-1", "affected": []}')
    found = answered("tasks", "draft", str(task), "--advisories", str(export))
    assert found["draft"]["skill_type"] == "mcp_server"
    assert found["against"] == "1 advisories, 0 of them unread"
    (task / "task.json").unlink()
    assert find_tasks(task) == []  # no source takes the bundle for a task
    assert len(fields_of(task)) == 4


def test_drafts_never_travel_to_miners(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    skill.mkdir()
    for name in ("SKILL.md", "task.draft.json", "task.draft.txt"):
        (skill / name).write_text("# Skill\n")
    assert {note.partition(":")[0] for note in pack_task(skill).notes} >= {
        "left out `task.draft.json`",
        "left out `task.draft.txt`",
    }


def holding(data: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "bundle.tar.gz").write_bytes(data)
        task = Task("1.0", SkillType.DECLARATIVE, None, sha256_hex(data), "none", None, None)
        (folder / "task.json").write_bytes(msgspec.json.encode(task))

    return make


def with_task(document: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        holding(pack({"SKILL.md": b"# Skill\n"}))(folder)
        (folder / "task.json").write_bytes(document)

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "`task` holds no bundle.tar.gz: make its task first (`validator tasks pack`)"),
        (holding(pack({})), "the bundle holds no file"),
        (holding(bytes(MAX_BUNDLE_COMPRESSED + 1)), "is larger than 8388608 bytes"),
        (holding(pack({"a.bin": bytes(range(256)), "manifest.json": b"{}"})), "nothing in the bundle is text"),
        (with_task(b"\xff\xfe{}"), "task.json: "),
        (holding(b"\x1f\x8b" + bytes(100)), " - at `bundle`"),
    ],
    ids=["missing", "none", "huge", "binary", "task", "torn"],
)
def test_what_cannot_be_drafted_gets_one_line_and_leaves_nothing(
    make: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    make(folder)
    before = sorted(folder.iterdir())
    done = called("tasks", "draft", str(folder))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert message in done.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--advisories", "absent.zip"], "`absent.zip` is not there"),
        (["--advisories", "."], "holds no advisory in the form of OSV"),
    ],
)
def test_options_that_cannot_be_meant(arguments: list[str], message: str, task: Path) -> None:
    done = called("tasks", "draft", str(task), *arguments, cwd=task)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert sorted(path.name for path in task.iterdir()) == ["bundle.tar.gz", "task.json"]
