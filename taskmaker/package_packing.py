"""Packing of packages into folders, recorded in a manifest, from which all of them can be packed again."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from sssa.files import new_file, settle
from sssa.protocol.text import printable
from taskmaker.packing import Packed, PackOptions, json_file, pack_task, write_task
from validator.tasks.folder import TASK_NAME, label, read_task, writing
from validator.tasks.package_manifest import NAME, NAME_RULE, Package, Packages, parse_packages, read_packages
from validator.tasks.package_reference import parse_reference
from validator.tasks.source import TaskError


class Rebuilt(NamedTuple):
    """A package after `rebuild`: `fault` says why its task was not made; `there` is whether it stood there already."""

    package: Package
    path: Path
    fault: str | None
    there: bool


def pack_path(
    what: str | Path,
    out: Path,
    options: PackOptions | None = None,
    manifest: Path | None = None,
    package: str | None = None,
) -> Packed:
    """Make a task, write it to the folder `out` as `task.json` and `bundle.tar.gz`, and record it. Blocks.

    Args:
        what: see `pack_task`.
        out: the task's folder.
        options: None for all the defaults.
        manifest: takes what was packed, in place of what stood there under its name: with the task, or neither is
            written.
        package: where `what` was downloaded from (see `parse_reference`), for the manifest.

    Raises:
        TaskError: nothing that can be packed, `package` is no reference, `out` holds a task already, or one of them
            cannot be written; where that can be known, nothing is packed.
    """
    chosen = options or PackOptions()
    if package is not None and parse_reference(package) is None:
        raise TaskError(f"`{printable(package)}` does not begin with pypi:, npm: or git+")
    if (out / TASK_NAME).exists() and not chosen.replace:
        raise TaskError(f"`{label(out)}` holds a task already: name another folder, or replace it (--replace)")
    if manifest is not None:
        read_packages(manifest)
        _name(manifest, out)
        with writing(manifest), tempfile.TemporaryFile(dir=manifest.parent):
            pass
    packed = pack_task(what, chosen)
    with nullcontext() if manifest is None else _recorded(manifest, _package(manifest, what, out, packed, package)):
        write_task(packed.task, out)
    return packed


@contextmanager
def _recorded(file: Path, package: Package) -> Iterator[None]:
    """Replace the manifest by one with the package, once the body has written the task and raised nothing."""
    with writing(file), _alone(file.parent):
        others = [each for each in read_packages(file).packages if each.name != package.name]
        recorded = Packages("1.0", tuple(sorted([*others, package], key=lambda each: each.name)))
        document = json_file(msgspec.to_builtins(recorded))
        parse_packages(document, file)
        with new_file(file, mode=None, replace=True) as stream:
            stream.write(document)
            settle(stream)
            yield


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder for one recording at a time; without it where its file system locks no folders."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _package(file: Path, what: str | Path, out: Path, packed: Packed, package: str | None) -> Package:
    task, pin = packed.task.task, packed.pin
    return Package(
        name=_name(file, out),
        source=_source(str(what), file),
        package=package,
        version=pin.version,
        artifact=pin.artifact,
        bundle_sha256=task.bundle_sha256,
        skill_type=task.skill_type,
        canary=task.canary.file if task.canary else None,
        windows=task.windows,
    )


def _name(file: Path, out: Path) -> str:
    name = out.resolve().name
    if not NAME.fullmatch(name):
        raise TaskError(f"`{label(file)}`: {NAME_RULE}: name another folder (--output)")
    return name


def _source(what: str, file: Path) -> str:
    path = Path(what)
    if not path.exists():
        return what
    relative = os.path.relpath(path, file.parent)
    try:
        relative.encode()
    except UnicodeEncodeError:
        raise TaskError(f"`{label(file)}`: the path of `{printable(what)}` is no text") from None
    return relative if "/" in relative else f"./{relative}"


def rebuild(file: Path, out: Path, *, replace: bool) -> Iterator[Rebuilt]:
    """Pack everything in the manifest again, to folders below `out`, and yield the result of each. Blocks.

    A task whose bundle hashes otherwise, or whose archive does, is not written. One that exists already with the same
    bundle is left as it is, its truth with it.

    Args:
        file: the manifest.
        out: the folder of the tasks' folders.
        replace: whether a task with another bundle may be replaced.

    Raises:
        TaskError: the manifest cannot be read, or holds nothing.
    """
    packages = read_packages(file).packages
    if not packages:
        raise TaskError(f"`{label(file)}` holds no package")
    for package in packages:
        path, there, fault = out / package.name, False, None
        try:
            packed = _again(package, file.parent)
            there = _is_there(package, path, replace=replace)
            if not there:
                write_task(packed.task, path)
        except TaskError as error:
            fault = error.detail
        yield Rebuilt(package, path, fault, there)


def _again(package: Package, folder: Path) -> Packed:
    options = PackOptions(package.skill_type, windows=package.windows, canary=package.canary)
    packed = pack_task(folder / package.source if "/" in package.source else package.source, options)
    artifact = packed.pin.artifact
    if package.artifact is not None:
        digest = None if artifact is None else artifact.sha256
        if digest != package.artifact.sha256.lower():
            raise TaskError(f"`{package.name}`: the file hashes to {digest}, not to {package.artifact.sha256}")
    if packed.task.task.bundle_sha256 != package.bundle_sha256.lower():
        made = packed.task.task.bundle_sha256
        raise TaskError(f"`{package.name}`: the bundle hashes to {made}, not to {package.bundle_sha256}")
    return packed


def _is_there(package: Package, path: Path, *, replace: bool) -> bool:
    if not (path / TASK_NAME).exists():
        return False
    try:
        if read_task(path).task.bundle_sha256 == package.bundle_sha256.lower():
            return True
    except TaskError:
        pass
    if not replace:
        raise TaskError(f"`{label(path)}` holds another task already: name another folder, or replace it (--replace)")
    return False
