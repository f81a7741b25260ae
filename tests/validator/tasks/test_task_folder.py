import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from task_builders import SKILL, make_task, make_truth, numbered, plain, write_task

from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from validator.tasks.folder import find_tasks, read_task
from validator.tasks.source import SourcedTask, TaskError

LINES = {"docs/a.md": b"one\ntwo\nthree\n"}


def written(folder: Path, task: SourcedTask, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Path:
    document = plain(task.task)
    change(document)
    write_task(folder, task)
    (folder / "task.json").write_text(json.dumps(document))
    return folder


def set_to(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update(fields)


def test_a_folder_gives_its_task_and_bundle(tmp_path: Path) -> None:
    task = make_task(truth=make_truth(reference_risk=0.25), canary="SKILL.md")
    assert read_task(write_task(tmp_path / "t", task)) == task


@pytest.mark.parametrize("prefix", ["", "./", "greet/"])
def test_an_archive_of_the_two_gives_the_same(tmp_path: Path, prefix: str) -> None:
    task = make_task()
    folder = write_task(tmp_path / "t", task)
    archive = tmp_path / "t.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("task.json", "bundle.tar.gz"):
            tar.add(folder / name, prefix + name)
    assert read_task(archive) == task


def test_hashes_are_lower_case_once_loaded(tmp_path: Path) -> None:
    task = make_task(truth=make_truth(manifest_sha256="ab" * 32), skill_type=SkillType.MCP_SERVER)

    def shout(document: dict[str, Any]) -> None:
        document["bundle_sha256"] = document["bundle_sha256"].upper()
        document["truth"]["manifest_sha256"] = document["truth"]["manifest_sha256"].upper()

    assert read_task(written(tmp_path / "t", task, shout)) == task


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (set_to(bundle_sha256="0" * 64), "`bundle_sha256`"),
        (set_to(windows={"primary": [5, 5], "auditor": [1, 2]}), "`windows.primary`"),
        (set_to(windows={"primary": [5, 10], "auditor": [3, 2]}), "`windows.auditor`"),
        (set_to(windows={"primary": [5, 10], "auditor": [1, 11]}), "`windows.auditor`"),
        (set_to(windows={"primary": [-1, 10], "auditor": [1, 2]}), "windows.primary"),
        (set_to(windows={"primary": [float("nan"), 10], "auditor": [1, 2]}), "task.json"),
        (set_to(windows={"primary": [0, 1e400], "auditor": [1, 2]}), "task.json"),
        (set_to(provenance="curated"), "`truth`"),
        (set_to(provenance="hearsay"), "provenance"),
        (set_to(canary={"file": "absent.md"}), "`canary.file`"),
        (set_to(canary={"file": "./SKILL.md"}), "`canary.file`"),
        (set_to(canary={"file": "../SKILL.md"}), "`canary.file`"),
        (set_to(skill_type="executable_python", canary={"file": "SKILL.md"}), "`canary`"),
        (set_to(skill_type="poetry"), "skill_type"),
        (set_to(surprise=1), "surprise"),
    ],
)
def test_a_task_that_cannot_be_meant_is_refused_with_its_field(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], fault: str
) -> None:
    with pytest.raises(TaskError, match="`greet-task`") as caught:
        read_task(written(tmp_path / "greet-task", make_task(), change))
    assert fault in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("ref", ["docs/a.md", "docs/a.md#L1-L3", "span::docs/./a.md#L3"])
def test_injections_that_resolve_are_taken(tmp_path: Path, ref: str) -> None:
    task = make_task(LINES, skill_type=SkillType.RAG_KNOWLEDGE, truth=make_truth(injections=(ref,)))
    assert read_task(write_task(tmp_path / "t", task)) == task


@pytest.mark.parametrize("ref", ["docs/b.md", "docs/a.md#L4", "docs/a.md#L3-L4", "docs", "/docs/a.md", "a#b"])
def test_injections_that_do_not_resolve_are_refused(tmp_path: Path, ref: str) -> None:
    task = make_task(LINES, skill_type=SkillType.RAG_KNOWLEDGE, truth=make_truth(injections=("docs/a.md", ref)))
    with pytest.raises(TaskError, match=r"`truth\.injections\[1\]`"):
        read_task(write_task(tmp_path / "t", task))


def test_a_canary_file_that_evidence_cannot_name_is_refused(tmp_path: Path) -> None:
    task = make_task({"a#L1": b"x\n"}, canary="a#L1")
    with pytest.raises(TaskError, match=r"`canary\.file`"):
        read_task(write_task(tmp_path / "t", task))


def test_a_bundle_that_its_marker_takes_over_a_limit_is_refused(tmp_path: Path) -> None:
    just_fits = b"\n" * (16 * 1024 * 1024 - 10)
    noise = os.urandom(200_000)
    fine = make_task({"a.md": just_fits, "noise": noise})
    assert read_task(write_task(tmp_path / "fine", fine)).bundle == fine.bundle
    with pytest.raises(TaskError, match="marker"):
        read_task(write_task(tmp_path / "t", make_task({"a.md": just_fits, "noise": noise}, canary="a.md")))


def rogue(*members: tarfile.TarInfo) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return raw.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


BAD_BUNDLES = {
    "no gzip": b"hello",
    "empty": b"",
    "no files": pack({}),
    "symlink": rogue(member("SKILL.md", tarfile.SYMTYPE, "/etc/passwd")),
    "hard link": rogue(member("a"), member("SKILL.md", tarfile.LNKTYPE, "a")),
    "device": rogue(member("SKILL.md", tarfile.CHRTYPE)),
    "fifo": rogue(member("SKILL.md", tarfile.FIFOTYPE)),
    "absolute": rogue(member("/SKILL.md")),
    "dot-dot": rogue(member("a/../../SKILL.md")),
    "backslash": rogue(member("a\\SKILL.md")),
    "twice": rogue(member("SKILL.md"), member("./SKILL.md")),
    "decomposed name": rogue(member("e\u0301.md")),
    "control character": rogue(member("a\nb.md")),
    "bomb": pack({"zeros": bytes(8_000_000)}),
    "many": rogue(*(member(f"f{i}") for i in range(4_097))),
    "cut short": pack(SKILL)[:-9],
    "trailing": pack(SKILL) + b"x",
}


@pytest.mark.parametrize("name", BAD_BUNDLES)
def test_a_bundle_that_does_not_unpack_safely_is_refused(tmp_path: Path, name: str) -> None:
    bundle = BAD_BUNDLES[name]
    task = make_task(bundle_sha256=sha256_hex(bundle))
    with pytest.raises(TaskError, match="`bundle`"):
        read_task(write_task(tmp_path / "t", SourcedTask(task.task, bundle)))


def test_odd_but_honest_names_are_taken(tmp_path: Path) -> None:
    task = make_task(
        {"übung/日本語 .md": b"x\n", "a b/…#1.md": b"y", "🙂": b"", "-rf": b"z"}, canary="übung/日本語 .md"
    )
    assert read_task(write_task(tmp_path / "t", task)) == task


@pytest.mark.parametrize("missing", ["task.json", "bundle.tar.gz"])
def test_a_missing_part_is_named(tmp_path: Path, missing: str) -> None:
    folder = write_task(tmp_path / "half", make_task())
    (folder / missing).unlink()
    with pytest.raises(TaskError, match=f"`half`.*{missing}"):
        read_task(folder)


def test_a_pipe_in_place_of_the_bundle_does_not_block(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "t", make_task())
    (folder / "bundle.tar.gz").unlink()
    os.mkfifo(folder / "bundle.tar.gz")
    with pytest.raises(TaskError, match="no regular file"):
        read_task(folder)


def test_oversized_parts_are_not_read_whole(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "t", make_task())
    os.truncate(folder / "bundle.tar.gz", 1 << 40)  # sparse: reading it whole would not end well
    with pytest.raises(TaskError, match="larger than"):
        read_task(folder)


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ([member("task.json")], r"no bundle\.tar\.gz"),
        ([member("deep/er/task.json"), member("bundle.tar.gz")], r"no task\.json"),
        ([member("task.json"), member("x/task.json"), member("bundle.tar.gz")], "more than one"),
        ([member("task.json", tarfile.SYMTYPE, "/etc/passwd"), member("bundle.tar.gz")], "regular"),
        ([member("../task.json"), member("bundle.tar.gz")], "plain relative"),
        ([member(f"f{i}") for i in range(17)], "entries"),
        ([member("task.json", size=9_000_000), member("bundle.tar.gz")], "size"),
    ],
)
def test_a_rogue_archive_is_refused(tmp_path: Path, members: list[tarfile.TarInfo], fault: str) -> None:
    (tmp_path / "rogue.tgz").write_bytes(rogue(*members))
    with pytest.raises(TaskError, match=rf"`rogue\.tgz`.*{fault}"):
        read_task(tmp_path / "rogue.tgz")


def test_names_in_messages_are_harmless(tmp_path: Path) -> None:
    with pytest.raises(TaskError) as caught:
        read_task(tmp_path / "a\nb\u202e")
    assert str(caught.value).isprintable()


def test_tasks_are_found_at_any_depth_in_order(tmp_path: Path) -> None:
    write_task(tmp_path / "b", numbered(1))
    write_task(tmp_path / "a" / "deep" / "task", numbered(2))
    write_task(tmp_path / "b" / "inside", numbered(3))  # below a task: part of its folder
    write_task(tmp_path / ".hidden", numbered(4))
    (tmp_path / "c.tar.gz").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("no task")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in find_tasks(tmp_path)] == ["a/deep/task", "b", "c.tar.gz"]
    assert find_tasks(tmp_path / "b") == [tmp_path / "b"]
    assert find_tasks(tmp_path / "c.tar.gz") == [tmp_path / "c.tar.gz"]


def test_a_root_that_cannot_be_listed_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="`gone`"):
        find_tasks(tmp_path / "gone")
