"""The runner's image, made of this machine's Python and packages; runner/Dockerfile takes the same program files."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import localnet
from localnet.images.build import Image, python_image
from localnet.images.machine import PYTHON, ImageError
from localnet.images.tree import File, Tree

FOLDER: Final = "runner"
ENTRYPOINT: Final = (PYTHON, "-s", "-P", "-m")
PACKAGES: Final = ("_pytest", "iniconfig", "packaging", "pluggy", "py", "pygments", "pytest", "ruff")
"""What the program imports beside the standard library; requirements/runner.txt locks it for the Dockerfile."""

LINTER: Final = "usr/local/bin/ruff"
_PROGRAM: Final = Path(str(localnet.__file__)).parents[1] / "runner" / "code_runner"
_ENDINGS: Final = (".py", ".ini")


def runner_image(cache: Path | None = None) -> Image:
    """Return the image; blocks for a second or two.

    Args:
        cache: where the interpreter's layer is kept; None for the user's cache folder.

    Raises:
        ImageError: none can be made on this machine.
    """
    return python_image(program_files(), ENTRYPOINT, {"PYTHONPATH": f"/{FOLDER}"}, cache=cache)


def program_files() -> Tree:
    """Return the program with everything it imports beside the standard library, and the linter.

    Raises:
        ImageError: a part is not on this machine.
    """
    linter = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if not _PROGRAM.is_dir() or linter is None:
        raise ImageError("the image that judges code is made in a clone of the project, after `make setup`")
    tree = {f"{FOLDER}/code_runner/{name}": File(path) for name, path in _files(_PROGRAM)}
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise ImageError(f"{package} is not installed, which judges code: `make setup` brings it")
        place = Path(found.origin)
        files = _files(place.parent) if found.submodule_search_locations else [("", place)]
        tree |= {f"{FOLDER}/{package}{f'/{name}' if name else '.py'}": File(path) for name, path in files}
    return {**tree, LINTER: File(Path(linter), 0o755)}


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _ENDINGS and path.is_file():
            yield path.relative_to(folder).as_posix(), path
