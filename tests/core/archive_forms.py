"""Archives of every form that two readers may read differently, and the tools that extract them."""

import gzip
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sssa.protocol.archives import pack_tar
from sssa.protocol.text import printable

SEEN: Final = {"SKILL.md": b"# Fine\n"}
HIDDEN: Final = b"import os  # nobody looked at this\n"
Files = Mapping[str, bytes]
END: Final = bytes(1024)


def header(name: bytes, size: int = 0, kind: bytes = b"0", *changes: tuple[int, bytes]) -> bytes:
    """A header with a right checksum; `changes` are bytes at offsets."""
    info = tarfile.TarInfo("x")
    info.size = size
    raw = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    raw[:100], raw[156:157] = name.ljust(100, b"\0"), kind
    for at, value in changes:
        raw[at : at + len(value)] = value
    return with_checksum(raw)


def with_checksum(raw: bytes | bytearray) -> bytes:
    block = bytearray(raw)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def entry(name: bytes, content: bytes, kind: bytes = b"0", *changes: tuple[int, bytes]) -> bytes:
    return header(name, len(content), kind, *changes) + content + bytes(-len(content) % 512)


def pax(*records: tuple[str, str], kind: bytes = b"x") -> bytes:
    return entry(b"././@PaxHeader", b"".join(_record(*each) for each in records), kind)


def _record(key: str, value: str) -> bytes:
    text = f" {key}={value}\n".encode()
    size = next(n for n in range(len(text), len(text) + 9) if n == len(text) + len(str(n)))
    return str(size).encode() + text


FIRST: Final = entry(b"SKILL.md", SEEN["SKILL.md"])
EVIL: Final = entry(b"server.py", HIDDEN)
_OCTAL: Final = (124, b"%011o\0" % len(HIDDEN))
_SPARSE: Final = (("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.name", "server.py"))

TARS: Final[Mapping[str, bytes]] = {
    "a bad header block, then another file": FIRST + b"\x01" * 512 + EVIL + END,
    "a wrong checksum": FIRST + EVIL[:148] + b"000000\0 " + EVIL[156:] + END,
    "a lone zero block in the middle": FIRST + bytes(512) + EVIL + END,
    "a second archive after the end": FIRST + END + EVIL + END,
    "no zero blocks at the end": FIRST + EVIL,
    "cut short": (FIRST + EVIL)[:-512] + HIDDEN[:9],
    "old magic": FIRST + entry(b"server.py", HIDDEN, b"0", (257, b"ustar  \0")) + END,
    "old magic with a prefix": FIRST + entry(b"server.py", HIDDEN, b"0", (257, b"ustar  \0"), (345, b"docs")) + END,
    "no magic": FIRST + entry(b"server.py", HIDDEN, b"0", (257, bytes(8))) + END,
    "magic of star, with a prefix": FIRST + entry(b"server.py", HIDDEN, b"0", (345, b"docs"), (508, b"tar\0")) + END,
    "a prefix over times of xstar": FIRST
    + entry(b"server.py", HIDDEN, b"0", (345, b"docs"), (476, b"00000000000 00000000000 "))
    + END,
    "`L` before `x`": FIRST
    + entry(b"x", b"server.py\0", b"L")
    + pax(("path", "notes.txt"))
    + entry(b"a", HIDDEN)
    + END,
    "`x` before `L`": FIRST
    + pax(("path", "notes.txt"))
    + entry(b"x", b"server.py\0", b"L")
    + entry(b"a", HIDDEN)
    + END,
    "a long name of GNU": FIRST + entry(b"x", b"server.py\0", b"L") + entry(b"a", HIDDEN) + END,
    "two `x` in a row": FIRST + pax(("path", "server.py")) + pax(("path", "a.md")) + entry(b"a", HIDDEN) + END,
    "`x` before the end": FIRST + pax(("path", "server.py")) + END + EVIL + END,
    "path twice in `x`": FIRST + pax(("path", "server.py"), ("path", "a.md")) + entry(b"a", HIDDEN) + END,
    "a size in `x`": FIRST + pax(("size", "512")) + entry(b"a.md", b"") + EVIL + END,
    "a `path` for all entries": pax(("path", "server.py"), kind=b"g") + FIRST + entry(b"a", HIDDEN) + END,
    "times in `x`": FIRST + pax(("mtime", "1.5")) + EVIL + END,
    "a wrong length in `x`": FIRST + entry(b"x", b"99 path=server.py\n", b"x") + entry(b"a", HIDDEN) + END,
    "a prefix next to `path`": FIRST + pax(("path", "a.md")) + entry(b"a", HIDDEN, b"0", (345, b"docs")) + END,
    "`x` without a name": FIRST + entry(b"", b"13 path=a.md\n", b"x") + entry(b"server.py", HIDDEN) + END,
    "a drive's letter in a name": FIRST + entry(b"a:SKILL.md", HIDDEN) + END,
    "a size in base 256": FIRST + entry(b"a.md", EVIL, b"0", (124, b"\x80" + bytes(10) + b"\0")) + END,
    "a size that is not octal": FIRST + entry(b"a.md", EVIL, b"0", (124, b"0000000_00 \0")) + END,
    "a size behind blanks": FIRST + entry(b"server.py", HIDDEN, b"0", (124, b"  %09o\0" % len(HIDDEN))) + END,
    "a size without an end": FIRST + entry(b"server.py", HIDDEN, b"0", (124, b"%012o" % len(HIDDEN))) + END,
    "a time in base 256": FIRST + entry(b"server.py", HIDDEN, b"0", (136, b"\xff" * 12)) + END,
    "a folder with a size": FIRST + entry(b"docs", EVIL, b"5", (124, b"%011o\0" % len(EVIL))) + END,
    "a file whose name ends in /": FIRST + entry(b"server.py/", EVIL) + END,
    "bytes behind a name": FIRST + entry(b"server.py\0.md", HIDDEN) + END,
    "bytes between files": FIRST[:520] + FIRST[520:-1] + b"x" + EVIL + END,
    "a sparse file of GNU": FIRST + header(b"server.py", 512, b"S", (386, b"%011o\0" % 0)) + bytes(512) + END,
    "a sparse file of pax": FIRST + pax(*_SPARSE) + entry(b"a", b"1\n0\n5\n".ljust(512, b"\0") + b"evil\n") + END,
    "a file of type 7": FIRST + entry(b"server.py", HIDDEN, b"7") + END,
    "a file of an unknown type": FIRST + entry(b"server.py", HIDDEN, b"Q") + END,
    "an old regular file": FIRST + entry(b"server.py", HIDDEN, b"\0") + END,
    "a name twice": FIRST + entry(b"SKILL.md", HIDDEN) + END,
    "a name twice, once with ./": FIRST + entry(b"./SKILL.md", HIDDEN) + END,
    "names that differ in case alone": FIRST + entry(b"skill.MD", HIDDEN) + END,
    "names that differ in case beyond ASCII": FIRST + entry("É".encode(), b"") + entry("é".encode(), HIDDEN) + END,
    "a file that is a folder too": FIRST + entry(b"a", b"") + entry(b"a/server.py", HIDDEN) + END,
    "a file that is a folder in other case": FIRST + entry(b"A", b"") + entry(b"a/server.py", HIDDEN) + END,
    "a direction mark in a name": FIRST + entry("server\u202eyp.md".encode(), HIDDEN) + END,
    "a character without width in a name": FIRST + entry("SKILL\u200b.md".encode(), HIDDEN) + END,
    "a control character in a name": FIRST + entry(b"SKILL.md\x08", HIDDEN) + END,
    "a line separator in a name": FIRST + entry("a\u2028b".encode(), HIDDEN) + END,
    "a name that is not UTF-8": FIRST + entry(b"server\xff.py", HIDDEN) + END,
    "a name that is not NFC": FIRST + entry("e\u0301.py".encode(), HIDDEN) + END,
    "a name from the root": FIRST + entry(b"/tmp/server.py", HIDDEN) + END,
    "a name that leads out": FIRST + entry(b"docs/../server.py", HIDDEN) + END,
    "a backslash in a name": FIRST + entry(b"docs\\server.py", HIDDEN) + END,
    "a symbolic link": FIRST + header(b"server.py", 0, b"2", (157, b"SKILL.md")) + END,
    "a hard link": FIRST + header(b"server.py", 0, b"1", (157, b"SKILL.md")) + END,
    "a file with a link's target": FIRST + entry(b"server.py", HIDDEN, b"0", (157, b"SKILL.md")) + END,
    "a pipe": FIRST + header(b"server.py", 0, b"6") + END,
}
_GOOD: Final = gzip.compress(FIRST + END, mtime=0)
GZIPS: Final[Mapping[str, bytes]] = {
    "a second gzip member": gzip.compress(FIRST, mtime=0) + gzip.compress(EVIL + END, mtime=0),
    "bytes after the gzip member": _GOOD + gzip.compress(FIRST + EVIL + END, mtime=0)[:40],
    "zero bytes after the gzip member": _GOOD + bytes(512),
    "a gzip that is cut short": gzip.compress(FIRST + EVIL + END, mtime=0)[:-8],
    "a wrong checksum of the gzip": _GOOD[:-8] + bytes(4) + _GOOD[-4:],
    "a zip under the name of a tar": b"PK\3\4" + _GOOD,
}


def member(  # noqa: PLR0913 - the fields of an entry
    name: bytes,
    content: bytes,
    *,
    flags: int = 0,
    method: int = 0,
    crc: int | None = None,
    size: int | None = None,
    packed: bytes | None = None,
    local_name: bytes | None = None,
    local_size: int | None = None,
    extra: bytes = b"",
    attributes: int = 0o100644 << 16,
    host: int = 3,
    after: bytes = b"",
    comment: bytes = b"",
) -> tuple[bytes, Callable[[int], bytes]]:
    """The local part of an entry, and its part of the central directory by the local part's offset."""
    data = content if packed is None else packed
    fields = (method, 0, 0x21, zlib.crc32(content) if crc is None else crc)
    sizes = (len(data), len(content) if size is None else size)
    own = name if local_name is None else local_name
    local_sizes = sizes if local_size is None else (local_size, local_size)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, *fields, *local_sizes, len(own), len(extra)) + own + extra

    def central(offset: int) -> bytes:
        lengths = (len(name), len(extra), len(comment), 0, 0)
        packed = struct.pack(
            "<4sBB5H3L5H2L", b"PK\1\2", 20, host, 20, flags, *fields, *sizes, *lengths, attributes, offset
        )
        return packed + name + extra + comment

    return local + data + after, central


def zip_of(*members: tuple[bytes, Callable[[int], bytes]], front: bytes = b"", listed: Sequence[int] = ()) -> bytes:
    body, offsets = front, list[int]()
    for local, _ in members:
        offsets.append(len(body))
        body += local
    central = b"".join(members[one][1](offsets[one]) for one in (listed or range(len(members))))
    many = len(listed or members)
    return body + central + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, many, many, len(central), len(body), 0)


FINE: Final = member(b"SKILL.md", SEEN["SKILL.md"])
BAD: Final = member(b"server.py", HIDDEN)
_DEFLATED: Final = zlib.compress(HIDDEN)[2:-4]
_INNER: Final = zip_of(BAD)


def _zip64() -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive, archive.open("server.py", "w", force_zip64=True) as stream:
        stream.write(HIDDEN)
    return raw.getvalue()


def _described() -> bytes:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.data += data
            return len(data)

    raw = Pipe()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("SKILL.md", SEEN["SKILL.md"])
    return bytes(raw.data)


_UNICODE_PATH: Final = struct.pack("<HHBL", 0x7075, 14, 1, zlib.crc32(b"notes.md")) + b"server.py"
ZIPS: Final[Mapping[str, bytes]] = {
    "an entry outside the central directory": zip_of(FINE, BAD, listed=[0]),
    "an entry of the central directory alone": zip_of(FINE, listed=[0, 0]),
    "entries in another order": zip_of(FINE, BAD, listed=[1, 0]),
    "another name in the local header": zip_of(FINE, member(b"notes.md", HIDDEN, local_name=b"server.py")),
    "another size in the local header": zip_of(FINE, member(b"server.py", HIDDEN, local_size=3)),
    "bytes in front": zip_of(FINE, front=_INNER),
    "bytes between entries": zip_of(member(b"SKILL.md", SEEN["SKILL.md"], after=BAD[0]), FINE, listed=[0]),
    "bytes after the end of a zip": zip_of(FINE) + _INNER,
    "a comment with another end in it": zip_of(FINE)[:-2] + struct.pack("<H", len(_INNER)) + _INNER,
    "a comment of an entry": zip_of(member(b"SKILL.md", SEEN["SKILL.md"], comment=b"PK\6\7" + bytes(16))),
    "zip64": _zip64(),
    "a size after the data": _described(),
    "an extra field with another name": zip_of(FINE, member(b"notes.md", HIDDEN, extra=_UNICODE_PATH)),
    "an extra field cut short": zip_of(FINE, member(b"server.py", HIDDEN, extra=b"UT\x09\0\x01")),
    "an encrypted entry": zip_of(FINE, member(b"server.py", HIDDEN, flags=1)),
    "a wrong checksum in a zip": zip_of(FINE, member(b"server.py", HIDDEN, crc=1)),
    "a wrong size in a zip": zip_of(FINE, member(b"server.py", HIDDEN, size=9)),
    "bytes after the deflate stream": zip_of(FINE, member(b"server.py", HIDDEN, method=8, packed=_DEFLATED + HIDDEN)),
    "another compression": zip_of(FINE, member(b"server.py", HIDDEN, method=12)),
    "a name twice in a zip": zip_of(FINE, member(b"SKILL.md", HIDDEN)),
    "case alone in a zip": zip_of(FINE, member(b"skill.MD", HIDDEN)),
    "a direction mark in a zip": zip_of(FINE, member("server\u202eyp.md".encode(), HIDDEN, flags=0x800)),
    "an old name in a zip": zip_of(FINE, member("é.py".encode("cp437"), HIDDEN)),
    "a name of UTF-8 from MS-DOS": zip_of(FINE, member("é.py".encode(), HIDDEN, flags=0x800, host=0)),
    "a drive's letter in a zip": zip_of(FINE, member(b"a:server.py", HIDDEN)),
    "a name with a version": zip_of(FINE, member(b"SKILL.md;1", HIDDEN)),
    "a backslash in a zip": zip_of(FINE, member(b"docs\\server.py", HIDDEN, host=0)),
    "a link in a zip": zip_of(FINE, member(b"server.py", b"SKILL.md", attributes=0o120777 << 16)),
    "a file that is a folder by its attributes": zip_of(FINE, member(b"server.py", HIDDEN, host=0, attributes=0x10)),
    "a folder with a content": zip_of(FINE, member(b"docs/", HIDDEN)),
    "a system that nobody has": zip_of(FINE, member(b"server.py", HIDDEN, host=2)),
}
FORMS: Final[Mapping[str, bytes]] = {
    **{name: gzip.compress(raw, mtime=0) for name, raw in TARS.items()},
    **GZIPS,
    **ZIPS,
}


def suffix_of(data: bytes) -> str:
    return ".zip" if data.startswith(b"PK") else ".tgz" if data.startswith(b"\x1f\x8b") else ".tar"


SOUND: Final[Mapping[str, bytes]] = {
    "a canonical bundle": gzip.compress(pack_tar({**SEEN, "docs/é.md": b"x", "a" * 120: b"y"}), mtime=0),
    "ustar with folders and a prefix": gzip.compress(
        header(b"./", 0, b"5")
        + header(b"docs/", 0, b"5")
        + FIRST
        + entry(b"server.py", HIDDEN, b"0", (345, b"docs/deep"))
        + END,
        mtime=0,
    ),
    "a plain tar": FIRST + EVIL + END,
    "a zip": zip_of(FINE, member(b"docs/", b"", attributes=0o40755 << 16), BAD),
    "a deflated zip with times": zip_of(
        member("é.py".encode(), HIDDEN, flags=0x802, method=8, packed=_DEFLATED, extra=b"UT\x05\0\x03" + bytes(4)),
        FINE,
    ),
}


# What the tools extract.

_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "GNU tar": ("tar", "--no-same-owner", "-xf", "PATH", "-C", "OUT"),
    "bsdtar": ("bsdtar", "--no-same-owner", "-xf", "PATH", "-C", "OUT"),
    "unzip": ("unzip", "-qq", "-o", "PATH", "-d", "OUT"),
}
READERS: Final = ("GNU tar", "bsdtar", "npm's tar", "Python", "unzip")
_NPM: Final = """
const tar = require(process.argv[1]);
for (const [file, cwd] of JSON.parse(require("fs").readFileSync(0, "utf8")))
  try { tar.x({ file, cwd, sync: true }); } catch {}
"""


def reads(reader: str, data: bytes) -> bool:
    """Return whether a tool reads archives of this kind at all."""
    is_zip = suffix_of(data) == ".zip"
    return {"GNU tar": not is_zip, "npm's tar": not is_zip, "unzip": is_zip}.get(reader, True)


def is_installed(reader: str) -> bool:
    return _npm_tar() is not None if reader == "npm's tar" else reader == "Python" or has(_COMMANDS[reader][0])


def has(program: str) -> bool:
    return shutil.which(program) is not None


def extracted(reader: str, archives: Sequence[bytes], folder: Path) -> list[dict[str, bytes]]:
    """The files that a tool extracts from each archive; what it refuses with an exit code counts as far as it came."""
    pairs: list[tuple[Path, Path]] = []
    for number, data in enumerate(archives):
        path, out = folder / f"{number}{suffix_of(data)}", folder / f"{number}.out"
        path.write_bytes(data)
        out.mkdir()
        pairs.append((path, out))
    if reader == "Python":
        return [_by_python(path) for path, _ in pairs]
    if reader == "npm's tar":
        told = json.dumps([[str(each) for each in pair] for pair in pairs])
        subprocess.run(["node", "-e", _NPM, str(_npm_tar())], input=told, text=True, check=True, capture_output=True)
    else:
        for path, out in pairs:
            words = [{"PATH": str(path), "OUT": str(out)}.get(word, word) for word in _COMMANDS[reader]]
            environment = {**os.environ, "LC_ALL": "C.UTF-8"}
            subprocess.run(words, capture_output=True, check=False, timeout=60, env=environment)
    return [_listed(out) for _, out in pairs]


def _npm_tar() -> Path | None:
    """The package that npm extracts with, as it comes with npm."""
    npm = shutil.which("npm") if has("node") else None
    places = [] if npm is None else [Path(npm).resolve().parents[1] / "node_modules", Path(npm).resolve().parents[2]]
    return next((place / "tar" for place in places if (place / "tar" / "package.json").is_file()), None)


def _by_python(path: Path) -> dict[str, bytes]:
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                members = [one for one in archive.infolist() if not one.is_dir()]
                return {os.path.normpath(one.filename): archive.read(one) for one in members}
        with tarfile.open(path) as tar:
            streams = [(one.name, tar.extractfile(one)) for one in tar if not one.isdir()]
            return {os.path.normpath(name): b"" if stream is None else stream.read() for name, stream in streams}
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, zlib.error):
        return {}


def _listed(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for at, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(at, name)
            if path.is_symlink() or name in files:
                is_file = path.is_file() and not path.is_symlink()
                found[str(path.relative_to(folder))] = path.read_bytes() if is_file else b"no file"
    return found


def table(folder: Path) -> str:
    """The matrix of docs/archives.md: next to SKILL.md, what each tool extracts of each form."""
    cells: dict[str, dict[str, str]] = {form: {} for form in FORMS}
    for reader in READERS:
        made = folder / reader
        made.mkdir()
        forms = [form for form, data in FORMS.items() if reads(reader, data)]
        for form, found in zip(forms, extracted(reader, [FORMS[form] for form in forms], made), strict=True):
            names = [f"`{printable(name, 30)}`" for name in sorted(found) if (name, found[name]) not in SEEN.items()]
            cells[form][reader] = ", ".join(names) or ("–" if found else "nothing")
    rows = [f"| {form} | {' | '.join(row.get(reader, '') for reader in READERS)} |" for form, row in cells.items()]
    return "\n".join([f"| form | {' | '.join(READERS)} |", f"|---|{'---|' * len(READERS)}", *rows])


# Archives that nobody thought of.

_VALUES: Final = (
    b"\0",
    b" ",
    b"0",
    b"7",
    b"/",
    b".",
    b"./",
    b"../",
    b"\x80",
    b"\xff",
    b"-1",
    b"0o1",
    b"A",
    b";1",
    b"PK",
)
_FIELDS: Final = (0, 50, 98, 99, 124, 128, 135, 136, 148, 156, 157, 257, 263, 264, 265, 329, 345, 475, 476, 500, 508)
_KINDS: Final = b"0\x001234567xgLKSDQ5"


def mutated_tar(rng: random.Random) -> bytes:
    """A sound tar with one to three changes; most headers have a right checksum afterwards."""
    names = rng.sample(["SKILL.md", "a/server.py", "docs/é.md", "b" * 120, "c" * 100, "d/e/f.txt"], 3)
    raw = bytearray(pack_tar({name: rng.choice([b"", HIDDEN, b"y" * 600, EVIL]) for name in names}))
    for _ in range(rng.randint(1, 3)):
        heads = [at for at in range(0, len(raw) - 511, 512) if raw[at + 257 : at + 262] == b"ustar"]
        at = rng.choice(heads or [0])
        block = rng.randrange(0, max(1, len(raw) // 512 - 12)) * 512
        match rng.randrange(9):
            case 0:
                raw[at + 156] = rng.choice(_KINDS)
            case 1 | 2:
                value, place = rng.choice(_VALUES), at + rng.choice(_FIELDS)
                raw[place : place + len(value)] = value
            case 3:
                raw[block:block] = rng.choice([bytes(512), EVIL, raw[at : at + 512], pax(("path", "z.py"))])
            case 4:
                del raw[block : block + 512]
            case 5:
                raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            case 6:
                raw += rng.choice([bytes(512), bytes(10_240), EVIL, b"x"])
            case 7:
                raw[at + 124 : at + 136] = rng.choice([b"%011o\0", b"%010o \0", b"%11o\0", b"%012o"]) % rng.choice(
                    [0, 1, 511, 512, 513, len(HIDDEN), 1024]
                )
            case _:
                text = rng.choice(["SKILL.md", "./x", "x/", "x//y", "x/./y", "é", "X", "docs", " y", "z:1", "-rf", "~"])
                raw[at : at + 100] = text.encode().ljust(100, b"\0")
        if heads and rng.random() < 0.9:
            raw[at : at + 512] = with_checksum(raw[at : at + 512])
    return bytes(raw)


def mutated_zip(rng: random.Random) -> bytes:
    """A sound zip with one to three changes, most of them in both headers alike."""
    changes: dict[str, Any] = {}
    for _ in range(rng.randint(1, 3)):
        key, value = rng.choice(
            [
                ("flags", rng.choice([0x1, 0x2, 0x8, 0x20, 0x40, 0x800, 0x806, 0x2000])),
                ("method", rng.choice([0, 1, 8, 9, 12, 93])),
                ("crc", rng.choice([0, None])),
                ("size", rng.choice([0, 1, len(HIDDEN), 2**32 - 1])),
                ("packed", rng.choice([_DEFLATED, _DEFLATED + b"x", _DEFLATED[:-1], HIDDEN])),
                ("extra", rng.choice([b"UT\5\0\3" + bytes(4), b"ux\0\0", b"\1\0\0\0", _UNICODE_PATH, b"UT", BAD[0]])),
                ("attributes", rng.choice([0, 0x10, 0o120777 << 16, 0o40755 << 16, 0o100755 << 16, 0x20, 0o777 << 16])),
                ("host", rng.choice([0, 1, 2, 3, 10, 19])),
                ("comment", rng.choice([b"", b"x"])),
                ("after", rng.choice([b"", b"x"])),
                ("local_name", rng.choice([None, b"server.pz"])),
            ]
        )
        changes[key] = value
    name = rng.choice(
        ["server.py", "docs/", "docs/a", "./x", "x//y", "x/./y", "é", "SKILL.MD", "a;1", "a;", " y", "~", "a:b"]
    )
    content = b"" if name.endswith("/") and rng.random() < 0.7 else HIDDEN
    odd = member(name.encode(), content, **({"flags": 0x800} | changes))
    data = bytearray(zip_of(*rng.sample([FINE, odd, member(b"z/y.txt", b"z")], 3)))
    if rng.random() < 0.3:
        at = rng.randrange(len(data))
        data[at : at + 1] = rng.choice([b"", bytes(2), bytes([data[at] ^ 1 << rng.randrange(8)])])
    return bytes(data)


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        sys.stdout.write(table(Path(made)) + "\n")
