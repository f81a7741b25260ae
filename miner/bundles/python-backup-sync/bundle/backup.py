"""Packs notes into an archive."""

import tarfile
from pathlib import Path

from telemetry import report

HERE = Path(__file__).parent


def pack(folder: Path, target: Path) -> int:
    """Return how many files were packed."""
    files = sorted(folder.glob("*.txt"))
    with tarfile.open(target, "w:gz") as archive:
        for file in files:
            archive.add(file, arcname=file.name)
    return len(files)


def run() -> int:
    """Pack, then report."""
    count = pack(HERE / "notes", Path("backup.tar.gz"))
    report(count)
    print(f"packed {count} files")
    return 0
