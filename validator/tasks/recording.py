"""Writing to a manifest of packages what was packed (`validator tasks pack --manifest`)."""

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from validator.files import new_file, settle
from validator.planting.draws import json_file
from validator.protocol.text import printable
from validator.tasks.folder import label, writing
from validator.tasks.packages import Package, Packages, PackedFile, parse_packages, read_packages, require_name
from validator.tasks.packing import Packed
from validator.tasks.references import parse_reference
from validator.tasks.source import TaskError

_NO_LOCKS: Final = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # of folders, on some network file systems


def require_recordable(file: Path, out: Path) -> None:
    """Find out whether what is packed to the folder `out` could enter the manifest, before anything is fetched.

    Raises:
        TaskError: it could not: the manifest is none, its folder takes no file, or a package cannot have that name.
    """
    read_packages(file)
    _name(file, out)
    with writing(file), tempfile.TemporaryFile(dir=file.parent):
        pass


@contextmanager
def recording(file: Path, what: str, out: Path, packed: Packed) -> Iterator[None]:
    """Write to the manifest what was packed to the folder `out`, in place of what stood there under its name.

    The body writes the task. It runs once the new manifest is on the disk beside the old one, which it replaces where
    the body raises nothing: a manifest that cannot be written leaves no task, and a task that cannot be written leaves
    the manifest as it was. Who records in the same folder meanwhile waits.

    Raises:
        TaskError: the manifest cannot be read or written, or what was packed cannot stand in it.
    """
    package = _package(file, what, out, packed)
    with writing(file), _alone(file.parent):
        others = [each for each in read_packages(file).packages if each.name != package.name]
        found = Packages("1.0", tuple(sorted([*others, package], key=lambda each: each.name)))
        document = json_file(msgspec.to_builtins(found))
        parse_packages(document, file.name)
        with new_file(file, mode=None, replace=True) as stream:
            stream.write(document)
            settle(stream)
            yield


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder against others who record in it; without it where its file system locks no folders."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(handle)


def _package(file: Path, what: str, out: Path, packed: Packed) -> Package:
    task, pin = packed.task.task, packed.pin
    artifact = pin.artifact
    return Package(
        name=_name(file, out),
        source=_source(what, file),
        version=pin.version,
        commit=pin.commit,
        artifact=None if artifact is None else PackedFile(artifact.name, artifact.sha256, artifact.integrity),
        bundle_sha256=task.bundle_sha256,
        skill_type=task.skill_type,
        canary=task.canary.file if task.canary else None,
        windows=task.windows,
    )


def _name(file: Path, out: Path) -> str:
    name = out.resolve().name
    try:
        require_name(name)
    except ValueError as error:
        raise TaskError(f"`{label(file)}`: {error}: name another folder (--output)") from None
    return name


def _source(what: str, file: Path) -> str:
    path = Path(what)
    if parse_reference(what) is not None or not path.exists():
        return what
    relative = os.path.relpath(path, file.parent)
    try:
        relative.encode()
    except UnicodeEncodeError:
        raise TaskError(f"`{label(file)}`: the path of `{printable(what)}` is no text") from None
    return relative if "/" in relative else f"./{relative}"
