"""Features of a task's form: everything that a miner sees without understanding the content, as numbers."""

import gzip
import io
import json
import math
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator

from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import ASSESSED_TYPES
from validator.kinds.services import PackedTask

HASHED = 24  # numbers that words, endings and keys are spread over
WORD = re.compile(rb"[A-Za-z_]{2,}")


def features(packed: PackedTask) -> list[float]:
    """Return the numbers of a task as it is dispatched: windows, marker file, archive, names, sizes, letters, words."""
    task, bundle = packed.task, packed.bundle
    assert isinstance(task, AssessmentTask)
    assert bundle is not None
    windows = task.windows
    numbers = [*windows.primary, *windows.auditor, *(float(task.skill_type is kind) for kind in ASSESSED_TYPES)]
    numbers += _spread([repr(windows).encode()])
    numbers += _archive(bundle)
    files = _files(bundle)
    numbers += _marker(None if task.canary is None else task.canary.file, list(files))
    numbers += _sizes(list(files.values()))
    numbers += _spread(".".join(name.split(".")[1:]).encode() for name in files)
    numbers += _spread(part.encode() for name in files for part in name.split("/"))
    numbers += _spread(_keys(files))
    text = b"\n".join(files.values())
    numbers += _letters(text)
    return numbers + _spread(WORD.findall(text))


def _archive(bundle: bytes) -> list[float]:
    raw = gzip.decompress(bundle)
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    return [
        *map(float, bundle[:10]),
        len(bundle),
        len(raw) / len(bundle),
        float(names == sorted(names)),
        *(float(sum(getattr(member, of) for member in members)) for of in ("mtime", "mode", "uid", "gid")),
        float(sum(len(member.uname) + len(member.gname) + len(member.pax_headers) for member in members)),
    ]


def _files(bundle: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(bundle))) as tar:
        return {member.name: file.read() for member in tar if (file := tar.extractfile(member))}


def _marker(file: str | None, names: list[str]) -> list[float]:
    return [
        0.0 if file is None else 1.0 + names.index(file),
        *_spread([b"" if file is None else file.encode()]),
        0.0 if file is None else float(file.count("/")),
    ]


def _sizes(contents: list[bytes]) -> list[float]:
    sizes = sorted(map(len, contents))
    lines = [line for content in contents for line in content.split(b"\n")]
    widths = sorted(map(len, lines))
    return [
        *(len(sizes), sum(sizes), sizes[0], sizes[-1], sizes[len(sizes) // 2]),
        *(len(lines), widths[-1], widths[len(widths) // 2], math.fsum(widths) / len(widths)),
        sum(not line for line in lines) / len(lines),
        sum(line != line.rstrip() for line in lines),
        sum(content.endswith(b"\n") for content in contents) / len(contents),
        *sorted(float(len(zlib.compress(content))) / (len(content) + 1) for content in contents)[
            :: len(contents) - 1 or 1
        ],
    ]


def _keys(files: dict[str, bytes]) -> Iterator[bytes]:
    for name in ("manifest.json", "mcp.json", "composition.json", "package.json"):
        if name in files:
            document = json.loads(files[name])
            for key, value in document.items():
                yield f"{name}:{key}:{type(value).__name__}".encode()


def _letters(text: bytes) -> list[float]:
    counted = Counter(text)
    return [math.log1p(counted[byte]) for byte in range(32, 127)] + [sum(n for b, n in counted.items() if b > 126)]


def _spread(tokens: Iterator[bytes] | list[bytes]) -> list[float]:
    found = [0.0] * HASHED
    for word, count in Counter(tokens).items():
        found[zlib.crc32(word) % HASHED] += math.log1p(count)
    return found
