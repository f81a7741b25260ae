"""A stand-in for python:3.12-slim where no registry is: this machine's Python with pip, and a build's programs."""

import ensurepip
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Final

from localnet.images.build import compiled
from localnet.images.machine import PYTHON, interpreter, libraries, programs
from localnet.images.tree import File, Link, Tree, write_tar

_TOOLS: Final = ("cat", "chown", "cp", "env", "find", "id", "ls", "mkdir", "rm", "sed", "sh", "sleep", "touch", "true")
# What wheels may expect of every Linux.
_SHARED: Final = ("libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "librt.so.1", "libpthread.so.0", "libdl.so.2")
_CERTIFICATES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_FILES: Final = {
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": b"root:x:0:\n",
    "etc/nsswitch.conf": b"hosts: files dns\n",
    "etc/pip.conf": b"[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n",
    "tmp/.here": b"",
    "root/.here": b"",
}


def base_image() -> bytes:
    """Return its root folder as a tar."""
    python: Tree = {**interpreter(), **_pip()}
    tree = {**python, **programs(_TOOLS), **_shared()}
    tree = {**tree, **libraries(tree), **compiled(python)}
    tree = {**tree, **{name: File(content) for name, content in _FILES.items()}}
    if _CERTIFICATES.is_file():
        tree = {**tree, str(_CERTIFICATES).lstrip("/"): File(_CERTIFICATES)}
    out = BytesIO()
    write_tar(tree, out)
    return out.getvalue()


def _pip() -> Tree:
    """Return pip as the base has it, taken from the wheel that every Python carries."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = f"usr/local/lib/{version}/site-packages"
    files: dict[str, File | Link] = {
        "usr/local/bin/pip": File(f"#!{PYTHON}\nfrom pip._internal.cli.main import main\nmain()\n".encode(), 0o755)
    }
    (wheel,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files |= {f"{folder}/{name}": File(archive.read(name)) for name in archive.namelist()}
    return files


def _shared() -> Tree:
    told = subprocess.run(
        [shutil.which("ldconfig") or "/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True
    )
    found = {line.split()[0]: line.split()[-1] for line in reversed(told.stdout.splitlines()) if "x86-64" in line}
    return {found[name].lstrip("/"): File(Path(found[name]).resolve(), 0o755) for name in _SHARED if name in found}
