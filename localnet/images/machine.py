"""The parts of this machine that an image needs: its Python, programs, and the libraries that `ldd` lists."""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from localnet.images.tree import File, Link, Tree
from sssa.protocol.errors import ValidatorError

PYTHON: Final = "/usr/local/bin/python3"
"""The interpreter in an image."""

_PREFIX: Final = "usr/local"
_SUPPORTED: Final = ("linux", "x86_64")
_ELF: Final = b"\x7fELF"
_LEFT_OUT: Final = frozenset({"__pycache__", "dist-packages", "site-packages", "ensurepip", "test", "tests"}) | {
    "distutils",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "tkinter",
    "turtledemo",
}
_LEFT_OUT_MODULES: Final = ("_test", "_tkinter", "_xx", "xx")
_LIBRARY: Final = re.compile(r"(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)")
_LDD_S: Final = 60.0


class ImageError(ValidatorError):
    """No image can be made on this machine."""


def require_support(system: str = sys.platform, architecture: str | None = None) -> None:
    """Refuse machines whose programs do not run where images do.

    Raises:
        ImageError: not Linux on x86_64, or a tool is missing; the text says what to do.
    """
    current = (system, architecture or platform.machine())
    if current != _SUPPORTED:
        raise ImageError(
            f"images are made of this machine's own Python, which is for {'/'.join(current)}; sandboxes run "
            f"{'/'.join(_SUPPORTED)}: build the Dockerfile that belongs to the image instead"
        )
    if shutil.which("ldd") is None:
        raise ImageError("ldd is not installed, which lists the shared libraries of a program")


def interpreter() -> Tree:
    """Return this machine's Python with its standard library, without tests, installers, and what shows windows.

    Raises:
        ImageError: it is no program that could be copied.
    """
    program = Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
    if not _is_elf(program):
        raise ImageError(f"the interpreter {program} is not a program but a script that starts one")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    tree: dict[str, File | Link] = {
        PYTHON.lstrip("/"): File(program, 0o755),
        f"{PYTHON.lstrip('/')}.{sys.version_info.minor}": Link("python3"),
        f"{_PREFIX}/bin/python": Link("python3"),
    }
    base = {"installed_base": sys.base_prefix, "base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    base["installed_platbase"] = sys.base_exec_prefix
    for name in ("stdlib", "platstdlib"):
        folder = Path(sysconfig.get_path(name, vars=base))
        inside = folder.relative_to(sys.base_prefix) if folder.is_relative_to(sys.base_prefix) else Path("lib", version)
        for file in _library(folder):
            tree[f"{_PREFIX}/{(inside / file.relative_to(folder)).as_posix()}"] = File(file)
    return tree


def programs(names: Iterable[str]) -> Tree:
    """Return programs of this machine, those that it has, under /bin; /usr/bin is the same folder."""
    tree: dict[str, File | Link] = {"usr/bin": Link("../bin")}
    for name in names:
        place = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
        if place is not None:
            tree[f"bin/{name}"] = File(Path(os.path.realpath(place)), 0o755)
    return tree


def libraries(tree: Tree) -> Tree:
    """Return the shared libraries that the tree's programs and extensions need, where their loader looks for them.

    What this machine lacks is left out, as it is here: an extension without its library cannot be imported.

    Raises:
        ImageError: `ldd` cannot list them.
    """
    files = [entry.content for entry in tree.values() if isinstance(entry, File) and isinstance(entry.content, Path)]
    needed: dict[str, File | Link] = {
        name.lstrip("/"): File(Path(os.path.realpath(name)), 0o755) for name in _needed(filter(_is_elf, files))
    }
    cache = Path("/etc/ld.so.cache")
    if needed and cache.is_file():  # how a loader finds libraries outside its own folders
        needed["etc/ld.so.cache"] = File(cache)
    return needed


def _needed(files: Iterable[Path]) -> set[str]:
    listed = sorted({str(file) for file in files})
    if not listed:
        return set()
    try:
        listing = subprocess.run(  # noqa: S603 - the machine's own files
            ["ldd", *listed],  # noqa: S607 - wherever it is
            capture_output=True,
            text=True,
            check=False,  # it fails for programs that need none
            timeout=_LDD_S,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ImageError(f"ldd: {error}") from error
    return {match[1] for line in listing.stdout.splitlines() if (match := _LIBRARY.fullmatch(line.strip()))}


def _library(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("config-"))
        extensions = Path(where).name == "lib-dynload"
        for name in sorted(names):
            if name.endswith((".py", ".so", ".txt")) and not (extensions and name.startswith(_LEFT_OUT_MODULES)):
                yield Path(where, name)


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF
