"""Bodies that once stopped a validator permanently, at the sizes at which they did: each is refused at once."""

import gzip
import io
import tarfile

import msgspec
import pytest
from builders import expect, make_answer, make_task

from sssa.kinds.assessment.judge import judge
from sssa.protocol.answer import probe_values
from sssa.protocol.archives import ArchiveError, unpack
from sssa.protocol.capabilities import parse_capabilities
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType
from sssa.protocol.strict_json import DuplicateKeyError, SchemaError, decode_plain
from sssa.protocol.times import parse_time
from sssa.protocol.traces import TracesError, TracesTooLargeError, read_traces


def unterminated(size: int) -> bytes:
    return b"[" + b"[]," * 33 + b'"' + b'\\"' * (size // 2)


def keys(count: int) -> bytes:
    return b",".join(b'"%d":1' % i for i in range(count))


def trace(line: bytes) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name in ("fs", "network", "process", "secrets", "imports"):
            info = tarfile.TarInfo(f"{name}.jsonl")
            info.size = len(line) if name == "fs" else 0
            tar.addfile(info, io.BytesIO(line))
    return gzip.compress(raw.getvalue())


@pytest.mark.parametrize("size", [8 << 10, 32 << 10, 65 << 10, 2 << 20, 4 << 20])
def test_a_string_that_never_ends(size: int) -> None:
    body = unterminated(size)[: 4 << 20]
    assert judge(expect(make_task(SkillType.RAG_KNOWLEDGE)), body, 5.0).reason == Reason.PARSE_SCHEMA
    with pytest.raises(SchemaError):
        decode_plain(body, limit=4 << 20)


def test_a_capability_document_whose_string_never_ends() -> None:
    with pytest.raises(SchemaError):
        parse_capabilities(unterminated(63 << 10), hotkey="", now=parse_time("2026-11-20T00:00:00Z", "now"))


@pytest.mark.parametrize("count", [16_000, 64_000])
def test_a_duplicate_that_stands_last(count: int) -> None:
    task = make_task(SkillType.EXECUTABLE_PYTHON)
    hashes = b"".join(b'"%d":"sha256:%064x",' % (i, i) for i in (*range(count), 0))
    body = msgspec.json.encode(make_answer(task)).replace(b'"trace_hashes":{', b'"trace_hashes":{' + hashes)
    assert judge(expect(task), body, 5.0).reason == Reason.PARSE_DUPLICATE_KEY
    with pytest.raises(DuplicateKeyError):
        decode_plain(b"{" + keys(count) + b',"0":1}', limit=4 << 20)
    bundle = trace(b'{"ts":1,' + keys(count) + b',"0":1}')
    with pytest.raises(TracesError, match="twice"):
        read_traces(bundle, SkillType.EXECUTABLE_PYTHON, probe_values("ab" * 32))


@pytest.mark.parametrize("count", [40_000, 80_000, 300_000])
def test_gzip_members_without_content(count: int) -> None:
    with pytest.raises(ArchiveError, match="4096 gzip members"):
        list(unpack(gzip.compress(b"") * count, expanded=1 << 20, file_size=1 << 20, entries=9))


def test_one_trace_line_of_sixteen_mebibytes() -> None:
    line = b'{"ts":1,"a":[' + b"[]," * ((16 << 20) // 3 - 10) + b"[]]}"
    with pytest.raises(TracesTooLargeError, match="values"):
        read_traces(trace(line), SkillType.EXECUTABLE_PYTHON, probe_values("ab" * 32))
    with pytest.raises(TracesTooLargeError, match="line 1"):
        read_traces(
            trace(b'{"ts":1,"a":"%b"}' % (b"a" * (1 << 20))), SkillType.EXECUTABLE_PYTHON, probe_values("ab" * 32)
        )


def test_two_hundred_thousand_records_in_sixteen_mebibytes() -> None:
    line = b'{"ts":%07d.5,"op":"open","path":"/tmp/some/folder/with/a/name/%07d","pid":%d}\n'
    content = b"".join(line % (1_000_000 + i, i, i % 10) for i in range(200_000))
    assert len(content) <= 16 << 20
    found = read_traces(trace(content), SkillType.EXECUTABLE_PYTHON, probe_values("ab" * 32))
    assert len(found.signatures["fs"]) == 200_000
