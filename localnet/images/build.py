"""An image of this machine's Python and some files: OCI documents over two layers, the first in a cache on disk."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import msgspec

from localnet.images.machine import ImageError, interpreter, libraries, programs, require_support
from localnet.images.tree import File, Tree, write_tar
from sssa.files import new_file

_COMPILE_S: Final = 300.0
# Its own process: what was interned before would show in the bytes. A source that is no Python stays as it is.
_COMPILE: Final = """
import json, py_compile, sys
for source, target, name in json.load(sys.stdin):
    try:
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(source, target, name, doraise=True, invalidation_mode=mode)
    except (py_compile.PyCompileError, ValueError):
        pass
"""


def compiled(tree: Tree) -> Tree:
    """Return the tree's Python modules compiled by this interpreter, where it looks for them.

    Raises:
        ImageError: the compiler could not be run.
    """
    modules = {name: entry for name, entry in sorted(tree.items()) if name.endswith(".py") and isinstance(entry, File)}
    with tempfile.TemporaryDirectory() as folder:
        targets = {name: Path(folder, f"{number}.pyc") for number, name in enumerate(modules)}
        _compile([(str(_on_disk(modules[name], path)), str(path), f"/{name}") for name, path in targets.items()])
        return {
            importlib.util.cache_from_source(name): File(path.read_bytes())
            for name, path in targets.items()
            if path.exists()
        }


def _on_disk(file: File, neighbor: Path) -> Path:
    if isinstance(file.content, Path):
        return file.content
    source = neighbor.with_suffix(".py")
    source.write_bytes(file.content)
    return source


def _compile(wanted: list[tuple[str, str, str]]) -> None:
    try:
        subprocess.run(  # noqa: S603 - this interpreter
            [sys.executable, "-I", "-S", "-c", _COMPILE],
            input=json.dumps(wanted).encode(),
            capture_output=True,
            check=True,
            timeout=_COMPILE_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ImageError(f"modules cannot be compiled: {error}") from error


MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_FORM: Final = b"1"  # of a kept layer: another number builds it again
_KEPT: Final = 4
_CHUNK: Final = 1024 * 1024
_USERS: Final = b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"
_GROUPS: Final = b"root:x:0:\nnogroup:x:65534:\n"
_ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True, slots=True)
class Blob:
    """Content by its digest.

    Attributes:
        digest: `sha256:` and 64 hex digits.
        size: bytes.
        media_type: as manifests name it.
        content: its bytes, or the file that has them.
    """

    digest: str
    size: int
    media_type: str
    content: bytes | Path

    @classmethod
    def of(cls, content: bytes | Path, media_type: str) -> "Blob":
        """Return the blob of these bytes, or of a file that nobody changes."""
        if isinstance(content, bytes):
            return cls(_digest(hashlib.sha256(content)), len(content), media_type, content)
        with content.open("rb") as file:
            total = hashlib.file_digest(file, "sha256")
            return cls(_digest(total), file.tell(), media_type, content)

    def described(self) -> dict[str, Any]:
        """Return how a manifest names it."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its manifest, whose digest is the image's own, and what that names."""

    manifest: Blob
    config: Blob
    layers: tuple[Blob, ...]

    @property
    def digest(self) -> str:
        """`sha256:` and 64 hex digits."""
        return self.manifest.digest


def python_image(  # noqa: PLR0913 - each is one thing an image is made of
    files: Tree,
    entrypoint: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    tools: Sequence[str] = (),
    workdir: str = "/",
    cache: Path | None = None,
) -> Image:
    """Return a linux/amd64 image of this machine's Python (at `machine.PYTHON`), its programs, and the files.

    The same interpreter, programs and files give the same digest. The first build takes seconds, others a few tenths of
    one; both block: not for an event loop.

    Args:
        files: what the image has next to them, by path without a leading slash. Programs and extensions (`File`s of
            this machine's) bring their shared libraries.
        entrypoint: the program and its arguments.
        env: variables next to PATH, LC_ALL and PYTHONDONTWRITEBYTECODE.
        tools: names of this machine's programs that the image has, if the machine has them; `sh` is always asked for.
        workdir: where the program starts.
        cache: where the layer of interpreter and programs is kept; None for the user's cache folder.

    Raises:
        ImageError: this machine's programs do not run where images do, or that cannot be determined; the text says why.
    """
    require_support()
    base = {**interpreter(), **programs(sorted({"sh", *tools}))}
    base = {**base, **libraries(base), "etc/passwd": File(_USERS), "etc/group": File(_GROUPS)}
    more = {name: entry for name, entry in libraries(files).items() if name not in base}
    own = _layer({**more, **compiled(files), **files})
    layers = (Blob.of(_kept_layer(base, cache or cache_folder()), _LAYER), Blob.of(own, _LAYER))
    return _image(layers, entrypoint, {**_ENVIRONMENT, **(env or {})}, workdir)


def cache_folder() -> Path:
    """Return where layers are kept unless a folder is named: below XDG_CACHE_HOME, else ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sssa-localnet" / "layers"


def _image(layers: tuple[Blob, ...], entrypoint: Sequence[str], env: Mapping[str, str], workdir: str) -> Image:
    settings = {
        "Entrypoint": list(entrypoint),
        "Env": [f"{key}={value}" for key, value in sorted(env.items())],
        "WorkingDir": workdir,
    }
    document = {
        "architecture": "amd64",
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
    }
    config = Blob.of(msgspec.json.encode(document, order="deterministic"), _CONFIG)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.described(),
        "layers": [layer.described() for layer in layers],
    }
    return Image(Blob.of(msgspec.json.encode(manifest, order="deterministic"), MANIFEST), config, layers)


def _layer(tree: Tree) -> bytes:
    out = BytesIO()
    write_tar(tree, out)
    return out.getvalue()


def _kept_layer(tree: Tree, folder: Path) -> Path:
    """Return the file of the tree's layer, made if it is not there; only the newest few are kept."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = folder / f"{_state(tree)}.tar"
    if kept.exists():
        os.utime(kept)
        return kept
    with new_file(kept, replace=True) as out:
        write_tar({**compiled(tree), **tree}, out)
    newest = sorted(folder.glob("*.tar"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for old in newest[_KEPT:]:
        old.unlink(missing_ok=True)
    return kept


def _state(tree: Tree) -> str:
    """Return a hash over names, modes, and the size and time of every file: another state is another layer."""
    total = hashlib.sha256(_FORM)
    for name, entry in sorted(tree.items()):
        content: object = entry
        if isinstance(entry, File) and isinstance(entry.content, Path):
            info = entry.content.stat()
            content = (str(entry.content), entry.mode, info.st_size, info.st_mtime_ns)
        total.update(repr((name, content)).encode())
    return total.hexdigest()


def _digest(total: Any) -> str:
    return f"sha256:{total.hexdigest()}"
