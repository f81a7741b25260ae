"""Hostile trace records: lines that are made to be dear, and numbers at the edge."""

import json
import tarfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from hostile.archives import encoded
from hostile.kinds import Case, Made, kind
from hostile.strings import everything
from sssa.protocol.archives import pack
from sssa.protocol.limits import MAX_TRACES_EXPANDED
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType, is_runtime, trace_names

_LARGE, _BROKEN, _HASH = Reason.TRACES_TOO_LARGE, Reason.TRACES_UNDECODABLE, Reason.TRACES_HASH
_ROOM = MAX_TRACES_EXPANDED - 1_000
_MOST = 199_000  # records


def bundle(case: Case, make: Callable[[], bytes]) -> bytes:
    """A bundle whose fs trace is what `make` makes; all other traces are empty."""
    return case.traced(_bundle(trace_names(case.dispatch.skill_type), make))


@cache
def _bundle(names: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    squeezed, squeeze = _squeezed_fs(make)
    rest = squeeze.copy()
    others = b"".join(tarfile.TarInfo(f"{name}.jsonl").tobuf() for name in names if name != "fs")
    return encoded(squeezed + rest.compress(others + bytes(1_024)) + rest.flush())


@cache
def _squeezed_fs(make: Callable[[], bytes]) -> tuple[bytes, Any]:
    """The fs trace's part of the gzip, and what continues with it: it is the same in the bundles of all types."""
    content = make()
    info = tarfile.TarInfo("fs.jsonl")
    info.size = len(content)
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    return squeeze.compress(info.tobuf() + content + bytes(-len(content) % 512)), squeeze


def warm_up() -> None:
    """Make what is heavy beforehand: answers must not be late because the test was slow."""
    makers = (_line_of_lists, _line_of_text, _line_of_keys, _line_of_duplicates, _line_that_never_ends, _empty_lines)
    for make in (*makers, _crowd, _floats, _nested, _wide_records, _same_time):
        for rules in SkillType:
            if is_runtime(rules):
                _bundle(trace_names(rules), make)


def _line_of_lists() -> bytes:
    return b'{"ts":1,"a":[' + b"[]," * (_ROOM // 3 - 10) + b"[]]}"


def _line_of_text() -> bytes:
    return b'{"ts":1,"a":"' + "é\u0301".encode() * (_ROOM // 4 - 10) + b'"}'


def _line_of_keys() -> bytes:
    return b'{"ts":1' + b"".join(b',"%x":0' % i for i in range(1_500_000)) + b"}"


def _line_of_duplicates() -> bytes:
    return b'{"ts":1' + b"".join(b',"%x":0' % i for i in range(1_500_000)) + b',"x":0,"x":1}'


def _line_that_never_ends() -> bytes:
    return b'{"ts":1,"a":[' + b"[]," * 40 + b'"' + b'\\"' * (_ROOM // 2 - 100)


def _empty_lines() -> bytes:
    return b"\n" * _ROOM


def _crowd() -> bytes:
    return b"".join(b'{"path":"/x/%d","ts":%d}\n' % (i, i) for i in range(_MOST))


def _floats() -> bytes:
    return b"".join('{"path":"/é/%d","ts":%d.0,"a":1e21}\n'.encode() % (i, i) for i in range(_MOST))


def _nested() -> bytes:
    return b"".join(b'{"ts":%d,"path":%s}\n' % (i, b"[" * 30 + b"]" * 30) for i in range(_MOST))


def _wide_records() -> bytes:
    inner = b",".join(b'"%s":"\\u00e9"' % bytes([c]) for c in b"zyxwvutsrqponmlkjihgfedcba")
    return b"".join(b'{"ts":%d,%s}\n' % (i, inner) for i in range(_ROOM // 400))


def _same_time() -> bytes:
    return b"".join(b'{"path":"%s%d","ts":1}\n' % (b"/" * 40, _MOST - i) for i in range(_MOST))


@kind("traces", "answer", _LARGE, dear=True, traced=True)
async def line_of_empty_lists(case: Case) -> Made:
    """One line of sixteen megabytes of empty lists, in a body of 23 kB."""
    return bundle(case, _line_of_lists)


@kind("traces", "answer", _LARGE, dear=True, traced=True)
async def line_of_text(case: Case) -> Made:
    """One line of sixteen megabytes of letters with combining marks."""
    return bundle(case, _line_of_text)


@kind("traces", "answer", _LARGE, dear=True, traced=True)
async def line_of_keys(case: Case) -> Made:
    """One line with a million and a half keys."""
    return bundle(case, _line_of_keys)


@kind("traces", "answer", _LARGE, dear=True, traced=True)
async def line_with_a_duplicate_at_its_end(case: Case) -> Made:
    """One line with a million and a half keys, the last of them twice."""
    return bundle(case, _line_of_duplicates)


@kind("traces", "answer", _LARGE, dear=True, traced=True)
async def line_that_never_ends(case: Case) -> Made:
    """One line of sixteen megabytes whose string stays open."""
    return bundle(case, _line_that_never_ends)


@kind("traces", "answer", _LARGE, dear=True, traced=True)
async def empty_lines_by_the_million(case: Case) -> Made:
    """Sixteen million empty lines."""
    return bundle(case, _empty_lines)


@kind("traces", "answer", _HASH, dear=True, traced=True)
async def as_many_records_as_allowed(case: Case) -> Made:
    """199,000 small records: a small body, a second of work."""
    return bundle(case, _crowd)


@kind("traces", "answer", _HASH, dear=True, traced=True)
async def records_of_floats(case: Case) -> Made:
    """199,000 records of whole floats and foreign letters, the slow path of canonical JSON."""
    return bundle(case, _floats)


@kind("traces", "answer", _LARGE, dear=True, traced=True)
async def nested_records(case: Case) -> Made:
    """199,000 records nested as deep as is allowed."""
    return bundle(case, _nested)


@kind("traces", "answer", _HASH, dear=True, traced=True)
async def records_of_keys_in_reverse(case: Case) -> Made:
    """Records with all letters as keys in reverse, each to be sorted and escaped."""
    return bundle(case, _wide_records)


@kind("traces", "answer", _HASH, dear=True, traced=True)
async def records_of_one_moment(case: Case) -> Made:
    """199,000 records of the same time, in reverse order of their bytes."""
    return bundle(case, _same_time)


@kind("traces", "answer", _BROKEN, _HASH, traced=True)
async def times_at_the_edge(case: Case) -> Made:
    """Times that are no numbers, infinite, beyond exact integers, or as small as there are."""
    times = ["1e308", "-0.0", "9007199254740992", "1e999", "NaN", '"1"', "null", "true", "5e-324", "-1e308", "[1]"]
    line = f'{{"ts":{case.rng.choice(times)}}}\n'.encode()
    names = trace_names(case.dispatch.skill_type)
    return case.traced(encoded(pack({f"{name}.jsonl": line for name in names})))


@kind("traces", "answer", _BROKEN, traced=True)
async def broken_lines(case: Case) -> Made:
    """Lines that are no objects, no JSON, have no time, a key twice, or an empty one between them."""
    lines = [b"{}", b"[1]", b'{"ts":1,"ts":2}', b"\xff", b'{"ts":1}\n\n', b"{" * 99, b'{"ts":1} {}', b"\x1b[2J"]
    line = case.rng.choice(lines)
    names = trace_names(case.dispatch.skill_type)
    return case.traced(encoded(pack({f"{name}.jsonl": line + b"\n" for name in names})))


@kind("traces", "answer", Reason.PROBES_ABSENT, traced=True)
async def probes_left_out(case: Case) -> Made:
    """Empty traces, rightly hashed and signed: nothing was run."""
    return case.traced_honestly(dict.fromkeys(trace_names(case.dispatch.skill_type), b""))


@kind("traces", "answer", Reason.PROBES_ABSENT, traced=True)
async def injections_in_traces(case: Case) -> Made:
    """Records full of escape codes and markup under odd types, rightly hashed and signed."""
    record = {"ts": 1, "path": everything(), "cmd": everything(), "domain": [everything()], "op": {everything(): None}}
    line = json.dumps(record).encode() + b"\n"
    return case.traced_honestly(dict.fromkeys(trace_names(case.dispatch.skill_type), line))


@kind("traces", "answer", Reason.TRACES_MISSING, traced=True)
async def no_traces(case: Case) -> Made:
    """A runtime primary's answer without a trace bundle."""
    return msgspec.json.encode(msgspec.structs.replace(case.answer, trace_bundle=None))
