"""The files of the distributions, as their wheels hold them."""

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


def wheel_of(project: Path, folder: Path) -> Path:
    """Build the project's wheel into `folder` and return its path."""
    (wheel,) = WheelBuilder(str(project)).build(directory=str(folder), versions=["standard"])
    return Path(wheel)


def names_in(wheel: Path) -> set[str]:
    """The files of the wheel without those of its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def files_in(folder: Path, prefix: str = "") -> set[str]:
    """The files of a folder that git would keep, below `prefix`."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"{prefix or folder.name}/{path.relative_to(folder)}" for path in found}
