"""Real git on repositories that are here: one commit's files, and nothing of the repository that could act."""

import os
import subprocess
from pathlib import Path

import pytest

from validator.protocol.bundles import read_bundle
from validator.tasks import downloads
from validator.tasks.packing import pack_task
from validator.tasks.seeding import read_bases
from validator.tasks.source import TaskError

AS_SOMEBODY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nonexistent",
    "PATH": os.environ["PATH"],
}


def git(folder: Path, *words: str, given: bytes | None = None) -> str:
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *words],
        cwd=folder,
        input=given,
        env=AS_SOMEBODY,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    folder = tmp_path / "skills"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def committed(folder: Path, files: dict[str, bytes]) -> str:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def files_of(source: str) -> dict[str, bytes]:
    files = read_bundle(pack_task(source).task.bundle)
    del files["manifest.json"]
    return files


def test_a_branch_a_tag_a_commit_and_a_folder_can_be_named(repository: Path, tmp_path: Path) -> None:
    first = committed(repository, {"SKILL.md": b"one\n", "in/depth/SKILL.md": b"deep\n"})
    git(repository, "tag", "-a", "v1", "-m", "annotated")
    second = committed(repository, {"SKILL.md": b"two\n"})
    url = f"git+file://{repository}"
    assert files_of(url) == {"SKILL.md": b"two\n", "in/depth/SKILL.md": b"deep\n"}
    assert files_of(f"{url}@v1")["SKILL.md"] == b"one\n"
    assert files_of(f"{url}@{first}")["SKILL.md"] == b"one\n"
    assert files_of(f"{url}@main#subdirectory=in/depth") == {"SKILL.md": b"deep\n"}
    packed = pack_task(f"{url}@main")
    assert (packed.pin.commit, packed.pin.version, packed.pin.artifact) == (second, None, None)
    assert packed.task == pack_task(f"{url}@{second}").task
    assert [base.files for base in read_bases(f"{url}@{second}")] == [read_bundle(packed.task.bundle)]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_nothing_of_the_repository_acts(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own settings name a filter and hooks; a checkout or a plain `git archive` would run the filter."""
    proof = tmp_path / "ran"
    home = tmp_path / "home"
    (home / "hooks").mkdir(parents=True)
    for hook in ("post-checkout", "reference-transaction", "post-merge"):
        (home / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {proof}\n")
        (home / "hooks" / hook).chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[filter "evil"]\nsmudge = touch {proof}; cat\n[core]\nhooksPath = {home}/hooks\nautocrlf = true\n'
        f'[init]\ntemplateDir = {home}\n[protocol "ext"]\nallow = always\n'
    )
    monkeypatch.setenv("HOME", str(home))
    lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    committed(
        repository,
        {
            ".gitattributes": b"* filter=evil export-subst\nhidden.md export-ignore\n",
            "SKILL.md": b"$Format:%H$\r\n",
            "hidden.md": b"x\n",
            "big.bin": lfs,
            ".env": b"KEY=1",
            "a.pyc": b"",
            ".gitmodules": b'[submodule "sub"]\npath = sub\nurl = ext::sh -c "touch /tmp/x"\n',
        },
    )
    (repository / "link.md").symlink_to("/etc/passwd")
    git(repository, "add", "link.md")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{git(repository, 'rev-parse', 'HEAD')},sub")
    git(repository, "commit", "-q", "-m", "y")
    packed = pack_task(f"git+file://{repository}")
    files = read_bundle(packed.task.bundle)
    assert sorted(files) == [".gitattributes", ".gitmodules", "SKILL.md", "hidden.md", "manifest.json"]
    assert files["SKILL.md"] == b"$Format:%H$\r\n"
    assert not proof.exists()
    left = sorted(note for note in packed.notes if note.startswith("left out"))
    assert [note.partition(": ")[2] for note in left] == [
        "not for miners",
        "compiled",
        "kept in git LFS",
        "no regular file",
    ]


def test_names_that_no_bundle_takes_are_noted(repository: Path) -> None:
    blob = git(repository, "hash-object", "-w", "--stdin", given=b"x\n")
    names = (b"SKILL.md", b"\xff.md", b"new\nline.md", b"tab\tin.md", b"skill.md", b"back\\slash")
    tree = git(repository, "mktree", "-z", given=b"".join(b"100644 blob %s\t%s\0" % (blob.encode(), n) for n in names))
    commit = git(repository, "commit-tree", tree, "-m", "odd")
    git(repository, "update-ref", "refs/heads/main", commit)
    packed = pack_task(f"git+file://{repository}")
    assert sorted(read_bundle(packed.task.bundle)) == ["SKILL.md", "manifest.json", "skill.md"]
    assert all(note.isprintable() for note in packed.notes)
    assert sum("not a plain relative name" in note for note in packed.notes) == 4
    assert sum("differ in case only" in note for note in packed.notes) == 1


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ("@absent", "couldn't find remote ref absent"),
        ("#subdirectory=absent", "'./absent' did not match any files"),
        ("#subdirectory=-x", "'./-x' did not match any files"),
        ("#subdirectory=SKILL.md", "no folder `SKILL.md` in "),
        ("x", "does not appear to be a git repository"),
    ],
)
def test_what_is_not_there_is_one_line(repository: Path, tmp_path: Path, tail: str, said: str) -> None:
    committed(repository, {"SKILL.md": b"x\n"})
    with pytest.raises(TaskError) as caught:
        pack_task(f"git+file://{repository}{tail}")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_empty_repository_and_a_huge_one_are_one_line(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TaskError, match="couldn't find remote ref HEAD"):
        pack_task(f"git+file://{repository}")
    committed(repository, {"SKILL.md": b"x" * 100_001})
    monkeypatch.setattr(downloads, "DISK", 100_000)
    with pytest.raises(TaskError, match=r"`git` was stopped: it wrote more than 100000 bytes; name a folder"):
        pack_task(f"git+file://{repository}")
