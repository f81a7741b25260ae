"""Packages of a manifest, downloaded by the user's pip and npm, checked by hash and unpacked: sources for `tasks pack`.

`python benchmarks/package_downloads.py MANIFEST FOLDER` writes FOLDER/packages.json, whose sources are local folders.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from taskmaker.packing import clean_name
from validator.tasks.collection import collected
from validator.tasks.package_manifest import Package, Packages, read_packages
from validator.tasks.package_reference import Reference, parse_reference
from validator.tasks.source import TaskError

_PIP: Final = ("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest")
_NPM: Final = ("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination")


def write_local_manifest(packages: Iterable[Package], folder: Path) -> Path:
    """Download what has a reference, and return `folder`/packages.json, whose sources are local folders.

    Raises:
        TaskError: a package cannot be downloaded, or its archive hashes otherwise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    local = [_local(package, folder / "sources" / package.name) for package in packages]
    manifest = folder / "packages.json"
    manifest.write_bytes(msgspec.json.encode(Packages("1.0", tuple(local))))
    return manifest


def _local(package: Package, folder: Path) -> Package:
    reference = None if package.package is None else parse_reference(package.package)
    if reference is None:
        return package
    prefix = f"{reference.subdirectory}/" if reference.subdirectory else ""
    name = prefix.rstrip("/").rpartition("/")[2] or reference.name.removeprefix("@").replace("/", "-")  # of the skill
    with tempfile.TemporaryDirectory() as made:
        for one in collected(_downloaded(package, reference, Path(made))).files:
            path = clean_name(one.name.removeprefix(prefix)) if one.name.startswith(prefix) else None
            if path is not None:
                (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / name / path).write_bytes(one.read())
    return msgspec.structs.replace(package, source=str((folder / name).resolve()), version=None, artifact=None)


def _downloaded(package: Package, reference: Reference, folder: Path) -> Path:
    command, sign = (_PIP, "==") if reference.kind == "pypi:" else (_NPM, "@")
    done = subprocess.run(
        [*command, str(folder), f"{reference.name}{sign}{reference.version}"], cwd=folder, check=False
    )
    archive = next(folder.iterdir(), None)
    if done.returncode or archive is None:
        raise TaskError(f"`{package.name}`: `{command[0]}` failed")
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    if package.artifact is None or sha256 != package.artifact.sha256:
        raise TaskError(f"`{package.name}`: the archive hashes to {sha256}")
    return archive


if __name__ == "__main__":
    write_local_manifest(read_packages(Path(sys.argv[1])).packages, Path(sys.argv[2]))
