import hashlib
import os
import sys
import sysconfig
import tarfile
from importlib.util import cache_from_source
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localnet.images.build import Blob, Image, _kept_layer, cache_folder, compiled, python_image
from localnet.images.machine import PYTHON, ImageError, interpreter, libraries, programs, require_support
from localnet.images.tree import File, Link, Tree, write_tar

PROGRAM: Tree = {"app/__main__.py": File(b"print('here')\n")}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("layers")


@pytest.fixture(scope="module")
def image(cache: Path) -> Image:
    return python_image(PROGRAM, [PYTHON, "-I", "/app"], {"B": "2", "A": "1"}, tools=["env"], cache=cache)


def content(blob: Blob) -> bytes:
    return blob.content if isinstance(blob.content, bytes) else blob.content.read_bytes()


def members(blob: Blob) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=BytesIO(content(blob))) as tar:
        return {info.name: info for info in tar}


def test_an_image_names_its_parts_by_digest_and_size(image: Image) -> None:
    document: dict[str, Any] = msgspec.json.decode(content(image.manifest))
    assert document["config"]["digest"] == image.config.digest
    assert [layer["digest"] for layer in document["layers"]] == [layer.digest for layer in image.layers]
    for blob in (image.manifest, image.config, *image.layers):
        assert (blob.digest, blob.size) == (f"sha256:{hashlib.sha256(content(blob)).hexdigest()}", len(content(blob)))
    config = msgspec.json.decode(content(image.config))
    assert (config["os"], config["architecture"]) == ("linux", "amd64")
    assert config["rootfs"]["diff_ids"] == [layer.digest for layer in image.layers]  # they are not compressed
    assert config["config"]["Entrypoint"] == [PYTHON, "-I", "/app"]
    assert {"A=1", "B=2", "PATH=/usr/local/bin:/usr/bin:/bin"} <= set(config["config"]["Env"])


def test_it_has_the_interpreter_its_libraries_and_the_files(image: Image) -> None:
    base, own = (members(layer) for layer in image.layers)
    library = f"usr/local/lib/{Path(sysconfig.get_path('stdlib')).name}"
    assert base[PYTHON.lstrip("/")].mode == 0o755
    assert {f"{library}/os.py", f"{library}/asyncio/__init__.py", "bin/sh", "bin/env", "etc/passwd"} <= base.keys()
    assert any(name.split("/")[-1].startswith(("libc.so", "libc.musl")) for name in base)
    assert any(name.split("/")[-1].startswith("ld-") for name in base)
    assert not [name for name in base if {"site-packages", "test"} & set(name.split("/"))]
    assert own.keys() == {"app", "app/__main__.py", "app/__pycache__", cache_from_source("app/__main__.py")}
    assert {cache_from_source(name) for name in (f"{library}/os.py", f"{library}/asyncio/__init__.py")} <= base.keys()
    assert {(info.mtime, info.uid, info.gid) for info in (*base.values(), *own.values())} == {(0, 0, 0)}
    assert not [name for name, info in base.items() if info.mode & 0o7022 and not info.issym()]


def test_the_same_image_is_made_again_and_another_one_of_other_files(image: Image, cache: Path, tmp_path: Path) -> None:
    entrypoint, env = [PYTHON, "-I", "/app"], {"A": "1", "B": "2"}
    assert python_image(PROGRAM, entrypoint, env, tools=["env"], cache=tmp_path).digest == image.digest
    other: Tree = {"app/__main__.py": File(b"print('there')\n")}
    changed = python_image(other, entrypoint, env, tools=["env"], cache=cache)
    assert (changed.digest != image.digest, changed.layers[0]) == (True, image.layers[0])


def test_the_interpreters_layer_is_kept_for_the_next_image(image: Image, cache: Path) -> None:
    (kept,) = cache.iterdir()
    assert image.layers[0].content == kept
    inode = kept.stat().st_ino
    again = python_image({}, [PYTHON], tools=["env"], cache=cache)
    assert (again.layers[0].digest, kept.stat().st_ino) == (image.layers[0].digest, inode)


def test_a_file_that_changed_makes_another_layer(tmp_path: Path) -> None:
    file, cache = tmp_path / "program", tmp_path / "cache"
    kept = []
    for content, mode, time in ((b"one", 0o755, 1), (b"one", 0o755, 1), (b"two", 0o755, 2), (b"two", 0o644, 2)):
        file.write_bytes(content)
        os.utime(file, (time, time))
        kept.append(_kept_layer({"program": File(file, mode)}, cache))
    assert kept[0] == kept[1]
    assert len(set(kept)) == 3
    with tarfile.open(kept[2]) as tar:
        member = tar.extractfile("program")
        assert member is not None
        assert member.read() == b"two"


def test_of_kept_layers_only_the_newest_stay(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.tar").write_bytes(b"")
        os.utime(tmp_path / f"{number}.tar", (number, number))
    layer = python_image({}, [PYTHON], cache=tmp_path).layers[0].content
    assert isinstance(layer, Path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["3.tar", "4.tar", "5.tar", layer.name])


def test_where_layers_are_kept_follows_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "sssa-localnet" / "layers"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "sssa-localnet" / "layers"


def test_extensions_bring_their_libraries() -> None:
    import _ssl  # noqa: PLC0415 - its file is the point

    found = libraries({"x.so": File(Path(_ssl.__file__)), "text": File(b"none"), "code.py": File(Path(__file__))})
    assert any("libssl" in name for name in found)
    assert libraries({"text": File(b"none"), "link": Link("text")}) == {}


def test_programs_that_the_machine_lacks_are_left_out() -> None:
    found = programs(["sh", "no-such-program-anywhere"])
    assert found.keys() == {"usr/bin", "bin/sh"}


def test_a_tar_says_nothing_of_when_and_where_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"bytes")
    tree: Tree = {"z/b": File(tmp_path / "b", 0o755), "a": Link("z/b"), "z/deep/er": File(b"")}
    out = BytesIO()
    write_tar(tree, out)
    with tarfile.open(fileobj=BytesIO(out.getvalue())) as tar:
        listed = [(info.name, info.type, info.mode, info.size, info.linkname, info.mtime, info.uname) for info in tar]
    folder, link, plain = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.REGTYPE
    assert listed == [
        ("a", link, 0o777, 0, "z/b", 0, ""),
        ("z", folder, 0o755, 0, "", 0, ""),
        ("z/b", plain, 0o755, 5, "", 0, ""),
        ("z/deep", folder, 0o755, 0, "", 0, ""),
        ("z/deep/er", plain, 0o644, 0, "", 0, ""),
    ]


@pytest.mark.parametrize(
    "machine", [("darwin", "arm64"), ("darwin", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64")]
)
def test_other_machines_are_refused_with_the_way_out(machine: tuple[str, str]) -> None:
    with pytest.raises(ImageError, match=r"sandboxes run linux/x86_64: build the Dockerfile"):
        require_support(*machine)


def test_a_machine_without_ldd_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match="ldd is not installed"):
        require_support("linux", "x86_64")


def test_an_interpreter_that_is_a_script_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\n")
    monkeypatch.setattr(sys, "_base_executable", str(tmp_path / "python"))
    with pytest.raises(ImageError, match="not a program but a script"):
        interpreter()


def test_modules_are_compiled_alike_wherever_they_lie_and_what_is_no_python_is_left(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("VALUE = 7\ndef f(): return __file__\n")
    here = compiled({"app/m.py": File(tmp_path / "m.py"), "app/data.txt": File(b"VALUE"), "link.py": Link("app/m.py")})
    there = compiled({"app/m.py": File((tmp_path / "m.py").read_bytes()), "app/wrong.py": File(b"def")})
    assert here == there
    (name,) = here
    assert name == cache_from_source("app/m.py")
    entry = here[name]
    assert isinstance(entry, File)
    assert isinstance(entry.content, bytes)
    assert str(tmp_path).encode() not in entry.content
    assert int.from_bytes(entry.content[4:8], "little") == 1  # by hash, and never looked at again
