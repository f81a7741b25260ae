"""Zips and tars that are no wheel and no sdist: npm packages, downloads of repositories, and hostile ones."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from validator.protocol.bundles import read_bundle
from validator.tasks import collection
from validator.tasks.packing import pack_task
from validator.tasks.source import TaskError


def tar(path: Path, files: dict[str, bytes], *, mode: str = "w:gz", extra: tuple[tarfile.TarInfo, ...] = ()) -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in extra:
            archive.addfile(info)
    return path


def entry(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize("name", ["x.tar", "x.tgz", "x.tar.gz", "x.zip"])
def test_the_folder_that_holds_everything_is_left_off(tmp_path: Path, name: str) -> None:
    files = {"top/SKILL.md": b"x\n", "top/more/a.md": b"y\n"}
    path = tmp_path / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in files.items():
                archive.writestr(member, content)
    else:
        tar(path, files, mode="w" if name.endswith(".tar") else "w:gz")
    packed = pack_task(path)
    assert sorted(read_bundle(packed.task.bundle)) == ["SKILL.md", "manifest.json", "more/a.md"]


def test_an_npm_package_is_a_server_with_its_program(tmp_path: Path) -> None:
    package = {"name": "s", "version": "1.0.0", "bin": "i.js", "dependencies": {"@modelcontextprotocol/sdk": "1"}}
    files = {"package/package.json": json.dumps(package).encode(), "package/i.js": b"x", "package/README.md": b"r"}
    packed = pack_task(tar(tmp_path / "s-1.0.0.tgz", files))
    assert packed.task.task.skill_type == "mcp_server"
    assert json.loads(read_bundle(packed.task.bundle)["manifest.json"])["entry_point"] == "i.js"


def test_hostile_members_of_a_tar_are_left_out_one_note_each(tmp_path: Path) -> None:
    files = {
        "t/SKILL.md": b"a",
        "t/skill.MD": b"b",
        "t/../up.md": b"c",
        "t/\udcff.md": b"d",
        "t/a": b"e",
        "t/a/b.md": b"f",
    }
    extra = (
        entry("t/link.md", tarfile.SYMTYPE, "/etc/passwd"),
        entry("t/hard.md", tarfile.LNKTYPE, "t/SKILL.md"),
        entry("t/pipe", tarfile.FIFOTYPE),
        entry("t/SKILL.md", tarfile.REGTYPE),
    )
    packed = pack_task(tar(tmp_path / "h.tgz", files, extra=extra))
    assert sorted(read_bundle(packed.task.bundle)) == ["SKILL.md", "a/b.md", "manifest.json", "skill.MD"]
    assert all(note.isprintable() for note in packed.notes)
    for said in (
        "link.md",
        "hard.md",
        "pipe",
        "t/SKILL.md`: is in it twice",
        "up.md",
        "udcff",
        "`a`: a folder",
        "in case only",
    ):
        assert sum(said in note for note in packed.notes) == 1, said


def test_a_header_that_is_dear_to_read_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("t/a.md")
    info.pax_headers = {"comment": "1" * 15_000}  # quadratic in older tarfiles
    with pytest.raises(TaskError, match=r"`d\.tgz` .*digits"):
        pack_task(tar(tmp_path / "d.tgz", {}, extra=(info,)))


def test_more_entries_than_anybody_packs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "MAX_MEMBERS", 100)
    header = tarfile.TarInfo("t/a").tobuf()
    (tmp_path / "many.tar").write_bytes(header * 101 + bytes(1024))
    with pytest.raises(TaskError, match=r"`many\.tar` has more than 100 entries"):
        pack_task(tmp_path / "many.tar")


def test_an_archive_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.tgz").write_bytes(gzip.compress(bytes(32 * 1024 * 1024)))
    with pytest.raises(TaskError, match=r"`bomb\.tgz` would expand to more than [0-9]+ bytes"):
        pack_task(tmp_path / "bomb.tgz")


def test_dependencies_beside_a_skill_are_not_packed(tmp_path: Path) -> None:
    (tmp_path / "node_modules" / "x").mkdir(parents=True)
    (tmp_path / "node_modules" / "x" / "index.js").write_text("x")
    (tmp_path / "index.js").write_text("x")
    packed = pack_task(tmp_path)
    assert "node_modules/x/index.js" not in read_bundle(packed.task.bundle)
    assert any("`node_modules`: not part of a skill" in note for note in packed.notes)
