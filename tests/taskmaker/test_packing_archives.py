"""Zips and tars that are no wheel and no sdist: npm packages, downloads of repositories, and hostile ones."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from archive_forms import FORMS, suffix_of

from sssa.protocol import limits
from sssa.protocol.bundles import read_bundle
from taskmaker.packing import pack_task
from validator.tasks.source import TaskError


def tar(path: Path, files: dict[str, bytes], *, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


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


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_of_another_form_is_refused(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"x{suffix_of(FORMS[form])}"
    path.write_bytes(FORMS[form])
    with pytest.raises(TaskError, match=r"the content of `x\.[a-z]+` is ambiguous: .*; extract it"):
        pack_task(path)


def test_more_entries_than_anybody_packs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_PACKAGE_ENTRIES", 100)
    headers = b"".join(tarfile.TarInfo(f"t/{n}").tobuf(tarfile.USTAR_FORMAT) for n in range(101))
    (tmp_path / "many.tar").write_bytes(headers + bytes(1024))
    with pytest.raises(TaskError, match=r"`many\.tar` .*too many entries"):
        pack_task(tmp_path / "many.tar")


def test_an_archive_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.tgz").write_bytes(gzip.compress(bytes(32 * 1024 * 1024)))
    with pytest.raises(TaskError, match=r"`bomb\.tgz` .*expands beyond its size limit"):
        pack_task(tmp_path / "bomb.tgz")


def test_dependencies_beside_a_skill_are_not_packed(tmp_path: Path) -> None:
    (tmp_path / "node_modules" / "x").mkdir(parents=True)
    (tmp_path / "node_modules" / "x" / "index.js").write_text("x")
    (tmp_path / "index.js").write_text("x")
    packed = pack_task(tmp_path)
    assert "node_modules/x/index.js" not in read_bundle(packed.task.bundle)
    assert any("`node_modules`: not part of a skill" in note for note in packed.notes)
