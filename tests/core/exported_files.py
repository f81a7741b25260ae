"""The files of an image as an engine gives them out, to compare two images by."""

import hashlib
import subprocess
import tarfile
from collections.abc import Mapping
from typing import Final, NamedTuple

# What the engine puts into each container, not into the image.
_ENGINES: Final = (".dockerenv", "dev", "etc/hostname", "etc/hosts", "etc/mtab", "etc/resolv.conf", "proc", "sys")


class Exported(NamedTuple):
    """One file: all of it but its name."""

    kind: bytes
    mode: int
    owner: tuple[int, int]
    time: float
    link: str
    digest: str


def files_of(image: str) -> Mapping[str, Exported]:
    """Every file and folder of the image by path."""
    made = subprocess.run(["docker", "create", image], capture_output=True, text=True, check=True).stdout.strip()
    try:
        with subprocess.Popen(["docker", "export", made], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                found = {info.name.rstrip("/"): _exported(tar, info) for info in tar}
        assert process.returncode == 0
    finally:
        subprocess.run(["docker", "rm", "--volumes", made], capture_output=True, check=True)
    found["etc"] = found["etc"]._replace(time=0.0)  # where the engine puts its own
    return {name: file for name, file in found.items() if not _is_the_engines(name)}


def _exported(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Exported:
    content = tar.extractfile(info) if info.isreg() else None
    digest = hashlib.sha256(content.read()).hexdigest() if content else ""
    return Exported(info.type, info.mode, (info.uid, info.gid), info.mtime, info.linkname, digest)


def _is_the_engines(name: str) -> bool:
    return any(name == one or name.startswith(f"{one}/") for one in _ENGINES)
