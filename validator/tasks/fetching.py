"""Fetching packages that are elsewhere through the user's own tools: pip, npm and git. Nothing fetched is ever run."""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from validator.protocol.text import printable
from validator.tasks.collecting import Collection, collected
from validator.tasks.described import PACKAGE, about
from validator.tasks.references import NpmReference, PypiReference, Reference, folder_name
from validator.tasks.repositories import fetched_commit
from validator.tasks.source import TaskError
from validator.tasks.tools import Tool, run_tool

_PIP: Final = Tool("pip", "download the wheel or the sdist and name the file")
_PIP_DOWNLOAD: Final = (
    *("download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar=off"),
    *("--no-deps", "--only-binary=:all:", "--dest=got"),
)
_NPM: Final = Tool("npm", "download the package's .tgz and name the file")
_NPM_PACK: Final = (
    *("pack", "--ignore-scripts", "--loglevel=error", "--no-update-notifier", "--no-audit", "--no-fund"),
    *("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--cache=cache", "--pack-destination=got"),
)


@dataclass(frozen=True, slots=True)
class Artifact:
    """The file that a registry gave, or that was packed.

    Attributes:
        name: without its folder.
        sha256: of its bytes, in hex.
        integrity: as npm writes it (`sha512-` and Base64), None for others.
    """

    name: str
    sha256: str
    integrity: str | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """What exactly was packed; every field is None where there is no such thing."""

    version: str | None = None
    commit: str | None = None
    artifact: Artifact | None = None


@contextmanager
def fetched(reference: Reference) -> Iterator[tuple[Collection, Pin]]:
    """Give the files of a package that is elsewhere; they can be read inside the `with` only. Blocks.

    It is fetched into a temporary folder, which is gone afterwards, however this ends.

    Raises:
        TaskError: the tool is missing, failed or was stopped, or what came is nothing that could be packed.
    """
    with TemporaryDirectory(prefix="validator-pack-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if isinstance(reference, PypiReference):
            path = _from_pypi(reference, folder)
        elif isinstance(reference, NpmReference):
            path = _from_npm(reference, folder)
        else:
            collection, commit = fetched_commit(reference, folder)
            yield collection, Pin(commit=commit)
            return
        with collected(path) as collection:
            npm = isinstance(reference, NpmReference)
            pin = Pin(_version(reference, path, collection), artifact=artifact_of(path, npm=npm))
            yield _within(collection, reference), pin


def artifact_of(path: Path, *, npm: bool = False) -> Artifact:
    """Return the name and hashes of a file.

    Raises:
        TaskError: it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            sha512 = hashlib.file_digest(stream, "sha512").digest() if npm else None
    except OSError as error:
        raise TaskError(f"`{printable(path.name)}` cannot be read: {error.strerror}") from None
    integrity = None if sha512 is None else f"sha512-{base64.b64encode(sha512).decode()}"
    return Artifact(printable(path.name), sha256, integrity)


def _from_pypi(reference: PypiReference, folder: Path) -> Path:
    """Return the wheel that pip chose for this machine. Without one pip would build the sdist, which runs its code."""
    wanted = reference.name if reference.version is None else f"{reference.name}=={reference.version}"
    (folder / "got").mkdir()
    try:
        run_tool(_PIP, [*_PIP_DOWNLOAD, "--", wanted], folder)
    except TaskError as error:
        hint = "; only wheels are fetched: of an sdist name the file" if "No matching" in error.detail else ""
        raise TaskError(error.detail + hint) from None
    return _only(folder / "got", "pip")


def _from_npm(reference: NpmReference, folder: Path) -> Path:
    wanted = reference.name if reference.version is None else f"{reference.name}@{reference.version}"
    (folder / "got").mkdir()
    run_tool(_NPM, [*_NPM_PACK, "--", wanted], folder)
    return _only(folder / "got", "npm")


def _only(folder: Path, tool: str) -> Path:
    """Return the one file that the tool put there, whatever it is called: no name of a stranger's chooses a path."""
    found = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
    if len(found) != 1:
        raise TaskError(f"`{tool}` left {len(found)} files where one was wanted")
    return found[0]


def _within(collection: Collection, reference: PypiReference | NpmReference) -> Collection:
    """Return what lies in the folder that the reference names: all of it where it names none."""
    if reference.subdirectory is None:
        return collection
    prefix = f"{reference.subdirectory}/"
    found = [each for each in collection.files if each.name.startswith(prefix)]
    if not found:
        raise TaskError(f"no folder `{printable(reference.subdirectory)}` in {printable(reference.name)}")
    inside = [each._replace(name=each.name.removeprefix(prefix)) for each in found]
    return Collection(folder_name(reference), inside, collection.notes)


def _version(reference: Reference, path: Path, collection: Collection) -> str | None:
    if isinstance(reference, PypiReference):
        return printable(path.name.split("-")[1]) if path.name.count("-") > 1 else reference.version
    document = next((each for each in collection.files if each.name == PACKAGE), None)
    return None if document is None else about({PACKAGE: document.read()}).get("version")
