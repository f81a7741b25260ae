"""pip and npm: real ones where they are installed, against files and a registry on loopback, and fakes that fail."""

import base64
import contextlib
import hashlib
import http.server
import io
import json
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from validator.protocol.bundles import read_bundle
from validator.tasks.packing import pack_task
from validator.tasks.source import TaskError

needs_pip = pytest.mark.skipif(shutil.which("pip") is None, reason="pip is not on the PATH")
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on the PATH")
WHEEL = "served-2.0-py3-none-any.whl"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold that nothing is left of a temporary folder."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield
    assert list((tmp_path / "tmp").iterdir()) == []


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


def made_wheel(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("served/__init__.py", "def main():\n    raise SystemExit\n")
        archive.writestr(
            "served-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: served\nVersion: 2.0\nRequires-Dist: mcp\n"
        )
        archive.writestr(
            "served-2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("served-2.0.dist-info/RECORD", "")
    return path


def made_npm(scripts: dict[str, str]) -> bytes:
    package = {"name": "@scope/served", "version": "1.2.3", "mcpName": "x", "bin": "i.js", "scripts": scripts}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in (("package.json", json.dumps(package).encode()), ("i.js", b"1\n")):
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


@needs_pip
def test_a_name_on_the_index_is_its_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wheels").mkdir()
    path = made_wheel(tmp_path / "wheels" / WHEEL)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    packed = pack_task("pypi:served")
    assert packed.task == pack_task(path).task
    assert packed.task.task.skill_type == "mcp_server"
    assert packed.pin.version == "2.0"
    assert packed.pin.artifact is not None
    assert packed.pin.artifact.name == WHEEL
    assert packed.pin.artifact.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert packed.pin.artifact.integrity is None


@needs_pip
def test_an_sdist_on_the_index_is_never_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sdists").mkdir()
    with tarfile.open(tmp_path / "sdists" / "evil-1.0.tar.gz", "w:gz") as tar:
        content = f"open({str(tmp_path / 'ran')!r}, 'w')\n".encode()
        info = tarfile.TarInfo("evil-1.0/setup.py")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "sdists"))
    with pytest.raises(TaskError, match=r"No matching distribution found for evil==1\.0; only wheels are fetched"):
        pack_task("pypi:evil==1.0")
    assert not (tmp_path / "ran").exists()


class _Registry(http.server.BaseHTTPRequestHandler):
    """A registry with one package, whose document says the integrity that the class is given."""

    tarball = b""
    integrity = ""

    def do_GET(self) -> None:
        body = self.tarball
        if not self.path.endswith(".tgz"):
            dist = {"tarball": f"http://{self.headers['Host']}/served.tgz", "integrity": self.integrity}
            version = {"name": "@scope/served", "version": "1.2.3", "dist": dist}
            document = {"name": "@scope/served", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version}}
            body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's
        """Say nothing."""


@contextlib.contextmanager
def registry(tarball: bytes, integrity: str) -> Iterator[str]:
    kind = type("Registry", (_Registry,), {"tarball": tarball, "integrity": integrity})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_of_a_package_one_folder_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as archive:
        archive.writestr("served/skills/one/SKILL.md", "One.\n")
        archive.writestr("served/skills/one/more/part.md", "Part.\n")
        archive.writestr("served/skills/one.md", "Another.\n")
    fake(tmp_path, monkeypatch, "pip", f"cp {tmp_path / WHEEL} got/")
    packed = pack_task("pypi:served==2.0#subdirectory=served/skills/one")
    assert sorted(read_bundle(packed.task.bundle)) == ["SKILL.md", "manifest.json", "more/part.md"]
    assert packed.task.task.skill_type == "declarative"
    assert packed.pin.version == "2.0"
    assert packed.pin.artifact is not None
    assert packed.pin.artifact.sha256 == hashlib.sha256((tmp_path / WHEEL).read_bytes()).hexdigest()
    with pytest.raises(TaskError, match="no folder `served/skills/on` in served"):
        pack_task("pypi:served#subdirectory=served/skills/on")


@needs_npm
def test_a_name_on_the_registry_is_its_tarball(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tarball = made_npm(dict.fromkeys(("prepack", "prepare", "postpack", "install"), f"touch {tmp_path}/ran"))
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(tarball).digest()).decode()}"
    with registry(tarball, integrity) as url:
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", url)
        packed = pack_task("npm:@scope/served@1.2.3")
    assert packed.pin.version == "1.2.3"
    assert packed.pin.artifact is not None
    assert packed.pin.artifact.sha256 == hashlib.sha256(tarball).hexdigest()
    assert packed.pin.artifact.integrity == integrity
    assert sorted(read_bundle(packed.task.bundle)) == ["i.js", "manifest.json", "package.json"]
    assert not (tmp_path / "ran").exists()


@needs_npm
def test_a_tarball_of_another_integrity_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with registry(made_npm({}), f"sha512-{base64.b64encode(bytes(64)).decode()}") as url:
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", url)
        with pytest.raises(TaskError, match="`npm` failed: code EINTEGRITY"):
            pack_task("npm:@scope/served")


@pytest.mark.parametrize(
    ("name", "script", "said"),
    [
        ("pip", "echo 'ERROR: No matching distribution found for x' >&2; exit 1", "for x; only wheels are fetched"),
        ("pip", ":", "`pip` left 0 files"),
        ("pip", "touch got/a got/b", "`pip` left 2 files"),
        ("pip", "ln -s /etc/passwd got/x-1-py3-none-any.whl", "`pip` left 0 files"),
        ("pip", "printf junk > got/x-1-py3-none-any.whl", "`x-1-py3-none-any.whl` is no zip"),
        ("pip", "printf junk > got/x.exe", "`x.exe` is no folder"),
        (
            "npm",
            "echo 'npm error code E404' >&2; echo 'npm error 404 Not Found' >&2; exit 1",
            "code E404 404 Not Found",
        ),
        ("npm", "printf junk > got/x.tgz", "`x.tgz` is no gzip"),
    ],
)
def test_what_fails_or_gives_nothing_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str, said: str
) -> None:
    fake(tmp_path, monkeypatch, name, script)
    with pytest.raises(TaskError) as caught:
        pack_task("pypi:x" if name == "pip" else "npm:x")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("source", "tool", "wanted"),
    [
        ("pypi:x==1", "pip", {"--no-deps", "--only-binary=:all:", "--no-input", "x==1"}),
        ("npm:@s/x@1", "npm", {"--ignore-scripts", "@s/x@1"}),
        ("git+file:///x@v1", "git", {"core.hooksPath=/dev/null", "protocol.ext.allow=never"}),
    ],
)
def test_a_tool_is_told_to_run_nothing_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, tool: str, wanted: set[str]
) -> None:
    fake(tmp_path, monkeypatch, tool, f'printf "%s\\n" "$@" > {tmp_path}/told; exit 1')
    with pytest.raises(TaskError, match=f"`{tool}` failed: exit code 1"):
        pack_task(source)
    assert wanted <= set((tmp_path / "told").read_text().splitlines())


@pytest.mark.parametrize(("source", "tool"), [("pypi:x", "pip"), ("npm:x", "npm"), ("git+file:///x", "git")])
def test_a_missing_tool_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, tool: str) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TaskError, match=f"`{tool}` is not on the PATH: install it, or .*name "):
        pack_task(source)
