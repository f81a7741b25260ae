"""Archives and folders that hide a file from those who judge: submitted, gated, and as a task in a folder."""

import asyncio
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from archive_forms import FORMS, suffix_of
from attested import Attested
from cli_store import called
from test_attestation_commands import POLICY, Api, api  # noqa: F401 - a fixture
from world import VALIDATOR, one_round

from publisher.submission import NotTakenError, submit
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Task, Windows
from taskmaker.packing import PackOptions, json_file, pack_task
from validator.store import Store, open_store
from validator.tasks.folder import read_task
from validator.tasks.source import MemorySource, TaskError


async def test_no_form_is_taken_from_a_submitter(store: Store) -> None:
    world = Attested(store)
    for data in FORMS.values():
        with pytest.raises(NotTakenError, match="validator tasks pack"):
            await submit(store, data, SkillType.DECLARATIVE, world.clock.now(), 3)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_passes_the_gate_or_is_a_task(form: str, tmp_path: Path) -> None:
    data = FORMS[form]
    skill, policy = tmp_path / f"skill{suffix_of(data)}", tmp_path / "policy.toml"
    skill.write_bytes(data)
    policy.write_text(POLICY.format(url="http://127.0.0.1:1", hotkey=VALIDATOR.hotkey))
    done = called("attestation", "gate", str(skill), "--policy", str(policy))
    assert (done.returncode, "is ambiguous" in done.stderr) == (2, True), done.stderr
    task = Task("1.0", SkillType.DECLARATIVE, None, sha256_hex(data), "none", None, None)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "task.json").write_bytes(json_file(msgspec.to_builtins(task)))
    (tmp_path / "task" / "bundle.tar.gz").write_bytes(data)
    with pytest.raises(TaskError, match=r"no canonical bundle: .*`validator tasks pack FOLDER`"):
        read_task(tmp_path / "task")


async def _attested(folder: Path, skill: Path) -> tuple[str, bytes]:
    """Play a round that has the skill, and return its bundle's digest and the document that allows it."""
    packed = pack_task(skill, PackOptions(windows=Windows((0.5, 60.0), (0.5, 60.0))))
    sha256 = packed.task.task.bundle_sha256
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = Attested(store, source=MemorySource([packed.task]))
        world.publisher.valid = timedelta(days=3_650)
        await one_round(world)
        await world.retire(sha256)
        await world.vouch(world.key, days=3_650)
        return sha256, await world.document(sha256)


def _folder(skill: Path) -> None:
    (skill / ".git").mkdir()
    (skill / ".git" / "hook.py").write_text("evil")


def _backtick(skill: Path) -> None:
    (skill / ".git`.pyc").write_text("evil")


HIDDEN: dict[str, tuple[Callable[[Path], None], int]] = {
    "a folder": (_folder, 0),
    "a link": (lambda skill: (skill / ".git").symlink_to("/etc"), 0),
    "a file": (lambda skill: _written(skill / ".git"), 2),
    "a backtick": (_backtick, 2),
    "two backticks": (lambda skill: _written(skill / "`.git`.pyc"), 2),
    "a folder below": (lambda skill: (skill / "docs" / ".git").mkdir(parents=True), 2),
    "compiled": (lambda skill: _written(skill / "x.pyc"), 2),
    "a direction mark": (lambda skill: _written(skill / "a\u202eb.md"), 2),
    "case alone": (lambda skill: _written(skill / "Main.py"), 2),
}


def _written(file: Path) -> None:
    file.write_text("evil")


def test_what_a_bundle_leaves_out_passes_the_gate_by_its_whole_name_alone(tmp_path: Path, api: Api) -> None:  # noqa: F811
    (clean := tmp_path / "skill").mkdir()
    (clean / "main.py").write_text("def main(): pass\n")
    api.say("/{}".format(*(found := asyncio.run(_attested(tmp_path, clean)))), 200, found[1])
    policy = tmp_path / "policy.toml"

    def gate(skill: Path, ignore: str = "") -> tuple[int, str]:
        policy.write_text(ignore + POLICY.format(url=api.url, hotkey=VALIDATOR.hotkey))
        done = called("attestation", "gate", str(skill), "--policy", str(policy), "--json")
        return done.returncode, done.stdout + done.stderr

    assert gate(clean)[0] == 0
    for number, (how, (hide, ignoring)) in enumerate(HIDDEN.items()):
        skill = tmp_path / str(number) / "skill"
        shutil.copytree(clean, skill)
        hide(skill)
        assert gate(skill)[0] == 2, how
        code, line = gate(skill, 'ignore = [".git"]\n')
        assert code == ignoring, (how, line)
        if code == 0:
            decision = json.loads(line)
            assert decision["ignored"] == [".git"]
            assert decision["decision"].endswith("; not judged, by `ignore`: .git")
