"""The packages as bases: packed by the manifest, compositions made of their definitions."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from package_downloads import write_local_manifest

from real_skills.compositions import composed
from sssa.protocol.archives import pack
from sssa.protocol.bundles import read_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Task
from taskmaker.packing import write_task
from taskmaker.seeding import Base, base_of
from validator.tasks.folder import read_task, sourced_task
from validator.tasks.package_manifest import Package, read_packages
from validator.tasks.package_reference import parse_reference
from validator.tasks.source import TaskError

MANIFEST: Final = Path(__file__).with_name("packages.json")
VALIDATOR: Final = Path(sys.executable).with_name("validator")
# Of packages that define agents: the sha256 of the composition that is made of their definitions.
COMPOSITIONS: Final = {"gsd-agents": "8a1353282c01d4af78b30c1e3d59b83d74cd8dfcc45aebddd2aa3016a02faa46"}


class Skill(NamedTuple):
    """A package as a base; `to_decide` fields of its draft are left to a person."""

    package: Package
    base: Base
    to_decide: int


class RefusedError(Exception):
    """A step failed, or a hash is not the one that is pinned; the text says which in one line."""


def json_of(arguments: list[str], cwd: Path | None = None) -> Any:
    """Return what a command of `validator` prints as JSON.

    Raises:
        RefusedError: it ended with another exit code than 0.
    """
    done = subprocess.run([VALIDATOR, *arguments, "--json"], cwd=cwd, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise RefusedError(_fault(done.stdout) or f"`validator {' '.join(arguments)}` ended with {done.returncode}")
    return msgspec.json.decode(done.stdout)


def _fault(output: bytes) -> str | None:
    """Return the first fault that `tasks pack` printed of a package; what else goes wrong is on standard error."""
    packages = msgspec.json.decode(output).get("packages", []) if output.startswith(b"{") else []
    return next((one["fault"] for one in packages if one["fault"]), None)


def bases(work: Path, only: frozenset[str], step: Callable[[], None]) -> list[Skill]:
    """Pack, draft and read the packages of the manifest. Needs the network for those that are not there yet.

    Args:
        work: a folder; what was packed there before is taken as it is if its hash is right.
        only: names of packages; empty for all.
        step: called after each.

    Raises:
        RefusedError: a package cannot be had, or hashes otherwise.
    """
    pinned = {one.name: one for one in read_packages(MANIFEST).packages}
    if unknown := sorted(only - pinned.keys()):
        raise RefusedError(f"`{unknown[0]}` is none of {', '.join(pinned)}")
    packages = [one for one in pinned.values() if not only or one.name in only]
    missing = [package for package in packages if not _is_there(package, work / "packed" / package.name)]
    if missing:
        chosen = write_local_manifest(missing, work)
        json_of(["tasks", "pack", "--manifest", str(chosen), "--output", str(work / "packed"), "--replace"])
    skills = []
    for package in packages:
        folder = work / "packed" / package.name
        if package.name in COMPOSITIONS:
            folder = _composition(package, folder, work / "composed" / package.name)
        draft = json_of(["tasks", "draft", str(folder), "--replace"])
        skills.append(Skill(package, base_of(read_task(folder), package.name), len(draft["todo"])))
        step()
    return skills


def _require(what: str, sha256: str, pinned: str) -> None:
    if sha256 != pinned:
        raise RefusedError(f"{what} hashes to {sha256}, not to {pinned}")


def _is_there(package: Package, folder: Path) -> bool:
    try:
        return read_task(folder).task.bundle_sha256 == package.bundle_sha256
    except TaskError:
        return False


def _version(package: Package) -> str:
    reference = None if package.package is None else parse_reference(package.package)
    return (reference and reference.version) or "0"


def _composition(package: Package, packed: Path, folder: Path) -> Path:
    files = composed(package.name, _version(package), read_bundle(read_task(packed).bundle))
    bundle = pack(files)
    sha256 = sha256_hex(bundle)
    _require(f"the composition of `{package.name}`", sha256, COMPOSITIONS[package.name])
    task = Task(
        task_version="1.0",
        skill_type=SkillType.AGENT_COMPOSITION,
        windows=None,
        bundle_sha256=sha256,
        provenance="none",
        truth=None,
        canary=None,
    )
    write_task(sourced_task(task, bundle), folder)
    return folder
