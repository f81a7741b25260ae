"""Hostile answers: each kind with the reason codes it may end in, drawn from a seed."""

import asyncio
import base64
import gzip
import io
import json
import random
import tarfile
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Final

import msgspec
from aiohttp import web
from world import answer_to

from validator.protocol.answer import Answer, Dispatch
from validator.protocol.archives import pack
from validator.protocol.limits import MIB
from validator.protocol.probes import probe_values
from validator.protocol.reasons import Reason
from validator.protocol.scoring_version import ASSESSED_TYPES, TYPE_RULES, trace_names
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Dependency
from validator.protocol.traces import read_traces

SCHEMA: Final = frozenset({Reason.PARSE_SCHEMA})
ACCEPTED: Final = frozenset({Reason.ACCEPTED})
Made = tuple[bytes | web.StreamResponse, frozenset[Reason]]
Maker = Callable[["Case"], Awaitable[Made]]


class Case:
    """One dispatch to be answered with hostility."""

    def __init__(self, rng: random.Random, signer: Signer, dispatch: Dispatch, request: web.Request) -> None:
        self.rng = rng
        self.signer = signer
        self.dispatch = dispatch
        self.request = request
        self.runtime_primary = dispatch.role == "primary" and TYPE_RULES[dispatch.skill_type].runtime

    def answer(self) -> Answer:
        return answer_to(self.signer, self.dispatch)

    def body(self) -> bytes:
        return msgspec.json.encode(self.answer())

    def plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self.answer())
        return plain

    def traces(self, *reasons: Reason) -> frozenset[Reason]:
        """What a broken trace bundle ends in: only runtime primaries' are looked at."""
        return frozenset(reasons) if self.runtime_primary else ACCEPTED

    def signed(self, **analysis: Any) -> bytes:
        answer = self.answer()
        changed = msgspec.structs.replace(answer.sssa.analysis, **analysis)
        sssa = self.signer.sign_document(msgspec.structs.replace(answer.sssa, analysis=changed))
        return msgspec.json.encode(msgspec.structs.replace(answer, sssa=sssa))


async def wrong_types(case: Case) -> Made:
    plain = case.plain()
    field = case.rng.choice(["verdict", "risk_score", "findings", "capabilities", "dependencies"])
    plain["sssa"]["analysis"][field] = case.rng.choice([None, {}, 17, [[]], True, "\x00"])
    return json.dumps(plain).encode(), SCHEMA


async def bad_numbers(case: Case) -> Made:
    number = case.rng.choice([b"NaN", b"Infinity", b"-1e400", b"1e400", b"-0.5", b"1" * 100_000, b"1.000001", b"0x1"])
    return case.body().replace(b'"risk_score":0.1', b'"risk_score":' + number), SCHEMA


async def deep_nesting(case: Case) -> Made:
    opening = case.rng.choice([b"[", b'{"a":', b'{"sssa":['])
    return opening * 100_000, frozenset({Reason.PARSE_TOO_DEEP})


async def duplicate_keys(case: Case) -> Made:
    key = case.rng.choice([b'"verdict":"ALLOW"', b'"trace_bundle":', b'"schema_version":"1.0"'])
    body = case.body()
    if key.endswith(b":"):
        return body.replace(key, key + b"null," + key, 1), frozenset({Reason.PARSE_DUPLICATE_KEY})
    return body.replace(key, key + b"," + key, 1), frozenset({Reason.PARSE_DUPLICATE_KEY})


async def lone_surrogates(case: Case) -> Made:
    bad = case.rng.choice([b"\\ud800", b"\\udc00x", b"\xed\xa0\x80", b"\xff\xfe"])
    return case.body().replace(b'"words"', b'"' + bad + b'"', 1), SCHEMA


async def noise(case: Case) -> Made:
    return case.rng.randbytes(case.rng.choice([0, 1, 100, 300_000])), SCHEMA | {Reason.PARSE_TOO_DEEP}


async def unknown_fields(case: Case) -> Made:
    plain = case.plain()
    place = case.rng.choice([plain, plain["sssa"], plain["sssa"]["skill"], plain["probe_evidence"]])
    place[case.rng.choice(["extra", "__proto__", "\u202e", "a" * 5000])] = 1
    return json.dumps(plain).encode(), SCHEMA


async def long_lists(case: Case) -> Made:
    plain = case.plain()
    analysis = plain["sssa"]["analysis"]
    which = case.rng.choice(["findings", "capabilities", "strings", "cves"])
    if which == "findings":
        analysis["findings"] *= 513
    elif which == "capabilities":
        analysis["capabilities"] = ["x"] * 1025
    elif which == "strings":
        analysis["findings"][0]["description"] = "x" * 16_385
    else:
        entry = {"package": "p", "version": "1", "cves": ["CVE-2020-1234"] * 64}
        analysis["dependencies"] = [entry] * 320
    return json.dumps(plain).encode(), SCHEMA


async def largest_honest(case: Case) -> Made:
    """As much as the limits allow: heavy, and valid."""
    dependencies = tuple(Dependency(f"package-{i}", "1" * 800, ()) for i in range(4_096))
    return case.signed(dependencies=dependencies), ACCEPTED


async def many_cves(case: Case) -> Made:
    ids = [f"CVE-2020-{i:06}" for i in range(19_999)]
    dependencies = tuple(Dependency(f"p{i}", "1", tuple(ids[i * 64 : i * 64 + 64])) for i in range(300))
    return case.signed(dependencies=dependencies), ACCEPTED


async def forged(case: Case) -> Made:
    signature = "0x" + case.rng.randbytes(64).hex()
    plain = case.plain()
    plain["sssa"]["signature"]["value"] = signature
    return json.dumps(plain).encode(), frozenset({Reason.VALIDITY_SIGNATURE})


@cache
def bomb() -> str:
    """A hundred megabytes that travel as a hundred kilobytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        info = tarfile.TarInfo("fs.jsonl")
        info.size = 100 * MIB
        tar.addfile(info, io.BytesIO(bytes(info.size)))
    return base64.b64encode(gzip.compress(raw.getvalue(), 6)).decode()


@cache
def crowd(names: tuple[str, ...]) -> str:
    """A trace bundle with nearly as many records as are allowed."""
    lines = b"".join(b'{"path":"/x/%d","ts":%d}\n' % (i, i) for i in range(199_000))
    return base64.b64encode(pack({f"{name}.jsonl": lines if name == "fs" else b"" for name in names})).decode()


async def trace_bomb(case: Case) -> Made:
    plain = case.plain()
    plain["trace_bundle"] = bomb()
    return json.dumps(plain).encode(), case.traces(Reason.TRACES_TOO_LARGE)


async def most_records(case: Case) -> Made:
    """As many records as allowed: a small body, a second of work."""
    plain = case.plain()
    plain["trace_bundle"] = crowd(trace_names(case.dispatch.skill_type) or ("fs",))
    return json.dumps(plain).encode(), case.traces(Reason.TRACES_HASH)


async def broken_traces(case: Case) -> Made:
    names = trace_names(case.dispatch.skill_type) or ("fs",)
    line = case.rng.choice(
        [b"{}", b'{"ts":"1"}', b"[1]", b'{"ts":1e999}', b'{"ts":1,"ts":2}', b"\xff", b'{"ts":1}\n\n']
    )
    packed = pack({f"{name}.jsonl": line + b"\n" for name in names})
    bundle = case.rng.choice([base64.b64encode(packed).decode(), base64.b64encode(packed[:-9]).decode(), "%%%", ""])
    plain = case.plain()
    plain["trace_bundle"] = bundle
    return json.dumps(plain).encode(), case.traces(Reason.TRACES_UNDECODABLE)


async def probes_left_out(case: Case) -> Made:
    answer = case.answer()
    if not case.runtime_primary:
        changed = msgspec.structs.replace(answer.probe_evidence, dns_host="other.invalid")
        return msgspec.json.encode(msgspec.structs.replace(answer, probe_evidence=changed)), frozenset(
            {Reason.PROBES_ECHO}
        )
    packed = pack({f"{name}.jsonl": b"" for name in trace_names(case.dispatch.skill_type)})
    hashes = read_traces(packed, case.dispatch.skill_type, probe_values(case.dispatch.nonce)).hashes
    evidence = msgspec.structs.replace(answer.sssa.evidence, trace_hashes=hashes)
    sssa = case.signer.sign_document(msgspec.structs.replace(answer.sssa, evidence=evidence))
    lying = msgspec.structs.replace(answer, sssa=sssa, trace_bundle=base64.b64encode(packed).decode())
    return msgspec.json.encode(lying), frozenset({Reason.PROBES_ABSENT})


async def hundred_megabytes(case: Case) -> Made:
    response = web.StreamResponse()
    await response.prepare(case.request)
    try:
        for _ in range(100):
            await response.write(b" " * MIB)
    except OSError:
        pass  # the validator hung up, as it should
    return response, frozenset({Reason.PARSE_TOO_LARGE})


async def announced_too_large(case: Case) -> Made:
    response = web.StreamResponse(headers={"Content-Length": str(10**12)})
    await response.prepare(case.request)
    return response, frozenset({Reason.PARSE_TOO_LARGE})


async def drip(case: Case) -> Made:
    response = web.StreamResponse()
    await response.prepare(case.request)
    try:
        for byte in b'{"sssa":':
            await response.write(bytes([byte]))
            await asyncio.sleep(2)
    except OSError:
        pass
    return response, frozenset({Reason.DEADLINE_LATE})


async def cut_off(case: Case) -> Made:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(case.request)
    await response.write(b"{")
    if case.request.transport is not None:
        case.request.transport.abort()
    return response, frozenset({Reason.DEADLINE_TRANSPORT})


async def other_status(case: Case) -> Made:
    status = case.rng.choice([204, 302, 404, 500, 503])
    headers = {"Location": "http://127.0.0.1:1/"} if status == 302 else {}
    return web.Response(status=status, headers=headers), frozenset({Reason.DEADLINE_STATUS})


async def compressed(case: Case) -> Made:
    return web.Response(body=gzip.compress(case.body()), headers={"Content-Encoding": "gzip"}), SCHEMA


def warm_up() -> None:
    """Make what is heavy beforehand: answers must not be late because the test was slow."""
    bomb()
    for skill_type in ASSESSED_TYPES:
        crowd(trace_names(skill_type) or ("fs",))


KINDS: Final[tuple[Maker, ...]] = (
    wrong_types,
    bad_numbers,
    deep_nesting,
    duplicate_keys,
    lone_surrogates,
    noise,
    unknown_fields,
    long_lists,
    largest_honest,
    many_cves,
    forged,
    trace_bomb,
    most_records,
    broken_traces,
    probes_left_out,
    hundred_megabytes,
    announced_too_large,
    drip,
    cut_off,
    other_status,
    compressed,
)
