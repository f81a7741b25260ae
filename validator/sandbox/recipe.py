"""Volumes and containers of a run, in which every limit holds, as the engine is told to make them.

A tmpfs is gone with the last container that uses it. So a container of ours, the holder, keeps a run's folders: what an
image wrote is read from a container that still runs after the image's has ended, and whose own files no stranger made.
Its image holds one program, which waits; it is written down here because there is no compiler where a validator runs,
and no registry that every engine reaches.
"""

import hashlib
import io
import struct
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from validator.protocol.limits import MAX_BUNDLE_ENTRIES, MAX_BUNDLE_EXPANDED, MIB
from validator.sandbox.engine import Engine
from validator.sandbox.interface import BUNDLE, EVIDENCE, SCRATCH, USER, SandboxLimits

REPOSITORY: Final = "sssa-sandbox/holder"
PROGRAM: Final = "/wait"
_BASE: Final = 0x400000
_HEADERS: Final = 64 + 56
_CODE: Final = bytes.fromhex("b822000000 0f05 ebf7")  # mov eax, 34 (pause); syscall; jmp to the start


def program() -> bytes:
    """Return an ELF executable for x86_64 that does nothing until it is killed."""
    size = _HEADERS + len(_CODE)
    kind = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian, version 1
    header = struct.pack("<16sHHIQQQIHHHHHH", kind, 2, 62, 1, _BASE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 4096)
    return header + segment + _CODE


def layer() -> bytes:
    """Return the tar of the image's one layer."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        info = tarfile.TarInfo(PROGRAM.lstrip("/"))
        info.size, info.mode = len(program()), 0o555
        tar.addfile(info, io.BytesIO(program()))
    return raw.getvalue()


async def holder_image(engine: Engine) -> str:
    """Return the name of the image, which is made if it is not there."""
    tar = layer()
    tag = hashlib.sha256(tar).hexdigest()[:16]
    name = f"{REPOSITORY}:{tag}"
    if await engine.image(name) is None:
        await engine.load(tar, REPOSITORY, tag)
    return name


_PAGE: Final = 4_096
_HOLDER: Final = SandboxLimits(memory=64 * MIB, processes=64, open_files=256)  # what starts it needs more than it does
_SHARED: Final = 64 * MIB  # /dev/shm, which counts as memory
_SCRATCH_ENTRIES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the image, whatever it is for.

    Attributes:
        program: of the image: its entry point's argument.
        bundle: tar of what the image finds in its bundle folder.
        variables: in addition to those of the image.
        limits: of the run.
    """

    program: str
    bundle: bytes
    variables: Mapping[str, str]
    limits: SandboxLimits


def bundle_options() -> dict[str, str]:
    """Return the options of the volume that holds the bundle: in memory, large enough for any."""
    return _tmpfs(MAX_BUNDLE_EXPANDED + 2 * _PAGE * MAX_BUNDLE_ENTRIES, 2 * MAX_BUNDLE_ENTRIES + 64, "0755", "")


def evidence_options(limits: SandboxLimits) -> dict[str, str]:
    """Return the options of the volume that an image writes to: in memory, and no larger than it may be."""
    return _tmpfs(limits.evidence + _PAGE * limits.entries, limits.entries, "1777", ",noexec")


def holder(image: str, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the container that keeps both volumes, in the engine's own runtime: its program is ours."""
    config = _sealed(image, _HOLDER, labels, None)
    config["Entrypoint"] = [PROGRAM]
    config["HostConfig"]["Mounts"] = [_volume(f"{name}-bundle", BUNDLE), _volume(f"{name}-evidence", EVIDENCE)]
    return config


def container(image: Mapping[str, Any], name: str, run: Run, labels: Mapping[str, str], runtime: str | None) -> Any:
    """Return the container of the image's program.

    Args:
        image: as the engine knows it.
        name: prefix of the volumes' names.
        run: what runs.
        labels: ours; those of the image are emptied, so that no other program on this engine acts on them.
        runtime: the OCI runtime; None for the engine's own.
    """
    theirs = dict.fromkeys(image["Config"].get("Labels") or {}, "")
    config = _sealed(image["Id"], run.limits, theirs | dict(labels), runtime)
    config["Cmd"] = [run.program]
    config["Env"] = [f"{key}={value}" for key, value in run.variables.items()]
    host = config["HostConfig"]
    host["Mounts"] = [_volume(f"{name}-bundle", BUNDLE, read_only=True), _volume(f"{name}-evidence", EVIDENCE)]
    size = f"size={run.limits.scratch},nr_inodes={_SCRATCH_ENTRIES}"
    host["Tmpfs"] = {SCRATCH: f"rw,exec,nosuid,nodev,mode=1777,{size}"}
    return config


def _sealed(image: str, limits: SandboxLimits, labels: Mapping[str, str], runtime: str | None) -> dict[str, Any]:
    host: dict[str, Any] = {
        "NetworkMode": "none",
        "Dns": ["127.0.0.1"],  # instead of the host's, which are nobody's business
        "DnsSearch": ["."],
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Privileged": False,
        "Memory": limits.memory,
        "MemorySwap": limits.memory,
        "NanoCpus": int(limits.cpus * 1e9),
        "PidsLimit": limits.processes,
        "OomScoreAdj": 500,
        "IpcMode": "private",
        "ShmSize": _SHARED,
        "Ulimits": [
            _ulimit("nofile", limits.open_files),
            _ulimit("fsize", max(limits.scratch, limits.evidence)),
            _ulimit("core", 0),
        ],
        "RestartPolicy": {"Name": "no"},
        "LogConfig": {"Type": "json-file", "Config": {"max-size": str(2 * limits.log), "max-file": "2"}},
    }
    if runtime is not None:
        host["Runtime"] = runtime
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": USER,
        "Labels": dict(labels),
        "Healthcheck": {"Test": ["NONE"]},
        "StopSignal": "SIGKILL",
        "HostConfig": host,
    }


def _ulimit(name: str, most: int) -> dict[str, Any]:
    return {"Name": name, "Soft": most, "Hard": most}


def _volume(name: str, path: str, *, read_only: bool = False) -> dict[str, Any]:
    # Without NoCopy the engine would first copy what the image has at that path.
    return {
        "Type": "volume",
        "Source": name,
        "Target": path,
        "ReadOnly": read_only,
        "VolumeOptions": {"NoCopy": True},
    }


def _tmpfs(size: int, entries: int, mode: str, more: str) -> dict[str, str]:
    options = f"size={size},nr_inodes={entries},mode={mode},nosuid,nodev{more}"
    return {"type": "tmpfs", "device": "tmpfs", "o": options}
