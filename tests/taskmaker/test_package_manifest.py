"""The manifest of packages: what it records, and that it makes the same bundles again or says why not."""

import json
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from publisher.packages import purl_of
from taskmaker.package_packing import Rebuilt, pack_path, rebuild
from taskmaker.packing import PackOptions, json_file
from validator.tasks.folder import read_task
from validator.tasks.package_manifest import Packages, read_packages
from validator.tasks.source import TaskError

ENTRY = {
    "name": "a",
    "source": "./a.zip",
    "package": None,
    "version": None,
    "artifact": None,
    "bundle_sha256": "0" * 64,
    "skill_type": "declarative",
    "canary": None,
    "windows": None,
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with sources of each kind that needs no tool, a manifest of them in `kept`, and their tasks."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text("# x\n")
    with zipfile.ZipFile(tmp_path / "kept" / "docs.zip", "w") as archive:
        archive.writestr("docs/a.md", "one\n")
        archive.writestr("docs/b.md", "two\n")
    packed_to(tmp_path, "skill", str(tmp_path / "skill"))
    packed_to(tmp_path, "docs", str(tmp_path / "kept" / "docs.zip"))
    packed_to(tmp_path, "installed", "iniconfig")
    return tmp_path


def packed_to(place: Path, name: str, what: str, options: PackOptions | None = None) -> None:
    pack_path(what, place / "first" / name, options, place / "kept" / "packages.json")


def again(place: Path, out: str = "second", *, replace: bool = False) -> dict[str, Rebuilt]:
    found = list(rebuild(place / "kept" / "packages.json", place / out, replace=replace))
    return {one.package.name: one for one in found}


def test_every_package_is_made_again_wherever_the_manifest_went(place: Path) -> None:
    moved = place / "moved"
    moved.mkdir()
    shutil.move(place / "kept", moved / "kept")
    shutil.move(place / "skill", moved / "skill")
    found = again(moved)
    assert list(found) == ["docs", "installed", "skill"]
    assert [one.fault for one in found.values()] == [None] * 3
    for name in found:
        assert read_task(moved / "second" / name).task == read_task(place / "first" / name).task


def test_what_it_records(place: Path) -> None:
    document = json.loads((place / "kept" / "packages.json").read_bytes())
    docs, installed, skill = document["packages"]
    assert (docs["source"], installed["source"], skill["source"]) == ("./docs.zip", "iniconfig", "../skill")
    assert docs["artifact"]["name"] == "docs.zip"
    assert installed["version"] is not None
    assert skill["artifact"] is None
    assert skill["canary"] == "SKILL.md"
    assert skill["bundle_sha256"] == read_task(place / "first" / "skill").task.bundle_sha256
    assert str(place) not in json.dumps(document)


def test_what_hashes_otherwise_is_refused_and_the_others_are_made(place: Path) -> None:
    (place / "skill" / "SKILL.md").write_text("# y\n")
    with zipfile.ZipFile(place / "kept" / "docs.zip", "a") as archive:
        archive.writestr("more/", b"")  # the same files in another archive
    found = again(place)
    assert found["installed"].fault is None
    assert "`skill`: the bundle hashes to " in str(found["skill"].fault)
    assert "`docs`: the file hashes to " in str(found["docs"].fault)
    assert sorted(path.name for path in (place / "second").iterdir()) == ["installed"]


def test_a_task_that_is_there_is_left_and_another_replaced_only_when_asked(place: Path) -> None:
    again(place)
    kept = place / "second" / "skill" / "task.json"
    before = kept.stat()
    shutil.rmtree(place / "second" / "docs")
    shutil.copytree(place / "first" / "installed", place / "second" / "docs")
    found = again(place)
    assert [one.there for one in found.values()] == [False, True, True]
    assert "holds another task already" in str(found["docs"].fault)
    assert again(place, replace=True)["docs"].fault is None
    assert read_task(place / "second" / "docs").task == read_task(place / "first" / "docs").task
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_packing_again_takes_the_entry_s_place(place: Path) -> None:
    (place / "skill" / "SKILL.md").write_text("# y\n")
    packed_to(place, "skill", str(place / "skill"), PackOptions(replace=True))
    assert len(read_packages(place / "kept" / "packages.json").packages) == 3
    assert again(place)["skill"].fault is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "../up"}, "`name` must be letters"),
        ({"name": ".hidden"}, "`name` must be letters"),
        ({"name": "-rf"}, "`name` must be letters"),
        ({"bundle_sha256": "0"}, "bundle_sha256"),
        ({"skill_type": "workflow"}, "skill_type"),
        ({"more": 1}, "more"),
    ],
)
def test_a_manifest_that_is_none_is_refused_with_its_field(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    document = {"manifest_version": "1.0", "packages": [{**ENTRY, **changes}]}
    (tmp_path / "p.json").write_text(json.dumps(document))
    with pytest.raises(TaskError, match=r"`p\.json`: ") as caught:
        list(rebuild(tmp_path / "p.json", tmp_path / "out", replace=False))
    assert message in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "./absent"}, "`absent` is no folder"),
        ({"source": "absent-distribution"}, "no installed distribution"),
    ],
)
def test_a_source_that_does_not_exist_is_one_line(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    document = {"manifest_version": "1.0", "packages": [{**ENTRY, **changes}]}
    (tmp_path / "p.json").write_text(json.dumps(document))
    (one,) = rebuild(tmp_path / "p.json", tmp_path / "out", replace=False)
    assert message in str(one.fault)
    assert str(one.fault).isprintable()


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 99, b'{"manifest_version": "2.0", "packages": []}'])
def test_what_is_no_manifest_is_never_written_over(place: Path, content: bytes) -> None:
    (place / "kept" / "packages.json").write_bytes(content)
    with pytest.raises(TaskError, match=r"`packages\.json`"):
        packed_to(place, "other", str(place / "skill"))
    assert (place / "kept" / "packages.json").read_bytes() == content
    assert not (place / "first" / "other").exists()


def test_a_manifest_of_nothing_and_a_name_that_none_takes(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"`p\.json` holds no package"):
        list(rebuild(tmp_path / "p.json", tmp_path, replace=False))
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text("x\n")
    with pytest.raises(TaskError, match=r"`name` must be letters.*name another folder"):
        pack_path(tmp_path / "skill", tmp_path / "a b", None, tmp_path / "p.json")
    assert not (tmp_path / "p.json").exists()


def test_packages_that_are_packed_at_once_are_all_recorded(place: Path) -> None:
    names = [f"at-once-{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as several:
        list(several.map(lambda name: packed_to(place, name, str(place / "skill")), names))
    recorded = {package.name for package in read_packages(place / "kept" / "packages.json").packages}
    assert recorded == {"docs", "installed", "skill", *names}
    assert [each.name for each in (place / "kept").iterdir() if each.suffix == ".part"] == []


def test_a_task_and_its_entry_are_written_together_or_not_at_all(place: Path) -> None:
    manifest = place / "kept" / "packages.json"
    before = manifest.read_bytes()
    (place / "first" / "taken").write_text("no folder")
    with pytest.raises(TaskError, match="`taken` cannot be written"):
        packed_to(place, "taken", str(place / "skill"))
    assert manifest.read_bytes() == before
    one = read_packages(manifest).packages[0]
    full = Packages("1.0", tuple(msgspec.structs.replace(one, name=f"p{number}") for number in range(1_024)))
    manifest.write_bytes(json_file(msgspec.to_builtins(full)))
    with pytest.raises(TaskError, match=r"`packages\.json`: .*1024"):
        packed_to(place, "one-more", str(place / "skill"))
    assert len(read_packages(manifest).packages) == 1_024
    assert not (place / "first" / "one-more").exists()


def test_a_package_of_a_registry_is_recorded_and_has_a_url(place: Path) -> None:
    def recorded(package: str) -> str | None:
        options, manifest = PackOptions(replace=True), place / "kept" / "packages.json"
        pack_path(place / "kept" / "docs.zip", place / "first" / "docs", options, manifest, package)
        return purl_of(read_packages(manifest).packages[0])

    assert recorded("pypi:Some_Docs==1.0+local") == "pkg:pypi/some-docs@1.0%2Blocal"
    assert recorded("npm:@scope/docs@1.2.3") == "pkg:npm/%40scope/docs@1.2.3"
    for package in ("pypi:docs", "npm:docs@latest", "npm:docs@1.0.0#subdirectory=a", "git+https://h/docs@" + "0" * 40):
        assert recorded(package) is None
    assert again(place)["docs"].fault is None
    for package in ("docs", "pypi:--index-url=x"):
        with pytest.raises(TaskError, match=r"does not begin with|is not of the form"):
            recorded(package)


def test_a_manifest_that_cannot_be_written_is_told_before_anything_is_packed(place: Path) -> None:
    with pytest.raises(TaskError, match=r"`p\.json` cannot be written: No such file or directory"):
        pack_path("never-asked", place / "new", None, place / "absent" / "p.json")
    with pytest.raises(TaskError, match=r"`p\.json` cannot be written: Not a directory"):
        pack_path("never-asked", place / "new", None, place / "skill" / "SKILL.md" / "p.json")
