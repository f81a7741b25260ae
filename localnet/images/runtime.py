"""The runtime image without a registry in reach: this machine's Python, Node and shell, and the programs of runner/.

runner/Dockerfile makes the published one of the same program files.
"""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import tracer

from localnet.images.build import Image, python_image
from localnet.images.machine import PYTHON, ImageError
from localnet.images.tree import File, Tree

FOLDER: Final = "runner"
ENTRYPOINT: Final = (PYTHON, "-s", "-P", "-m")
PROGRAMS: Final = ("code_runner", "tracer")
PACKAGES: Final = ("_pytest", "iniconfig", "packaging", "pluggy", "py", "pygments", "pytest", "ruff")
"""What the judging of code imports beyond the standard library; requirements/runner.txt locks it for the Dockerfile."""

TOOLS: Final = tuple(
    """
    [ arch awk b2sum base32 base64 basename basenc bash bc bunzip2 bzcat bzip2 cat chgrp chmod chown cksum cmp comm
    cp csplit curl cut date dd df diff dir dirname du echo ed egrep env expand expr factor false fgrep file find fmt
    fold grep groups gunzip gzip head hexdump hostname iconv id install ip join jq kill link ln logname ls md5sum
    mkdir mkfifo mknod mktemp more mv nc nice nl node nohup nproc numfmt od openssl paste patch pathchk pr printenv
    printf ps pwd readlink realpath rev rm rmdir rsync sed seq setsid sh sha1sum sha224sum sha256sum sha384sum
    sha512sum shred shuf sleep sort split sqlite3 stat stdbuf strings stty sum sync tac tail tar tee test timeout
    touch tr true truncate tsort tty uname unexpand uniq unlink unxz unzip uptime wc wget which who whoami xargs xxd
    xz xzcat yes zcat zip
    """.split()  # noqa: SIM905 - a list of two hundred strings reads worse
)
"""Programs that scripts call; an image of a machine without one of them lacks it. Without Node, no JavaScript runs."""

LINTER: Final = "usr/local/bin/ruff"
_RUNNER: Final = Path(str(tracer.__file__)).parents[1]
_ENDINGS: Final = (".py", ".ini")


def runtime_image(cache: Path | None = None) -> Image:
    """Return the image; blocks for a second or two.

    Args:
        cache: where the layer of interpreter and programs is kept; None for the user's cache folder.

    Raises:
        ImageError: none can be made on this machine.
    """
    return python_image(program_files(), ENTRYPOINT, {"PYTHONPATH": f"/{FOLDER}"}, tools=TOOLS, cache=cache)


def program_files() -> Tree:
    """Return the programs with everything they import beyond the standard library, and the linter.

    Raises:
        ImageError: a part is not on this machine.
    """
    linter = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if linter is None:
        raise ImageError("ruff is not installed, which judges code: `make setup` brings it")
    tree = {
        f"{FOLDER}/{program}/{name}": File(path) for program in PROGRAMS for name, path in _files(_RUNNER / program)
    }
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise ImageError(f"{package} is not installed, which judges code: `make setup` brings it")
        place = Path(spec.origin)
        files = _files(place.parent) if spec.submodule_search_locations else [("", place)]
        tree |= {f"{FOLDER}/{package}{f'/{name}' if name else '.py'}": File(path) for name, path in files}
    return {**tree, LINTER: File(Path(linter), 0o755)}


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _ENDINGS and path.is_file():
            yield path.relative_to(folder).as_posix(), path
