"""`validator tasks …`: packing, checking and serving, as a user would."""

import asyncio
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from cli_store import PROGRAM, answered, called, environment, validator
from workflow_builders import task_document

from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.sources import SystemClock
from validator.cli.session import clean_at_sigterm
from validator.tasks.folder import read_task
from validator.tasks.http import HttpSource
from validator.tasks.source import InTurn, SourcedTask, TaskSourceError

ALICE, BOB = Signer.from_uri("//Alice"), Signer.from_uri("//Bob")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "greeter"
    folder.mkdir()
    (folder / "SKILL.md").write_text("# Greet\n\nSay hello.\n")
    return folder


def truth_file(folder: Path, **changes: object) -> Path:
    names = (
        "policy_rules",
        "injections",
        "reference_risk",
        "shell_commands",
        "manifest_sha256",
        "poisoned_tools",
        "transitive_risk",
    )
    path = folder / "truth.json"
    path.write_text(json.dumps({"verdict": "ALLOW", **dict.fromkeys(names), **changes}))
    return path


def test_a_folder_becomes_a_task_that_checks(skill: Path, tmp_path: Path) -> None:
    done = validator("tasks", "pack", str(skill), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    task = read_task(tmp_path / "tasks" / "greeter")
    assert task.task.skill_type is SkillType.DECLARATIVE
    assert f"bundle {task.task.bundle_sha256}, provenance none" in done.stdout
    checked = validator("tasks", "check", "tasks", cwd=tmp_path)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout == (
        "tasks/greeter: note: none: answers are scored against their group (D-7) - at `truth`\n1 tasks, 0 problems\n"
    )


def test_everything_about_a_task_can_be_said(skill: Path, tmp_path: Path) -> None:
    truth = truth_file(tmp_path, reference_risk=0.25)
    arguments = [
        "--type",
        "rag_knowledge",
        "--output",
        str(tmp_path / "out"),
        "--truth",
        str(truth),
        "--canary",
        "SKILL.md",
    ]
    windows = ["--window", "primary=0:6", "--window", "auditor=0:2.5"]
    found = answered("tasks", "pack", str(skill), *arguments, *windows)
    task = read_task(tmp_path / "out").task
    assert found == {
        "path": str(tmp_path / "out"),
        "skill_type": "rag_knowledge",
        "skill_type_reason": "it was named",
        "bundle_sha256": task.bundle_sha256,
        "bundle_bytes": (tmp_path / "out" / "bundle.tar.gz").stat().st_size,
        "files": 2,
        "version": None,
        "artifact": None,
        "provenance": "curated",
        "windows": {"primary": [0.0, 6.0], "auditor": [0.0, 2.5]},
        "canary": "SKILL.md",
        "notes": ["added manifest.json"],
    }
    assert task.windows is not None
    assert task.windows.auditor == (0, 2.5)
    assert task.truth is not None
    assert task.truth.reference_risk == 0.25

    again = called("tasks", "pack", str(skill), "--out", str(tmp_path / "out"))
    assert (again.returncode, again.stdout) == (2, "")
    assert "holds a task already" in again.stderr
    assert called("tasks", "pack", str(skill), "--out", str(tmp_path / "out"), "--replace").returncode == 0
    assert read_task(tmp_path / "out").task.truth is None


def test_an_installed_distribution_becomes_a_task(tmp_path: Path) -> None:
    found = answered("tasks", "pack", "structlog", "--type", "executable_python", cwd=tmp_path)
    assert found["path"] == "tasks/structlog"
    (task,) = answered("tasks", "check", "tasks", cwd=tmp_path)["tasks"]
    assert (task["path"], task["problems"]) == ("tasks/structlog", [])
    assert [note["field"] for note in task["notes"]] == ["truth", "skill_type"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--window", "primary=0:6"], "give primary and auditor, once each"),
        (["--window", "primary=0:6", "--window", "primary=0:5"], "give primary and auditor, once each"),
        (["--window", "primary=0:6\x1b"], r"primary=0:6\u001b is not ROLE=T_MIN:DEADLINE"),
        (["--window", "primary=nan:6"], "is not ROLE=T_MIN:DEADLINE"),
        (["--window", "primary=0:99999", "--window", "auditor=0:1"], "<= 86400"),
        (["--window", "primary=6:5", "--window", "auditor=0:1"], "the deadline must exceed t_min"),
        (["--window", "primary=0:5", "--window", "auditor=0:6"], "an auditor's deadline must not be later"),
        (["--type", "novel"], "novel"),
        (["--canary", "absent.md"], "absent.md"),
        (["--truth", "absent.json"], "absent.json"),
    ],
)
def test_what_cannot_be_packed_is_refused(skill: Path, tmp_path: Path, arguments: list[str], fault: str) -> None:
    done = called("tasks", "pack", str(skill), *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert fault in done.stderr
    assert "\x1b" not in done.stderr
    assert not (tmp_path / "tasks").exists()


def test_every_problem_gets_a_line(skill: Path, tmp_path: Path) -> None:
    assert called("tasks", "pack", str(skill), "--out", "all/good", cwd=tmp_path).returncode == 0
    truth = truth_file(tmp_path, injections=["x.md", "SKILL.md#L99"])
    assert called("tasks", "pack", str(skill), "--out", "all/bad", cwd=tmp_path).returncode == 0
    document = json.loads((tmp_path / "all/bad/task.json").read_text())
    document |= {"truth": json.loads(truth.read_text()), "provenance": "curated", "bundle_sha256": "0" * 64}
    (tmp_path / "all/bad/task.json").write_text(json.dumps(document))
    (tmp_path / "all/worse\x1b[31m").mkdir()
    (tmp_path / "all/worse\x1b[31m/task.json").write_text("{")
    done = called("tasks", "check", "all", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    *problems, total = done.stdout.splitlines()
    assert total == "3 tasks, 4 problems"
    lines = [re.sub(r": .*", "", line) for line in problems if ": note: " not in line]
    assert lines == ["all/bad"] * 3 + [r"all/worse\u001b[31m"]
    as_json = called("tasks", "check", "all", "--json", cwd=tmp_path)
    assert as_json.returncode == 1
    found = [[problem["field"] for problem in task["problems"]] for task in json.loads(as_json.stdout)["tasks"]]
    assert found == [["bundle_sha256", "truth.injections[0]", "truth.injections[1]"], [], [None]]


def test_a_folder_without_tasks_is_a_problem_and_one_that_is_not_there_bad_input(tmp_path: Path) -> None:
    empty = called("tasks", "check", str(tmp_path))
    assert (empty.returncode, empty.stdout.splitlines()[-1]) == (1, "1 tasks, 1 problems")
    absent = called("tasks", "check", str(tmp_path / "absent"))
    assert (absent.returncode, absent.stdout) == (2, "")
    assert len(absent.stderr.splitlines()) == 1


async def fetch(url: str, signer: Signer) -> list[SourcedTask]:
    source = HttpSource(url, ALICE.hotkey, signer, SystemClock())
    try:
        return await source.fetch(SkillType.DECLARATIVE, 2, InTurn())
    finally:
        await source.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_tasks_are_served_until_a_signal(skill: Path, tmp_path: Path, number: signal.Signals) -> None:
    assert called("tasks", "pack", str(skill), cwd=tmp_path).returncode == 0
    options = ["--port", "0", "--hotkey-uri", "//Alice", "--validator", BOB.hotkey]
    with subprocess.Popen(
        [*PROGRAM, "tasks", "serve", "tasks", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
    ) as server:
        assert server.stdout
        assert server.stderr
        try:
            line = server.stdout.readline()
            ready = re.fullmatch(r"serving tasks at (http://127\.0\.0\.1:[0-9]+) as (\w+)\n", line)
            assert ready
            assert ready[2] == ALICE.hotkey
            found = asyncio.run(fetch(ready[1], BOB))
            assert [task.task for task in found] == [read_task(tmp_path / "tasks/greeter").task]
            with pytest.raises(TaskSourceError, match="status 403"):
                asyncio.run(fetch(ready[1], ALICE))
            server.send_signal(number)
            assert server.wait(timeout=60) == 0
            assert server.stdout.read() == ""
            assert "Traceback" not in server.stderr.read()
        finally:
            server.kill()


def test_what_cannot_be_served(tmp_path: Path) -> None:
    named = ["--validator", BOB.hotkey]
    (tmp_path / "my.toml").write_text('[validator]\nnetuid = 1\n[wallet]\nname = "nobody"\npath = "."\n')
    for arguments, code, fault in (
        ([".", "--hotkey-uri", "//Alice"], 2, "name the hotkey of each validator that is served"),
        (["absent", "--hotkey-uri", "//Alice", *named], 2, "cannot be listed"),
        ([".", "--hotkey-uri", "twelve words of a mnemonic", *named], 2, "must be a derivation path such as //Alice"),
        ([".", "--hotkey-uri", "//Alice", "--validator", "5x"], 2, "5x is no ss58 address"),
        ([".", "--hotkey-uri", "//Alice", "--host", "192.0.2.1", *named], 3, "192.0.2.1"),
        ([".", *named], 2, "no settings file"),
        ([".", "--config", "my.toml", *named], 11, "hotkey `default` of wallet `nobody`"),
    ):
        done = called("tasks", "serve", *arguments, "--port", "0", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (code, ""), arguments
        assert fault in done.stderr
        assert "mnemonic" not in done.stderr


def test_a_task_whose_code_is_run_is_noted_and_no_problem(tmp_path: Path) -> None:
    for kind in ("code", "rag"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "workflow.json").write_text(json.dumps(task_document(kind)))
    done = called("tasks", "check", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    _, note, of_text, total = done.stdout.splitlines()
    assert of_text.startswith("rag/workflow.json: note: worth 1: ")
    assert note.startswith("code/workflow.json: note: its plans' code is judged by running its tests")
    assert "container engine" in note
    assert total == "2 tasks, 0 problems"
    found = answered("tasks", "check", ".", cwd=tmp_path)["tasks"]
    assert [len(one["notes"]) for one in found] == [2, 1]


def test_a_workflow_is_checked_like_any_task(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "cat"
    folder.mkdir(parents=True)
    (folder / "workflow.json").write_text(json.dumps(task_document()))
    sound = called("tasks", "check", "tasks", cwd=tmp_path)
    note, total = sound.stdout.splitlines()
    assert note.startswith("tasks/cat/workflow.json: note: worth 1: ")
    assert (sound.returncode, total, sound.stderr) == (0, "1 tasks, 0 problems", "")
    (folder / "workflow.json").write_text(json.dumps(task_document(goal=" ")))
    broken = called("tasks", "check", "tasks/cat/workflow.json", cwd=tmp_path)
    shown = "tasks/cat/workflow.json: workflow.json: blank - at `goal`\n1 tasks, 1 problems\n"
    assert (broken.returncode, broken.stdout, broken.stderr) == (1, shown, "")


def test_a_manifest_makes_its_packages_again(skill: Path, tmp_path: Path) -> None:
    arguments = ("tasks", "pack", "--manifest", "packages.json", "--output")
    first = validator(*arguments, "tasks/greeter", str(skill), cwd=tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    assert "declarative: it holds SKILL.md" in first.stdout
    done = validator(*arguments, "again", cwd=tmp_path)
    bundle = read_task(tmp_path / "tasks" / "greeter").task.bundle_sha256
    assert (done.returncode, done.stdout) == (0, f"again/greeter: bundle {bundle}\n1 packages, 0 refused\n")
    (skill / "SKILL.md").write_text("other\n")
    refused = validator(*arguments, "third", "--json", cwd=tmp_path)
    assert refused.returncode == 1
    (package,) = json.loads(refused.stdout)["packages"]
    assert (package["name"], package["source"], package["there"]) == ("greeter", "./greeter", False)
    assert package["fault"].startswith("`greeter`: the bundle hashes to ")
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a SOURCE, or a --manifest"),
        (["--manifest", "packages.json", "--type", "declarative"], "go with a SOURCE"),
        (["--manifest", "packages.json"], "`packages.json` holds no package"),
        (["absent", "--manifest", "absent/packages.json"], "`packages.json` cannot be written: No such file"),
    ],
)
def test_packing_nothing_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = called("tasks", "pack", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_sigterm_ends_a_command_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        clean_at_sigterm()
        with pytest.raises(SystemExit) as ended:
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 128 + signal.SIGTERM
