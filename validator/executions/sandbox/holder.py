"""The container of ours that keeps a run's folders: a tmpfs is gone with the last container that uses it.

What an image wrote is therefore read from a container that still runs after the image's has ended, and whose own files
no stranger made. Its image holds one program, which waits; it is written down here because there is no compiler where
a validator runs, and no registry that every engine reaches.
"""

import hashlib
import io
import struct
import tarfile
from typing import Final

from validator.executions.sandbox.engine import Engine

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
