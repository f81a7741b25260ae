"""Packages that the user's own pip, npm and git download into a temporary folder. Nothing of a package is run."""

import base64
import hashlib
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from validator.protocol import limits
from validator.protocol.sssa import Document, Hex32, Text
from validator.protocol.text import printable
from validator.tasks.collection import Collection, collected
from validator.tasks.layout import PACKAGE, about
from validator.tasks.source import TaskError

Kind = Literal["pypi:", "npm:", "git+"]
_FOLDER: Final = r"(?:#subdirectory=(?P<subdirectory>[A-Za-z0-9._ @/+-]{1,512}))?"
_PYPI_FORM: Final = (
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)(?:==(?P<version>[0-9][0-9A-Za-z.!+_-]{0,63}))?"
)
_NPM_FORM: Final = (
    r"(?P<name>(?:@[a-z0-9][a-z0-9._~-]{0,100}/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,200})"
    r"(?:@(?P<version>[0-9A-Za-z][0-9A-Za-z.+-]{0,127}))?"
)
# Letters that neither git nor a shell below it takes for anything but a part of a name.
_GIT_FORM: Final = (
    r"(?P<name>(?:https://[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?"
    r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|file://)/[A-Za-z0-9._~/%+,=-]{1,1024})"
    r"(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}))?"
)


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    sign: str  # between name and version
    shown: str


_FORMS: Final[dict[Kind, _Form]] = {
    "pypi:": _Form(re.compile(_PYPI_FORM + _FOLDER, re.ASCII), "==", "pypi:NAME or pypi:NAME==VERSION"),
    "npm:": _Form(re.compile(_NPM_FORM + _FOLDER, re.ASCII), "@", "npm:NAME, npm:@SCOPE/NAME or either with @VERSION"),
    "git+": _Form(
        re.compile(_GIT_FORM + _FOLDER, re.ASCII),
        "@",
        "git+https://HOST/PATH, git+ssh://… or git+file:///PATH, each with @REVISION if wished",
    ),
}


class Reference(NamedTuple):
    """A package elsewhere, or a folder of it.

    Attributes:
        kind: where: the prefix of the text.
        name: of the distribution or npm package; the url of a repository.
        version: a version; npm: also a tag; git: a branch, a tag or a whole commit. None for the newest.
        subdirectory: None for all of it.
    """

    kind: Kind
    name: str
    version: str | None = None
    subdirectory: str | None = None

    def __str__(self) -> str:
        """Return the text that `parse_reference` reads."""
        version = "" if self.version is None else f"{_FORMS[self.kind].sign}{self.version}"
        folder = "" if self.subdirectory is None else f"#subdirectory={self.subdirectory}"
        return f"{self.kind}{self.name}{version}{folder}"

    @property
    def folder_name(self) -> str:
        """The name of a folder for it: no separators, no leading dot or hyphen."""
        name = self.name.rstrip("/").rpartition("/")[2] if self.kind == "git+" else self.name.removeprefix("@")
        last = self.subdirectory.rpartition("/")[2] if self.subdirectory else name.replace("/", "-")
        return re.sub(r"[^A-Za-z0-9._-]", "-", last.removesuffix(".git")).lstrip(".-") or "task"


def parse_reference(text: str) -> Reference | None:
    """Return the reference that the text is, None if it has the form of a path or of an installed distribution.

    Raises:
        TaskError: it begins like a reference and is none; credentials in a url are refused as well.
    """
    for kind, form in _FORMS.items():
        if not text.startswith(kind):
            continue
        match = form.pattern.fullmatch(text.removeprefix(kind))
        folder = (match and match["subdirectory"]) or ""
        if match is None or ".." in (match["version"] or "") or _leads_out(folder):
            raise TaskError(f"`{printable(text)}` is not of the form {form.shown}, then #subdirectory=FOLDER if wished")
        return Reference(kind, match["name"], match["version"], folder.strip("/") or None)
    return None


def _leads_out(folder: str) -> bool:
    return bool(folder) and any(part in {"", ".", ".."} for part in folder.strip("/").split("/"))


SECONDS: Final = 300.0  # of one run of a tool
DISK: Final = 256 * limits.MIB  # bytes of what it prints and writes
_LOOK_S: Final = 0.1
_READ: Final = 64 * 1024  # bytes of what it printed
_GOT: Final = "got"
_INSTEAD: Final = {
    "pip": "download the wheel or the sdist and name the file",
    "npm": "download the package's .tgz and name the file",
    "git": "name a folder or an archive of it",
}
_PIP: Final = (
    *("download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar=off"),
    *("--no-deps", "--only-binary=:all:", f"--dest={_GOT}", "--"),  # pip would run an sdist's setup.py
)
_NPM: Final = (
    *("pack", "--ignore-scripts", "--loglevel=error", "--no-update-notifier", "--no-audit", "--no-fund"),
    *("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--cache=cache", f"--pack-destination={_GOT}", "--"),
)
# Whatever the user's settings say. The list of protocols overrides every `protocol.*.allow`: `ext::` runs commands.
_GIT: Final = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.askPass="),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "protocol.version=2", "-c", "protocol.ext.allow=never"),
    *("-c", "fetch.recurseSubmodules=false", "-c", "submodule.recurse=false", "--git-dir=repository"),
)
_GIT_VARIABLES: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -oBatchMode=yes", "LC_ALL": "C"}
# They come before the repository's own .gitattributes: every file as it was committed, through no filter.
_AS_COMMITTED: Final = "* -text -ident -filter -working-tree-encoding -export-ignore -export-subst\n"


class Artifact(Document, frozen=True):
    """The file that was packed; `integrity` is its hash as npm writes it, None for other packages."""

    name: Text
    sha256: Hex32
    integrity: Text | None


class Pin(NamedTuple):
    """Exact source of a pack; a field that does not apply is None."""

    version: str | None = None
    commit: str | None = None
    artifact: Artifact | None = None


@contextmanager
def gathered(what: str | Path) -> Iterator[tuple[Collection, Pin]]:
    """Give the files of what is to be packed, and its pin; they can be read inside the `with` only. Blocks.

    Args:
        what: a path or the name of an installed distribution (see `collected`), or a reference to a package elsewhere
            (see `parse_reference`), which is fetched into a temporary folder.

    Raises:
        TaskError: there is no such thing, or nothing that could be packed; the tool is missing, failed (with its own
            words in one line), or was stopped at a bound.
    """
    reference = parse_reference(what) if isinstance(what, str) else None
    if reference is not None:
        with TemporaryDirectory(prefix="validator-pack-", ignore_cleanup_errors=True) as made:
            (Path(made) / _GOT).mkdir()
            with _fetched(reference, Path(made)) as found:
                yield found
        return
    path = Path(what)
    with collected(what) as collection:
        if path.is_file():
            yield collection, Pin(artifact=_artifact(path))
        else:
            yield collection, Pin(None if path.exists() else importlib.metadata.version(str(what)))


@contextmanager
def _fetched(reference: Reference, folder: Path) -> Iterator[tuple[Collection, Pin]]:
    tool, fetch = _TOOLS[reference.kind]
    commit = fetch(reference, folder)
    found = [path for path in (folder / _GOT).iterdir() if path.is_file() and not path.is_symlink()]
    if len(found) != 1:
        raise TaskError(f"`{tool}` left {len(found)} files where one was wanted")
    with collected(found[0]) as collection:
        pin = Pin(commit=commit)
        if commit is None:
            artifact = _artifact(found[0], npm=reference.kind == "npm:")
            pin = Pin(_version(reference, found[0], collection), None, artifact)
        yield _inside(collection, reference), pin


def _pypi(reference: Reference, folder: Path) -> None:
    """Fetch the wheel that pip chooses for this machine."""
    wanted = reference.name if reference.version is None else f"{reference.name}=={reference.version}"
    try:
        run_tool("pip", (*_PIP, wanted), folder)
    except TaskError as error:
        hint = "; only wheels are fetched: of an sdist name the file" if "No matching" in error.detail else ""
        raise TaskError(error.detail + hint) from None


def _npm(reference: Reference, folder: Path) -> None:
    wanted = reference.name if reference.version is None else f"{reference.name}@{reference.version}"
    run_tool("npm", (*_NPM, wanted), folder)


def _git(reference: Reference, folder: Path) -> str:
    """Write an archive of one commit, or of a folder of it, and return the commit. There is no working tree."""
    variables = {**_GIT_VARIABLES, "GIT_ALLOW_PROTOCOL": "file" if reference.name.startswith("file:") else "https:ssh"}

    def git(*arguments: str) -> str:
        return run_tool("git", (*_GIT, *arguments), folder, variables)

    git("init", "--quiet", "--bare", "--template=")
    (folder / "repository" / "info").mkdir(exist_ok=True)
    (folder / "repository" / "info" / "attributes").write_text(_AS_COMMITTED)
    revision = reference.version or "HEAD"
    git("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", reference.name, revision)
    commit = git("rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}").strip()
    inside = () if reference.subdirectory is None else (f"./{reference.subdirectory}",)
    git("archive", "--format=tar", "--prefix=commit/", f"--output={_GOT}/commit.tar", commit, *inside)
    return commit


_TOOLS: Final[Mapping[Kind, tuple[str, Callable[[Reference, Path], str | None]]]] = {
    "pypi:": ("pip", _pypi),
    "npm:": ("npm", _npm),
    "git+": ("git", _git),
}


def _artifact(path: Path, *, npm: bool = False) -> Artifact:
    try:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            sha512 = hashlib.file_digest(stream, "sha512").digest() if npm else None
    except OSError as error:
        raise TaskError(f"`{printable(path.name)}` cannot be read: {error.strerror}") from None
    integrity = None if sha512 is None else f"sha512-{base64.b64encode(sha512).decode()}"
    return Artifact(printable(path.name), sha256, integrity)


def _inside(collection: Collection, reference: Reference) -> Collection:
    """Return what is in the folder that the reference names: all of it where it names none."""
    prefix = "" if reference.subdirectory is None else f"{reference.subdirectory}/"
    inside = [each._replace(name=each.name[len(prefix) :]) for each in collection.files if each.name.startswith(prefix)]
    if prefix and not inside:
        raise TaskError(f"no folder `{printable(reference.subdirectory or '')}` in {printable(reference.name)}")
    return Collection(reference.folder_name, inside, collection.notes)


def _version(reference: Reference, path: Path, collection: Collection) -> str | None:
    if reference.kind == "pypi:":
        return printable(path.name.split("-")[1]) if path.name.count("-") > 1 else reference.version
    document = next((each for each in collection.files if each.name == PACKAGE), None)
    return None if document is None else about({PACKAGE: document.read()}).get("version")


def run_tool(tool: str, arguments: tuple[str, ...], folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Run a program of the user's in `folder` until it ends, and return the beginning of what it printed. Blocks.

    There is no shell. What it prints and writes is counted in `folder`, which is its TMPDIR; what it started dies with
    it.

    Args:
        tool: its name on the PATH.
        arguments: everything after its name; the caller checked what in them came from outside.
        folder: its working folder.
        variables: of its environment, next to the user's own, but for those of git: they could mean another repository.

    Raises:
        TaskError: it is missing, failed (with its own words, in one line), or was stopped at a bound.
    """
    program = shutil.which(tool)
    if program is None:
        raise TaskError(f"`{tool}` is not on the PATH: install it, or {_INSTEAD[tool]}")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    with (folder / "stdout").open("w+b") as output, (folder / "stderr").open("w+b") as errors:
        process: subprocess.Popen[bytes] | None = None
        try:
            with _signals_held():
                process = subprocess.Popen(  # noqa: S603 - a known program; the caller checked its arguments
                    [program, *arguments],
                    cwd=folder,
                    env={**kept, "TMPDIR": str(folder), **(variables or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    start_new_session=True,  # Ctrl-C reaches this process, which ends it
                )
            code = _ended(tool, process, folder)
        except OSError as error:
            raise TaskError(f"`{tool}` cannot be started: {error.strerror}") from None
        finally:
            if process is not None:
                with process, suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _READ))
        printed, complaint = output.read(_READ).decode(errors="replace"), _complaint(errors.read())
    if code:
        raise TaskError(f"`{tool}` failed: {complaint or f'exit code {code}'}")
    return printed


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end of the block: a process that has begun must be known to be ended."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda held, _: came.append(held))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for caught in came:
            signal.raise_signal(caught)


def _ended(tool: str, process: "subprocess.Popen[bytes]", folder: Path) -> int:
    """Return its exit code once it has ended by itself."""
    end = time.monotonic() + SECONDS
    code: int | None = None
    while code is None:
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(_LOOK_S)
        if code is None and time.monotonic() > end:
            raise TaskError(f"`{tool}` was stopped: it took more than {SECONDS:g} s")
        if _size(folder) > DISK:
            raise TaskError(f"`{tool}` was stopped: it wrote more than {DISK} bytes; {_INSTEAD[tool]}")
    return code


def _size(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, file)).st_size  # noqa: PTH118 - many of them
    return total


def _complaint(errors: bytes) -> str:
    """Return what a tool says went wrong: npm's first two errors, git's first, pip's last, else the last line."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    if npm := [line for line in lines if line.startswith(("npm error", "npm ERR!"))]:
        return printable(" ".join(line.split(maxsplit=2)[-1] for line in npm[:2]), 300)
    if git := [line for line in lines if line.startswith("fatal:")]:
        return printable(git[0], 300)
    said = [line for line in lines if line.startswith("ERROR:")] or lines
    return printable(said[-1].removeprefix("ERROR: "), 300) if said else ""
