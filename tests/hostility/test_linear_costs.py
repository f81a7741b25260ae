"""Twice the input costs at most 2.5 times as much: every entry point from outside, every shape."""

import gzip
import io
import tarfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from builders import MINER, expect, finding, make_answer, make_task
from dear_groups import SHAPES, cost_of_group, dear_group
from linear import assert_linear
from shapes import JSON, TEXTS, Shape

from localnet.chain.subnet import load_state
from sssa.cli.score import ConsensusCase, WeightsCase
from sssa.kinds.assessment.judge import judge
from sssa.log.lines import LineReader
from sssa.proofs.debate import parse_debate
from sssa.proofs.document import verify_document
from sssa.protocol import limits
from sssa.protocol.answer import parse_answer, probe_values
from sssa.protocol.archives import unpack
from sssa.protocol.capabilities import parse_capabilities
from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import Receipt
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Dependency
from sssa.protocol.strict_json import decode
from sssa.protocol.task import parse_task
from sssa.protocol.traces import read_traces
from sssa.protocol.workflow_plan import parse_plan
from sssa.protocol.workflow_run import parse_step_answer
from sssa.protocol.workflow_task import parse_workflow_task
from sssa.scoring import finding_key
from validator.tasks.wire import TasksAnswer

pytestmark = pytest.mark.attack

KIB: Final = 1024
RAG = make_task(SkillType.RAG_KNOWLEDGE)
NOW = datetime(2026, 11, 20, tzinfo=UTC)
PROBES = probe_values("ab" * 32)


def within(*parts: bytes) -> Callable[[bytes], bytes]:
    return lambda value: parts[0] + value + parts[1]


def packed(content: bytes, name: str = "fs") -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for each in ("network", "fs", "process", "secrets", "imports"):
            info = tarfile.TarInfo(f"{each}.jsonl")
            info.size = len(content) if each == name else 0
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), 1)


def one_line(value: bytes) -> bytes:
    return packed(b'{"ts":1,"path":' + value + b"}\n")


def traces(data: bytes) -> Any:
    return read_traces(data, SkillType.EXECUTABLE_PYTHON, PROBES)


def audit_line(data: bytes) -> Any:
    found = LineReader(io.BytesIO(data)).next("receipt", None)
    return found.parsed(Receipt) if found else None


def state(data: bytes, folder: Path) -> Any:
    file = folder / "state.json"
    file.write_bytes(data)
    return load_state(file)


# Entry point: how it is called, where a stranger's value is in its document, bytes of the smaller one.
ENTRIES: Final[dict[str, tuple[Callable[[bytes], Any], Callable[[bytes], bytes], int]]] = {
    "answer": (lambda data: parse_answer(data, limit=limits.MAX_BODY), within(b'{"sssa":', b"}"), 192 * KIB),
    "plan": (parse_plan, within(b'{"nodes":[{"params":{"a":', b"}}]}"), 100 * KIB),
    "capabilities": (lambda data: parse_capabilities(data, hotkey="", now=NOW), within(b"", b""), 30 * KIB),
    "trace line": (traces, one_line, 128 * KIB),
    "trace file": (traces, packed, 192 * KIB),
    "task": (parse_task, within(b'{"truth":', b"}"), 192 * KIB),
    "workflow task": (parse_workflow_task, within(b'{"reference":{"expected":', b"}}"), 192 * KIB),
    "tasks of a server": (
        lambda data: decode(data, TasksAnswer, limit=limits.MAX_TASKS_BODY),
        within(b'{"tasks":[', b"]}"),
        192 * KIB,
    ),
    "step answer": (parse_step_answer, within(b'{"output":{"data":', b"}}"), 100 * KIB),
    "audit line": (audit_line, within(b'{"receipt":', b"}\n"), 192 * KIB),
    "proof": (verify_document, within(b'{"proof":', b"}"), 192 * KIB),
    "debate": (parse_debate, within(b'{"messages":', b"}"), 192 * KIB),
    "weights case": (
        lambda data: decode(data, WeightsCase, limit=64 * limits.MIB),
        within(b'{"windows":{},"standing":', b"}"),
        192 * KIB,
    ),
    "score case": (
        lambda data: decode(data, ConsensusCase, limit=64 * limits.MIB),
        within(b'{"members":', b"}"),
        192 * KIB,
    ),
}


@pytest.mark.parametrize("shape", JSON)
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_point_takes_linear_time_for_every_shape(entry: str, shape: str) -> None:
    read, wrap, size = ENTRIES[entry]

    def run(data: bytes) -> None:
        with suppress(ValidatorError):
            read(data)

    assert_linear(run, lambda n: wrap(JSON[shape](n)), size)


@pytest.mark.parametrize("shape", JSON)
def test_a_chain_state_takes_linear_time(shape: str, tmp_path: Path) -> None:
    def run(data: bytes) -> None:
        with suppress(ValidatorError):
            state(data, tmp_path)

    assert_linear(run, JSON[shape], 192 * KIB)


def answer_of(text: str, length: int) -> bytes:
    """A signed answer whose findings and dependencies carry such texts; what the grammar forbids is in no place."""
    size = len(msgspec.json.encode(text)) / len(text)  # bytes of a code point; each entry has three of the texts
    count = int(limits.MAX_ATTESTATION / (3 * 4_200 * size))
    long = (text * length)[: length - 1]
    fits = not set(text) & {":", "\\"} and not text.startswith("/")
    place = "a" + long if fits else "a.py"
    findings = tuple(
        finding("dependency_cve" if i % 2 else "other", place, target_pattern=f"pkg:pypi/{i}" + long[:-20])
        for i in range(count)
    )
    whole = make_answer(RAG)
    analysis = msgspec.structs.replace(
        whole.sssa.analysis,
        findings=findings,
        dependencies=tuple(Dependency(long, str(i), ()) for i in range(count)),
    )
    sssa = MINER.sign_document(msgspec.structs.replace(whole.sssa, analysis=analysis))
    return msgspec.json.encode(msgspec.structs.replace(whole, sssa=sssa))


@pytest.mark.parametrize("text", TEXTS)
def test_a_legal_answer_is_judged_and_keyed_in_linear_time_whatever_its_texts(text: str) -> None:
    def run(data: bytes) -> None:
        judged = judge(expect(RAG), data, 5.0)
        assert judged.reason == Reason.ACCEPTED, judged
        for each in judged.result.unpacked().sssa.analysis.findings:  # type: ignore[union-attr]
            finding_key(each)

    assert_linear(run, lambda length: answer_of(TEXTS[text], length), 2_000)


@pytest.mark.parametrize("alike", [False, True], ids=["each its own", "alike"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_group_at_its_limits_is_scored_and_proven_in_a_second_whatever_its_texts(shape: str, *, alike: bool) -> None:
    assert cost_of_group(*dear_group(shape, alike=alike)) <= 1.0


def rows(line: Callable[[int], bytes]) -> Shape:
    """Lines one after another, up to so many bytes."""

    def made(size: int) -> bytes:
        length = len(line(1_000))
        return b"\n".join(line(i) for i in range(size // (length + 1)))

    return made


TRACES: Final[dict[str, Shape]] = {
    "records": rows(lambda i: b'{"ts":%d.5,"op":"open","path":"/tmp/%d"}' % (i, i)),
    "the same record": rows(lambda i: b'{"ts":1,"path":"a"}'),
    "floats of every size": rows(lambda i: b'{"ts":%d.0,"path":[1e2%d,1.%de-6,-0.0,1e17]}' % (i, i % 10, i)),
    "subnormal floats": rows(lambda i: b'{"ts":%d,"path":[5e-324,1.5e-323]}' % i),
    "keys above the surrogates": rows(lambda i: b'{"ts":%d,"\xf0\x90\x80\x80%d":1,"\xef\xbf\xbf":2}' % (i, i)),
    "not ASCII": rows(lambda i: f'{{"ts":{i},"path":"é漢{i}"}}'.encode()),
    "deep records": rows(lambda i: b'{"ts":%d,"path":' % i + b"[" * 9 + b"1.0" + b"]" * 9 + b"}"),
    "many keys": lambda n: b'{"ts":1,' + b",".join(b'"%06x":1' % i for i in range(n // 11)) + b"}",
    "falling times": rows(lambda i: b'{"ts":%d,"path":"a"}' % (10**9 - i)),
    "equal times, equal beginnings": rows(lambda i: b'{"path":"' + b"a" * 60 + b'%d","ts":1}' % i),
}


@pytest.mark.parametrize("shape", TRACES)
def test_legal_traces_take_linear_time(shape: str) -> None:
    def run(data: bytes) -> None:
        assert traces(data).hashes

    assert_linear(run, lambda n: packed(TRACES[shape](n)), 250 * KIB)


def header(name: bytes, size: int = 0, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name.decode())
    info.size, info.type = size, kind
    return info.tobuf(tarfile.USTAR_FORMAT)


def extended(body: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    return header(b"x", len(body), kind) + body + bytes(-len(body) % 512)


def keyword(name: bytes, value: bytes) -> bytes:
    length = len(name) + len(value) + 3
    length += len(str(length + len(str(length))))
    return b"%d %b=%b\n" % (length, name, value)


def tar_of(member: Callable[[int], bytes]) -> Callable[[int], bytes]:
    return lambda count: gzip.compress(b"".join(map(member, range(count))) + bytes(1024), 1)


def f(i: int) -> bytes:
    return header(b"f%d" % i)


# Archives by the number of their parts, so that the smaller one has about a thousand.
ARCHIVES: Final[dict[str, tuple[Callable[[int], bytes], int]]] = {
    "gzip members": (lambda n: gzip.compress(b"") * n, 40_000),
    "zeros at the end": (lambda n: gzip.compress(f(1) + bytes(1024)) + bytes(n), 4 * limits.MIB),
    "small files": (tar_of(f), 2_000),
    "folders": (tar_of(lambda i: header(b"f%d" % i, kind=tarfile.DIRTYPE)), 2_000),
    "deep names": (tar_of(lambda i: extended(keyword(b"path", b"a/" * 3_000 + b"%d" % i)) + f(i)), 250),
    "one deep name": (lambda n: tar_of(lambda i: extended(keyword(b"path", b"a/" * n)) + f(i))(200), 3_500),
    "names of marks": (
        lambda n: tar_of(lambda i: extended(keyword(b"path", "\u0327\u0301".encode() * n)) + f(i))(1),
        1_900,
    ),
    "keywords": (tar_of(lambda i: extended(b"6 a=b\n" * 80) + f(i)), 1_000),
    "a long extension": (lambda n: tar_of(lambda i: extended(b"6 a=b\n" * n) + f(i))(1), 1_000_000),
    "digits": (tar_of(lambda i: extended(b"1" * 500) + f(i)), 1_000),
    "long digits": (lambda n: tar_of(lambda i: extended(b"1" * n) + f(i))(1), 8_000),
    "keywords for all": (
        tar_of(lambda i: extended(keyword(b"k%d" % i, b"v"), tarfile.XGLTYPE) + extended(b"6 a=b\n") + f(i)),
        1_000,
    ),
    "long names": (tar_of(lambda i: extended(b"a" * 900 + b"%d\0" % i, tarfile.GNUTYPE_LONGNAME) + f(i)), 1_000),
    "extensions of nothing": (tar_of(lambda i: extended(b"6 a=b\n")), 1_000),
}


@pytest.mark.parametrize("shape", ARCHIVES)
def test_archives_take_linear_time(shape: str) -> None:
    make, count = ARCHIVES[shape]

    def run(data: bytes) -> None:
        with suppress(ValidatorError):
            list(unpack(data, expanded=16 * limits.MIB, file_size=16 * limits.MIB, entries=4_096))

    assert_linear(run, make, count)
