"""The tracer's image, made of this machine's Python; the Dockerfile beside this file takes the same program files."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import localnet
import validator
from localnet.images.build import Image, python_image
from localnet.images.machine import PYTHON
from localnet.images.tree import File, Tree

FOLDER: Final = "app"
ENTRYPOINT: Final = (PYTHON, "-I", "-S", f"/{FOLDER}")
PACKAGES: Final = ("jiter", "msgspec")
"""Distributions that the program imports; requirements/tracer.txt locks them for the Dockerfile."""

PROGRAM: Final = "localnet/images/tracer/program.py"
SOURCES: Final = ("validator/__init__.py", "validator/protocol/", "localnet/__init__.py", "localnet/tracing/")
"""What of the project the program imports; a slash at the end: the folder with all below it."""

TOOLS: Final = tuple(
    """
    awk base64 basename bash cat chmod cp curl cut date dirname du echo env expr false find grep gzip head hostname id
    ln ls md5sum mkdir mktemp mv printenv printf pwd readlink rm rmdir sed seq sha256sum sh sleep sort stat tail tar tee
    test touch tr true uname uniq wc wget which whoami xargs
    """.split()  # noqa: SIM905 - a list of fifty strings reads worse
)
"""Programs that scripts call; of a machine without one of them, image and miners both lack it."""

_HERE: Final = {
    name: Path(str(module.__file__)).parent for name, module in (("localnet", localnet), ("validator", validator))
}


def tracer_image(cache: Path | None = None) -> Image:
    """Return the image; blocks for a second.

    Args:
        cache: where the interpreter's layer is kept; None for the user's cache folder.

    Raises:
        ImageError: none can be made on this machine.
    """
    return python_image(program_files(), ENTRYPOINT, tools=TOOLS, cache=cache)


def program_files() -> Tree:
    """Return the program with everything it imports beside the standard library."""
    tree = {f"{FOLDER}/__main__.py": File(_place(PROGRAM))}
    for source in SOURCES:
        tree |= {f"{FOLDER}/{name}": File(path) for name, path in _sources(source)}
    for package in PACKAGES:
        folder = Path(str(importlib.import_module(package).__file__)).parent
        tree |= {f"{FOLDER}/{package}/{name}": File(path) for name, path in _code(folder, (".py", ".so"))}
    return tree


def _sources(source: str) -> Iterator[tuple[str, Path]]:
    place = _place(source)
    if source.endswith("/"):
        yield from ((f"{source}{name}", path) for name, path in _code(place, (".py",)))
    else:
        yield source, place


def _place(name: str) -> Path:
    package, _, rest = name.partition("/")
    return _HERE[package] / rest


def _code(folder: Path, endings: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.name.endswith(endings) and path.is_file():
            yield path.relative_to(folder).as_posix(), path
