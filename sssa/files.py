"""Files and folders: written whole or not at all, and read with bounds on size and time."""

import codecs
import errno
import os
import select
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

OWN: Final = 0o600
PUBLIC: Final = 0o644
_BY_UMASK: Final = 0o666
_WAIT_S: Final = 5.0
_WHOLE_S: Final = 30.0
_NAME: Final = 40  # characters of a file's name in that of its part
_ADVICE: Final[Mapping[int, str]] = {
    errno.ENOSPC: "free some space there, or name another place",
    errno.EDQUOT: "free some of the user's space there, or name another place",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or name another place",
    errno.EROFS: "mount it for writing, or name another place",
}


@contextmanager
def new_file(file: Path, *, mode: int | None = OWN, replace: bool = False) -> Iterator[BinaryIO]:
    """Yield a stream into what will be `file`: it is put there at the end, whole and through to the disk.

    Until then its name is one that nobody can foresee, in the same folder, and nothing of it is left where an exception
    ends it. A symbolic link counts as what exists, and is not followed.

    Args:
        file: its place; its folder exists.
        mode: its rights once it is whole, whatever the umask, and its owner's alone before; None: as the umask has it.
        replace: whether what exists is replaced. A pipe or a device is written to instead.

    Raises:
        FileExistsError: it exists already, and is left as it is.
        OSError: it cannot be written; the error names it.
    """
    if replace and _takes_stream(file):
        with file.open("wb") as stream:
            yield stream
        return
    if not replace:
        _require_nothing(file)
    part = _part(file)
    try:
        with _naming(file, part):
            number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _BY_UMASK if mode is None else OWN)
            with os.fdopen(number, "wb") as stream:
                yield stream
                if mode is not None:
                    os.fchmod(number, mode)
                settle(stream)
            put(part, file, replace=replace)
    finally:
        part.unlink(missing_ok=True)


def write_file(file: Path, data: bytes, *, mode: int | None = OWN, replace: bool = False) -> None:
    """Write a file as `new_file` does.

    Raises:
        FileExistsError: it exists already, and is left as it is.
        OSError: it cannot be written; the error names it.
    """
    with new_file(file, mode=mode, replace=replace) as stream:
        stream.write(data)


@contextmanager
def made_folders(folder: Path, *, mode: int = 0o777) -> Iterator[None]:
    """Make a folder and those above it, where they are missing; an exception leaves no empty one of those it made.

    Args:
        folder: one that may be there.
        mode: of each that is made, less what the umask takes.

    Raises:
        OSError: one cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        for each in reversed(missing):
            each.mkdir(mode=mode, exist_ok=True)
        folder.mkdir(exist_ok=True)
        yield
    except BaseException:
        for each in missing:
            with suppress(OSError):
                each.rmdir()
        raise


def put(part: Path, file: Path, *, replace: bool = False) -> None:
    """Give a file that is whole its name, and write that through to the disk; its old name is gone.

    Raises:
        FileExistsError: the name is taken by now, and must not be replaced.
        OSError: it cannot be had.
    """
    if replace:
        part.replace(file)
    else:
        _rename(part, file)
    with suppress(PermissionError):  # a folder that takes files may keep from being read
        sync(file.parent)


def settle(stream: BinaryIO) -> None:
    """Write everything through to the disk: where there is no room, here is where it shows (OSError: there is none)."""
    stream.flush()
    os.fsync(stream.fileno())


def sync(path: Path) -> None:
    """Write a file's bytes, or a folder's names, through to the disk (OSError: they cannot be written)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def why(error: OSError) -> str:
    """Return what kept a file from being written, and what to do where there is something to do."""
    text = error.strerror or str(error) or type(error).__name__
    return "; ".join(part for part in (text, advice(error)) if part)


def advice(error: OSError) -> str | None:
    """Return what an operator does about it, None where that hangs on what was to be written."""
    return _ADVICE.get(error.errno or 0)


def _part(file: Path) -> Path:
    return file.with_name(f".{file.name[:_NAME]}.{os.urandom(8).hex()}.part")


def _takes_stream(file: Path) -> bool:
    try:
        mode = file.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _require_nothing(file: Path) -> None:
    if os.path.lexists(file):
        raise _taken(file)


def _taken(file: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file))


def _rename(part: Path, file: Path) -> None:
    try:
        os.link(part, file)  # unlike a renaming it never replaces what came there meanwhile
    except FileExistsError:
        raise _taken(file) from None
    except OSError:  # not every file system has links
        _require_nothing(file)
        part.rename(file)
    else:
        part.unlink()


@contextmanager
def _naming(file: Path, part: Path) -> Iterator[None]:
    """Let errors name the file: a full disk names none, and its part is of no use to anybody."""
    try:
        yield
    except OSError as error:
        if error.filename == str(part) or (error.filename is None and error.errno in _ADVICE):
            raise OSError(error.errno, error.strerror, str(file)) from None
        raise


def read_at_most(file: Path, most: int, wait_s: float = _WAIT_S, whole_s: float = _WHOLE_S) -> bytes:
    """Return a file's content, `most` + 1 bytes of one that is larger.

    A pipe is read to its end, as a shell makes them of `<(command)`; one that nobody writes to would hold up the start.

    Args:
        file: a file, a pipe or a device.
        most: bytes.
        wait_s: how long a pipe may say nothing.
        whole_s: how long it may take to its end, however much it says.

    Raises:
        TimeoutError: it is a pipe that was silent for so long, or had no end in time.
        OSError: it cannot be read.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as stream:
        if not stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            with file.open("rb") as plain:
                return plain.read(most + 1)
        data, until = b"", time.monotonic() + whole_s
        while len(data) <= most:
            if not select.select([stream], [], [], wait_s)[0]:
                raise TimeoutError(0, f"a pipe that was silent for {wait_s:g} s")
            if time.monotonic() > until:
                raise TimeoutError(0, f"a pipe that had no end within {whole_s:g} s")
            chunk = stream.read(most + 1 - len(data))
            if not chunk:
                break
            data += chunk
        return data


def one_line(data: bytes) -> str:
    """Return a secret's text as it is in its file, without a line break behind it.

    Raises:
        ValueError: the text says what is wrong, and shows nothing of it.
    """
    if data.startswith(codecs.BOM_UTF8):
        raise ValueError("begins with a byte order mark; save it as UTF-8 without one")
    try:
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    if not text:
        raise ValueError("empty")
    if not text.isprintable():
        raise ValueError("holds control characters or several lines")
    return text


def from_home(path: Path) -> Path:
    """Return a path with the folder that a ~ in front stands for (FileNotFoundError: nobody knows that folder)."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise FileNotFoundError(
            errno.ENOENT, f"no home folder is known for {path.parts[0]}; write the whole path", str(path)
        ) from None
