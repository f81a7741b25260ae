"""Hostile trace bundles: gzip and tar that are made to be dear or to lead somewhere."""

import base64
import bz2
import gzip
import io
import tarfile
import zlib
from collections.abc import Callable
from functools import cache

from hostile.kinds import Case, Made, kind
from sssa.protocol.archives import pack
from sssa.protocol.limits import MAX_TRACES_COMPRESSED, MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import trace_names

_LARGE, _BROKEN = Reason.TRACES_TOO_LARGE, Reason.TRACES_UNDECODABLE
_LINE = b'{"ts":1}\n'


def encoded(data: bytes) -> bytes:
    return base64.b64encode(data)


def tar_of(*entries: tuple[tarfile.TarInfo, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=format_) as tar:
        for info, content in entries:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def named(name: str, change: Callable[[tarfile.TarInfo], None] = lambda _: None) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    change(info)
    return info


def squeezed(raw: bytes) -> bytes:
    return encoded(gzip.compress(raw, 6))


@cache
def bomb() -> bytes:
    return squeezed(tar_of((named("fs.jsonl"), bytes(100 * MIB))))


def warm_up() -> None:
    """Make what is heavy beforehand."""
    bomb()
    members(300_000, b"")
    members(290_000, b"\n")
    _pax()


@cache
def members(count: int, member: bytes) -> bytes:
    return encoded(gzip.compress(member) * count)


@kind("archives", "answer", _LARGE, traced=True)
async def bomb_of_a_hundred_megabytes(case: Case) -> Made:
    """A hundred megabytes that travel as a hundred kilobytes."""
    return case.traced(bomb())


@kind("archives", "answer", _LARGE, dear=True, traced=True)
async def empty_gzip_members(case: Case) -> Made:
    """Three hundred thousand gzip members with nothing in them: once minutes of computing."""
    return case.traced(members(300_000, b""))


@kind("archives", "answer", _LARGE, dear=True, traced=True)
async def gzip_members_of_one_byte(case: Case) -> Made:
    """Three hundred thousand gzip members with one byte in each."""
    return case.traced(members(290_000, b"\n"))


@kind("archives", "answer", _BROKEN, dear=True, traced=True)
async def gzip_padded_with_megabytes(case: Case) -> Made:
    """A gzip with eight megabytes of zero bytes behind it, each pair of members padded."""
    own = gzip.compress(b"")
    return case.traced(encoded((own + bytes(8_000)) * 1_000))


@kind("archives", "answer", _LARGE, traced=True)
async def too_large_compressed(case: Case) -> Made:
    """A byte more than the compressed cap."""
    return case.traced(encoded(bytes(MAX_TRACES_COMPRESSED + 1)))


@kind("archives", "answer", _LARGE, traced=True)
async def entries_by_the_thousand(case: Case) -> Made:
    """Ten thousand folders."""
    folder = named("a", lambda info: setattr(info, "type", tarfile.DIRTYPE))
    return case.traced(squeezed(folder.tobuf() * 10_000))


@kind("archives", "answer", _LARGE, dear=True, traced=True)
async def pax_records_by_the_hundred_thousand(case: Case) -> Made:
    """A pax header of megabytes, full of records that nobody needs."""
    return case.traced(_pax())


@cache
def _pax() -> bytes:
    records = b"".join(b"14 a%d=b\n" % number for number in range(1_000_000, 1_400_000))
    info = named("x", lambda info: setattr(info, "type", tarfile.XHDTYPE))
    info.size = len(records)
    return squeezed(info.tobuf() + records + bytes(-len(records) % 512) + tar_of((named("fs.jsonl"), _LINE)))


@kind("archives", "answer", _LARGE, dear=True, traced=True)
async def pax_headers_in_a_row(case: Case) -> Made:
    """Pax headers one behind the other, each about the next."""
    return case.traced(_headers_in_a_row(tarfile.XHDTYPE, b"11 path=fs\n"))


@kind("archives", "answer", _LARGE, dear=True, traced=True)
async def long_names_in_a_row(case: Case) -> Made:
    """Long-name headers one behind the other, which readers follow by recursion."""
    return case.traced(_headers_in_a_row(tarfile.GNUTYPE_LONGNAME, b"fs.jsonl\0"))


@cache
def _headers_in_a_row(type_: bytes, content: bytes) -> bytes:
    info = named("x", lambda info: setattr(info, "type", type_))
    info.size = len(content)
    block = info.tobuf(tarfile.GNU_FORMAT) + content.ljust(512, b"\0")
    return squeezed(block * 15_000)


@kind("archives", "answer", _LARGE, _BROKEN, traced=True)
async def pax_that_lies(case: Case) -> Made:
    """Pax records that change size, path, type of numbers or character set of what follows."""
    lies = [
        {"size": "99999999999999999999"},
        {"size": "-1"},
        {"path": "../../x"},
        {"size": "1e9"},
        {"hdrcharset": "\x1b"},
    ]
    lie = case.rng.choice([*lies, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}, {"GNU.sparse.map": "0,9" * 999}])
    info = named("fs.jsonl", lambda info: setattr(info, "pax_headers", lie))
    return case.traced(squeezed(tar_of((info, _LINE))))


@kind("archives", "answer", _BROKEN, traced=True)
async def not_files(case: Case) -> Made:
    """Symbolic links, hard links, devices, pipes and sparse files under the names of traces."""
    types = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE, b"?"]

    def change(info: tarfile.TarInfo) -> None:
        info.type, info.linkname = case.rng.choice(types), "/etc/passwd"

    return case.traced(squeezed(tar_of((named("fs.jsonl", change), b""))))


@kind("archives", "answer", _BROKEN, traced=True)
async def names_that_lead_out(case: Case) -> Made:
    """Absolute names, `..`, backslashes, control characters, names that show otherwise than they are."""
    names = [
        "/fs.jsonl",
        "../fs.jsonl",
        "a/../../fs.jsonl",
        "a\\fs.jsonl",
        "\x1b[2Jfs.jsonl",
        "a\u0301/fs.jsonl",
        "\u202ex",
    ]
    return case.traced(squeezed(tar_of((named(case.rng.choice(names)), _LINE))))


@kind("archives", "answer", _BROKEN, traced=True)
async def names_twice(case: Case) -> Made:
    """The same trace twice, or a file that is a folder too."""
    second = case.rng.choice(["fs.jsonl", "./fs.jsonl", ".//fs.jsonl", "fs.jsonl/x"])
    return case.traced(squeezed(tar_of((named("fs.jsonl"), b""), (named(second), b""))))


@kind("archives", "answer", _BROKEN, traced=True)
async def other_files(case: Case) -> Made:
    """A file too few, or one that no trace bundle has."""
    own = {f"{name}.jsonl": b"" for name in trace_names(case.dispatch.skill_type)}
    del own["fs.jsonl"]
    more = case.rng.choice([{}, {"fs": b""}, {"fs.jsonl.jsonl": b""}, {"FS.jsonl": b""}, {"\u202e.jsonl": b""}])
    return case.traced(encoded(pack(own | more)))


@kind("archives", "answer", _BROKEN, traced=True)
async def broken_compression(case: Case) -> Made:
    """Cut short, bent, another compression, a bare deflate, noise, or nothing."""
    good = pack({"fs.jsonl": _LINE})
    bent = bytearray(good)
    bent[len(bent) // 2] ^= 255
    others = [
        good[:-9],
        bytes(bent),
        bz2.compress(good),
        zlib.compress(good),
        b"",
        good + b"x",
        case.rng.randbytes(999),
    ]
    return case.traced(encoded(case.rng.choice(others)))


@kind("archives", "answer", _BROKEN, traced=True)
async def broken_base64(case: Case) -> Made:
    """Base64 without padding, in the url alphabet, with line breaks or other text in it."""
    return case.traced(case.rng.choice([b"%%%", b"", b"A", b"QQ", b"Q_-=", b"QUFB\\n", b"QUFB" * 9 + b" ", b"\\u00e9"]))
