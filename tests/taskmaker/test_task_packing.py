import io
import json
import os
import tarfile
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from task_builders import make_truth

from sssa.protocol import limits
from sssa.protocol.answer import CanarySpec
from sssa.protocol.bundles import read_bundle
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from taskmaker.package_packing import pack_path
from taskmaker.packing import Packed, PackOptions, clean_name, pack_task
from validator.tasks.folder import read_task
from validator.tasks.source import TaskError

MIB = 1024 * 1024
METADATA = (
    b"Name: greeter\nVersion: 1.2\nSummary: Says hello.\nRequires-Dist: attrs>=20\nRequires-Dist: x; extra == 'y'\n"
)


def written(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def content_of(packed: Packed) -> dict[str, bytes]:
    return read_bundle(packed.task.bundle)


def manifest_of(packed: Packed) -> dict[str, Any]:
    manifest = json.loads(content_of(packed)["manifest.json"])
    assert isinstance(manifest, dict)
    return manifest


def wheel(path: Path, files: Mapping[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def sdist(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def file(name: str, content: bytes = b"x = 1\n", kind: bytes = tarfile.REGTYPE) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
    return info, content


def test_a_folder_becomes_a_task_that_loads(tmp_path: Path) -> None:
    files = {"SKILL.md": b"# Greet\n", "more/notes.txt": b"hello\n"}
    packed = pack_path(written(tmp_path / "greet", files), tmp_path / "out" / "deep")
    assert read_task(tmp_path / "out" / "deep") == packed.task
    assert sorted(path.name for path in (tmp_path / "out" / "deep").iterdir()) == ["bundle.tar.gz", "task.json"]
    found = content_of(packed)
    assert json.loads(found.pop("manifest.json")) == {
        "name": "greet",
        "version": "0",
        "description": "",
        "skill_type": "declarative",
        "entry_point": "SKILL.md",
        "capabilities": [],
    }
    assert found == files
    task = packed.task.task
    assert (task.skill_type, task.provenance, task.truth, task.windows) == ("declarative", "none", None, None)
    assert task.canary == CanarySpec("SKILL.md")
    assert (packed.files, packed.notes) == (3, ("added manifest.json",))


SAFE = st.characters(blacklist_categories=("Cc", "Cf", "Cs", "Zl", "Zp"), blacklist_characters="/\\:")
SEGMENT = st.text(SAFE, min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..") and unicodedata.normalize("NFC", name) == name and len(name.encode()) < 200
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(files=st.dictionaries(SEGMENT.map("d/{}".format), st.binary(max_size=300), max_size=6))
def test_what_is_packed_is_what_was_there(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    one_of_a_case = {name.casefold(): name for name in files if not name.endswith((".pyc", ".pyo"))}
    files = {name: files[name] for name in one_of_a_case.values()}
    files = {**files, "main.py": b"def main(): pass\n", "manifest.json": b"{}"}
    folder, out = tmp_path_factory.mktemp("in"), tmp_path_factory.mktemp("out")
    packed = pack_path(written(folder, files), out)
    assert content_of(packed) == files
    assert read_task(out) == packed.task
    assert pack_task(str(folder)).task.bundle == packed.task.bundle


@given(st.text(max_size=20))
def test_a_clean_name_is_one_that_archives_take(name: str) -> None:
    cleaned = clean_name(name)
    if cleaned is not None:
        assert clean_name(cleaned) == cleaned
        assert not cleaned.startswith("/")
        assert ".." not in cleaned.split("/")


def test_bytes_depend_on_names_and_content_alone(tmp_path: Path) -> None:
    files = {"b.md": b"two\n", "a.md": b"one\n"}
    first = written(tmp_path / "1" / "same", files)
    second = written(tmp_path / "2" / "same", dict(reversed(files.items())))
    os.utime(second / "a.md", (1, 1))
    (second / "a.md").chmod(0o600)
    assert pack_task(first).task == pack_task(second).task


@pytest.mark.parametrize(
    ("names", "skill_type", "entry_point", "canary"),
    [
        (["mcp.json", "server.py"], "mcp_server", "server.py", None),
        (["composition.json", "a/main.py"], "agent_composition", "composition.json", None),
        (["main.sh", "lib/util.sh", "README.md"], "executable_script", "main.sh", None),
        (["z.sh", "run.sh"], "executable_script", "run.sh", None),
        (["main.py", "run.sh", "prompt.md"], "executable_python", "main:main", None),
        (["main.py", "run.sh", "SKILL.md"], "declarative", "SKILL.md", "SKILL.md"),
        (["SKILL.md", "a.txt"], "declarative", "SKILL.md", "SKILL.md"),
        (["prompt.md", "a.txt"], "declarative", "prompt.md", "prompt.md"),
        (["docs/b.txt", "docs/a.md"], "rag_knowledge", None, "docs/a.md"),
        (["docs/rows.jsonl"], "rag_knowledge", None, None),
    ],
)
def test_the_skill_type_follows_from_the_names(
    tmp_path: Path, names: list[str], skill_type: str, entry_point: str | None, canary: str | None
) -> None:
    packed = pack_task(written(tmp_path, dict.fromkeys(names, b"def main():\n    pass\n")))
    assert packed.task.task.skill_type == skill_type
    assert manifest_of(packed)["entry_point"] == entry_point
    assert packed.task.task.canary == (None if canary is None else CanarySpec(canary))


def test_a_manifest_that_is_there_stays_and_says_the_type(tmp_path: Path) -> None:
    manifest = b'{"skill_type": "executable_script", "name": "mine"}'
    folder = written(tmp_path, {"main.py": b"", "manifest.json": manifest})
    packed = pack_task(folder)
    assert packed.task.task.skill_type == "executable_script"
    assert content_of(packed)["manifest.json"] == manifest
    given_type = pack_task(folder, PackOptions(skill_type=SkillType.RAG_KNOWLEDGE))
    assert given_type.task.task.skill_type == "rag_knowledge"


@pytest.mark.parametrize("manifest", [b"{", b"[]", b'{"skill_type": ["mcp_server"]}', b"[" * 9999, b"\xff", b"null"])
def test_a_manifest_that_is_none_says_nothing(tmp_path: Path, manifest: bytes) -> None:
    packed = pack_task(written(tmp_path, {"SKILL.md": b"x\n", "manifest.json": manifest}))
    assert packed.task.task.skill_type == "declarative"
    assert content_of(packed)["manifest.json"] == manifest


def test_truth_windows_and_marker_are_taken_over(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"docs/a.md": b"one\ntwo\n", "docs/b.md": b"x\n"})
    truth = make_truth(verdict="BLOCK", injections=("docs/a.md#L2",))
    (tmp_path / "truth.json").write_bytes(msgspec.json.encode(truth))
    windows = Windows(primary=(0, 6), auditor=(0, 4))
    options = PackOptions(truth=tmp_path / "truth.json", windows=windows, canary="docs/b.md")
    task = pack_path(folder, tmp_path / "out", options).task.task
    assert (task.truth, task.windows, task.canary) == (truth, windows, CanarySpec("docs/b.md"))
    assert task.provenance == "curated"


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (PackOptions(canary="absent.md"), "`canary.file`"),
        (PackOptions(windows=Windows(primary=(5, 5), auditor=(0, 1))), "`windows.primary`"),
        (PackOptions(skill_type=SkillType.EXECUTABLE_PYTHON, canary="SKILL.md"), "`canary`"),
        (PackOptions(truth=Path("truth.json")), "`truth.json`"),
    ],
)
def test_options_that_contradict_the_bundle_are_refused(tmp_path: Path, options: PackOptions, fault: str) -> None:
    folder = written(tmp_path / "in", {"SKILL.md": b"x\n"})
    with pytest.raises(TaskError, match=fault):
        pack_path(folder, tmp_path / "out", options)
    assert not (tmp_path / "out" / "task.json").exists()


@pytest.mark.parametrize("truth", [b"{", b"{}", b'{"verdict": "MAYBE"}'])
def test_a_truth_that_is_none_is_refused(tmp_path: Path, truth: bytes) -> None:
    (tmp_path / "truth.json").write_bytes(truth)
    folder = written(tmp_path / "in", {"SKILL.md": b"x\n"})
    with pytest.raises(TaskError, match=r"`truth\.json`"):
        pack_task(folder, PackOptions(truth=tmp_path / "truth.json"))


def test_a_task_is_replaced_only_when_asked(tmp_path: Path) -> None:
    out = tmp_path / "out"
    pack_path(written(tmp_path / "a", {"SKILL.md": b"a\n"}), out)
    second = written(tmp_path / "b", {"SKILL.md": b"b\n"})
    with pytest.raises(TaskError, match="`out` holds a task"):
        pack_path(second, out)
    assert pack_path(second, out, PackOptions(replace=True)).task == read_task(out)


def test_links_and_what_is_no_file_are_left_out(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "in", {"SKILL.md": b"x\n", "a/__pycache__/x.txt": b"", "b.pyc": b"", ".git/config": b""}
    )
    written(tmp_path / "outside", {"secret.md": b"do not pack\n"})
    (folder / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    packed = pack_task(folder)
    assert sorted(content_of(packed)) == ["SKILL.md", "manifest.json"]
    assert set(packed.left_out) == {"link.md", "linked", "loop", "pipe.md", "a/__pycache__", "b.pyc", ".git"}


def test_odd_names_are_normalised_or_left_out(tmp_path: Path) -> None:
    folder = written(
        tmp_path, {"SKILL.md": b"x\n", "e\u0301.md": b"e\n", "日本語 🙂.md": b"j\n", "a\nb.md": b"", "c\\d": b""}
    )
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md"))).write_bytes(b"")
    packed = pack_task(folder)
    assert sorted(content_of(packed)) == ["SKILL.md", "manifest.json", "é.md", "日本語 🙂.md"]
    assert all(note.isprintable() for note in packed.notes)
    assert len(packed.notes) == 5


def test_two_spellings_of_one_name_are_one_file(tmp_path: Path) -> None:
    packed = pack_task(written(tmp_path, {"SKILL.md": b"x\n", "e\u0301.md": b"1", "\u00e9.md": b"2"}))
    assert any("there twice" in note for note in packed.notes)


def test_what_is_over_the_limits_is_left_out_biggest_last(tmp_path: Path) -> None:
    noise = os.urandom(3 * MIB)
    folder = written(
        tmp_path, {"SKILL.md": b"x\n", **{f"n{i}.bin": noise[: MIB * 2 + i] + bytes([i]) for i in range(5)}}
    )
    with (folder / "huge.bin").open("wb") as huge:
        huge.truncate(limits.MAX_BUNDLE_FILE + 1)
    (folder / "last.bin").write_bytes(os.urandom(4 * MIB))
    packed = pack_task(folder)
    assert len(packed.task.bundle) <= limits.MAX_BUNDLE_COMPRESSED
    kept = set(content_of(packed))
    assert kept >= {"SKILL.md", "manifest.json", "n0.bin", "n1.bin", "n2.bin"}
    assert not kept & {"huge.bin", "last.bin"}
    assert (
        set(packed.left_out)
        == {
            *(f"n{i}.bin" for i in range(5)),
            "huge.bin",
            "last.bin",
        }
        - kept
    )


def test_a_bundle_of_zeros_is_cut_down_to_its_ratio(tmp_path: Path) -> None:
    packed = pack_task(written(tmp_path, {"SKILL.md": os.urandom(50).hex().encode(), "zeros.bin": bytes(4 * MIB)}))
    assert sorted(content_of(packed)) == ["SKILL.md", "manifest.json"]
    assert any("zeros.bin" in note for note in packed.notes)


def test_more_files_than_a_bundle_takes_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BUNDLE_ENTRIES", 100)
    folder = written(tmp_path, {f"f{i:05}.md": b"%d" % i * 40 for i in range(limits.MAX_BUNDLE_ENTRIES + 3)})
    packed = pack_task(folder)
    assert packed.files == limits.MAX_BUNDLE_ENTRIES
    assert "manifest.json" in content_of(packed)
    assert len(packed.left_out) == 4


@pytest.mark.parametrize("what", ["absent-distribution-name", "no/such/path", "..", "a\nb", "", "-"])
def test_what_is_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    (tmp_path / "picture.png").write_bytes(b"")
    with pytest.raises(TaskError) as caught:
        pack_task(what)
    assert str(caught.value).isprintable()


def test_a_file_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"`a\.png`"):
        pack_task(str(written(tmp_path, {"a.png": b""}) / "a.png"))


@pytest.mark.parametrize("files", [{}, {"picture.png": b"x"}])
def test_a_folder_that_could_be_anything_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(TaskError):
        pack_task(written(tmp_path / "in", files) if files else tmp_path)


def test_a_wheel_is_packed_with_what_it_says_of_itself(tmp_path: Path) -> None:
    path = wheel(
        tmp_path / "greeter-1.2-py3-none-any.whl",
        {
            "greeter/__init__.py": b"",
            "greeter/cli.py": b"def run():\n    print('hello')\n",
            "greeter-1.2.dist-info/METADATA": METADATA,
            "greeter-1.2.dist-info/entry_points.txt": b"[console_scripts]\na = absent:run\nx = greeter.cli:run [y]\n",
        },
    )
    packed = pack_task(path)
    assert manifest_of(packed) == {
        "name": "greeter",
        "version": "1.2",
        "description": "Says hello.",
        "skill_type": "executable_python",
        "entry_point": "greeter.cli:run",
        "capabilities": [],
    }
    assert content_of(packed)["requirements.txt"] == b"attrs>=20\n"


def test_a_wheel_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="size limit"):
        pack_task(wheel(tmp_path / "bomb.whl", {"a.py": bytes(16 * MIB)}))


def test_a_wheel_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path / "liar.whl", {"a.py": b"x = 1\n" * 10_000})
    data = path.read_bytes()
    # The size that the central directory declares, little endian.
    path.write_bytes(data.replace((60_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(TaskError):
        pack_task(path)


@pytest.mark.parametrize("data", [b"", b"PK\x05\x06", b"no zip", b"PK\x05\x06" + b"\xff" * 18])
def test_a_damaged_wheel_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.whl").write_bytes(data)
    with pytest.raises(TaskError, match=r"`x\.whl`"):
        pack_task(tmp_path / "x.whl")


def test_a_wheel_with_a_torn_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", "# Skill\n" * 50)
    data = path.read_bytes()
    path.write_bytes(data[:38] + b"\xff" * 4 + data[42:])  # where the member's compressed bytes begin
    with pytest.raises(TaskError, match=r"`SKILL\.md` in the zip is damaged"):
        pack_task(path)


def test_an_sdist_is_packed_without_its_outer_folder(tmp_path: Path) -> None:
    path = sdist(
        tmp_path / "greeter-1.2.tar.gz", file("greeter-1.2/PKG-INFO", METADATA), file("greeter-1.2/greeter/app.py")
    )
    packed = pack_task(path)
    assert sorted(content_of(packed)) == ["PKG-INFO", "greeter/app.py", "manifest.json", "requirements.txt"]
    assert manifest_of(packed)["version"] == "1.2"


def test_a_file_that_is_too_large_is_left_out(tmp_path: Path) -> None:
    big = file("p/big.bin", os.urandom(200_000) + bytes(limits.MAX_BUNDLE_FILE))
    packed = pack_task(sdist(tmp_path / "odd.tgz", file("p/main.py"), big))
    assert (sorted(content_of(packed)), packed.left_out) == (["main.py", "manifest.json"], ("big.bin",))


@pytest.mark.parametrize(
    "data",
    [b"", b"no gzip", b"\x1f\x8b", pytest.param(None, id="bomb"), pytest.param(b"cut", id="cut")],
)
def test_a_damaged_sdist_is_refused(tmp_path: Path, data: bytes | None) -> None:
    path = sdist(tmp_path / "x.tar.gz", file("p/zeros.py", bytes(20 * MIB)))
    if data == b"cut":
        path = sdist(path, file("p/main.py", os.urandom(100)))
        data = path.read_bytes()[:-20]
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(TaskError, match=r"`x\.tar\.gz`"):
        pack_task(path)


def test_an_installed_distribution_is_packed_by_its_name() -> None:
    packed = pack_task("structlog")
    files = content_of(packed)
    assert packed.task.task.skill_type == "executable_python"
    assert packed.task.task.truth is None
    assert "structlog/__init__.py" in files
    assert manifest_of(packed)["name"] == "structlog"
    last_parts = {name.rpartition("/")[2] for name in files}
    assert not last_parts & {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    assert not any(name.endswith(".pyc") for name in files)
    assert pack_task("structlog").task == packed.task


def test_files_that_a_distribution_puts_elsewhere_are_left_out() -> None:
    packed = pack_task("bandit")
    assert any("installed elsewhere" in note for note in packed.notes)
    assert manifest_of(packed)["entry_point"] == "bandit.cli.main:main"


def test_files_that_are_listed_but_gone_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = b"shaky/a.py,,\nshaky/gone.py,,\n../shaky.sh,,\nshaky/__pycache__/a.cpython-311.pyc,,\n"
    written(tmp_path, {"shaky/a.py": b"", "shaky-1.dist-info/METADATA": b"Name: shaky\nVersion: 1\n"})
    written(tmp_path, {"shaky-1.dist-info/RECORD": record})
    monkeypatch.syspath_prepend(str(tmp_path))
    packed = pack_task("shaky")
    assert sorted(content_of(packed)) == ["manifest.json", "shaky/a.py"]
    assert len(packed.notes) == 4


def test_truth_and_secrets_beside_a_skill_are_not_packed(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "app.py").write_text("print(1)\n")
    for name in ("task.json", "bundle.tar.gz", "truth.json", ".env", "id_rsa"):
        (skill / name).write_text("secret")
    packed = pack_task(skill)
    assert not {"task.json", "bundle.tar.gz", "truth.json", ".env", "id_rsa"} & set(read_bundle(packed.task.bundle))
    assert sum("not for miners" in note for note in packed.notes) == 5


def test_skills_below_a_folder_are_noted(tmp_path: Path) -> None:
    for name in ("mail", "notes"):
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "SKILL.md").write_text("# Sort\n")
    packed = pack_task(tmp_path / "all")
    noted = "`mail/SKILL.md` and 1 more: a folder with SKILL.md is a separate skill"
    assert (packed.task.task.skill_type, packed.notes[0]) == (SkillType.RAG_KNOWLEDGE, noted)
    assert pack_task(tmp_path / "all" / "mail").notes == ("added manifest.json",)
