"""Hostile JSON: what breaks readers, and what once took them hours."""

import json
from functools import cache

import msgspec

from hostile.kinds import ACCEPTED, SCHEMA, Case, Made, kind
from sssa.protocol.answer import answer_limit
from sssa.protocol.limits import MAX_BODY, MIB
from sssa.protocol.reasons import Reason

_DEEP = Reason.PARSE_TOO_DEEP
_TWICE = Reason.PARSE_DUPLICATE_KEY
_ROOM = MAX_BODY - 64 * 1024  # for filling, next to an honest answer
_HASH = b'"sha256:' + b"0" * 64 + b'"'


@cache
def unterminated(size: int) -> bytes:
    """Enough brackets to be looked at, then a string of escaped quotes that never ends."""
    return b"[" + b"[]," * 33 + b'"' + b'\\"' * ((size - 101) // 2)


@cache
def hashes(count: int) -> bytes:
    """Members of `trace_hashes`, each with a comma behind it."""
    return b"".join(b'"%d":%b,' % (number, _HASH) for number in range(count))


@kind("json", "answer", SCHEMA, dear=True)
async def string_that_never_ends(case: Case) -> Made:
    """Thirty brackets, then two million escaped quotes and no end: once a day of computing."""
    return unterminated(_ROOM)


@kind("json", "answer", SCHEMA, dear=True)
async def string_that_never_ends_in_an_answer(case: Case) -> Made:
    """A right answer whose last string is left open, full of backslashes."""
    brackets = b"[]," * 40
    return b'{"a":[' + brackets + b"0]," + case.body[1:-3] + b"\\\\" * (MIB // 2)


@kind("json", "answer", _DEEP, dear=True)
async def quotes_without_end(case: Case) -> Made:
    """Four megabytes of quotation marks with brackets between."""
    return b"[" * 33 + b'"]["' * (_ROOM // 4)


@kind("json", "answer", _TWICE, dear=True)
async def duplicate_at_the_end(case: Case) -> Made:
    """Fifty thousand keys in trace_hashes, the last of them twice: once minutes of computing."""
    last = b'"x":%b,"x":%b' % (_HASH, _HASH)
    comma = b"" if b'"trace_hashes":{}' in case.body else b","
    return case.body.replace(b'"trace_hashes":{', b'"trace_hashes":{' + hashes(46_000) + last + comma, 1)


@kind("json", "answer", ACCEPTED, Reason.TRACES_HASH, dear=True)
async def trace_hashes_by_the_thousand(case: Case) -> Made:
    """Two thousand entries in trace_hashes, rightly signed."""
    own = case.answer.sssa.evidence.trace_hashes
    many = {str(number): "sha256:" + "0" * 64 for number in range(2_000)}
    return msgspec.json.encode(case.changed("evidence", trace_hashes=many | own))


@kind("json", "answer", SCHEMA, dear=True)
async def unknown_keys_by_the_hundred_thousand(case: Case) -> Made:
    """Four hundred thousand keys that no schema knows."""
    return b"{" + _wide() + case.body[1:]


@cache
def _wide() -> bytes:
    return b"".join(b'"%x":0,' % number for number in range(400_000))


@kind("json", "answer", SCHEMA, dear=True)
async def empty_lists_by_the_million(case: Case) -> Made:
    """A list of more than a million empty lists where findings belong."""
    return case.body.replace(b'"findings":[', b'"findings":[' + b"[]," * (_ROOM // 3), 1)


@kind("json", "answer", _DEEP, dear=True)
async def four_megabytes_deep(case: Case) -> Made:
    """Nothing but opening brackets."""
    opening = case.rng.choice([b"[", b'{"a":', b'{"sssa":['])
    return opening * (_ROOM // len(opening))


@kind("json", "answer", _DEEP)
async def deep_in_an_unknown_field(case: Case) -> Made:
    """A right answer with a well-formed field of 10,000 levels before it."""
    return b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"," + case.body[1:]


@kind("json", "answer", _TWICE)
async def duplicate_keys(case: Case) -> Made:
    """A key of the schema twice, with equal or other values."""
    key = case.rng.choice([b'"verdict":"ALLOW"', b'"trace_bundle":', b'"schema_version":"1.0"'])
    twice = key + b"null," + key if key.endswith(b":") else key + b"," + key
    return case.body.replace(key, twice, 1)


@kind("json", "answer", _TWICE)
async def escaped_duplicate(case: Case) -> Made:
    """The same key twice, once with an escape in it."""
    return case.body.replace(b'"verdict":"ALLOW"', b'"verdict":"ALLOW","\\u0076erdict":"BLOCK"', 1)


@kind("json", "answer", SCHEMA)
async def bad_numbers(case: Case) -> Made:
    """NaN, infinities, numbers out of range, hexadecimal, leading zeros."""
    numbers = [b"NaN", b"Infinity", b"-1e400", b"1e400", b"-0.5", b"1.000001", b"0x1", b"00.1", b"1.", b".5", b"+1"]
    return case.body.replace(b'"risk_score":0.1', b'"risk_score":' + case.rng.choice(numbers))


@kind("json", "answer", SCHEMA, dear=True)
async def integer_of_megabytes(case: Case) -> Made:
    """An integer of four million digits."""
    return case.body.replace(b'"risk_score":0.1', b'"risk_score":' + b"9" * _ROOM)


@kind("json", "answer", ACCEPTED, dear=True)
async def fraction_of_megabytes(case: Case) -> Made:
    """The right number written with four million zeros behind it: legal JSON."""
    return case.body.replace(b'"risk_score":0.1', b'"risk_score":0.1' + b"0" * _ROOM)


@kind("json", "answer", ACCEPTED, dear=True)
async def whitespace_by_the_megabyte(case: Case) -> Made:
    """A right answer with four megabytes of white space between its parts."""
    return case.opened(b'"analysis"', b" \t\r\n" * (_ROOM // 4))


@kind("json", "answer", ACCEPTED)
async def everything_escaped(case: Case) -> Made:
    """A right answer in which every character of every string is an escape."""
    plain = json.dumps(case.plain())
    parts = plain.split('"')  # no string of an honest answer holds a quotation mark
    parts[1::2] = ["".join(f"\\u{ord(c):04x}" for c in part) for part in parts[1::2]]
    escaped = '"'.join(parts).encode()
    return escaped if len(escaped) < answer_limit(runtime_primary=case.runtime_primary) else case.body


@kind("json", "answer", SCHEMA, dear=True)
async def escapes_by_the_megabyte(case: Case) -> Made:
    """A description of 350,000 escaped surrogate pairs."""
    return case.body.replace(b'"words"', b'"' + b"\\ud83d\\ude00" * (_ROOM // 12) + b'"', 1)


@kind("json", "answer", SCHEMA)
async def lone_surrogates(case: Case) -> Made:
    """Half a surrogate pair, escaped or raw, and bytes that are no UTF-8."""
    bad = case.rng.choice([b"\\ud800", b"\\udc00x", b"\xed\xa0\x80", b"\xff\xfe", b"\xc0\x80", b"\xf5\x80\x80\x80"])
    return case.body.replace(b'"words"', b'"' + bad + b'"', 1)


@kind("json", "answer", SCHEMA)
async def other_encoding(case: Case) -> Made:
    """A byte order mark, UTF-16, UTF-32, or NUL bytes around the document."""
    text = case.body.decode()
    return case.rng.choice(
        [b"\xef\xbb\xbf" + case.body, text.encode("utf-16"), text.encode("utf-32"), case.body + b"\0"]
    )


@kind("json", "answer", SCHEMA)
async def nearly_json(case: Case) -> Made:
    """Comments, a trailing comma, single quotes, a second document, control characters in a string."""
    body = case.body
    broken = [b"/**/" + body, body[:-1] + b",}", body.replace(b'"', b"'"), body + body, body + b"]", body[:-1]]
    return case.rng.choice([*broken, body.replace(b'"words"', b'"\n"'), b"", b"null", b"[]", b'"' + b"a" * 1_000])


@kind("json", "answer", SCHEMA)
async def unknown_fields(case: Case) -> Made:
    """A field that the schema does not have, under a name that wants to be shown."""
    plain = case.plain()
    place = case.rng.choice([plain, plain["sssa"], plain["sssa"]["skill"], plain["probe_evidence"]])
    place[case.rng.choice(["extra", "__proto__", "\u202e\x1b[31m", "a" * 5000])] = 1
    return json.dumps(place if place is plain else plain).encode()


@kind("json", "answer", Reason.PARSE_TOO_LARGE)
async def one_byte_too_many(case: Case) -> Made:
    """A right answer filled up to one byte over the limit."""
    limit = answer_limit(runtime_primary=case.runtime_primary)
    return case.body + b" " * (limit + 1 - len(case.body))


@kind("json", "answer", ACCEPTED, dear=True)
async def exactly_the_limit(case: Case) -> Made:
    """A right answer filled up to the limit itself, 16 MiB for a runtime primary."""
    limit = answer_limit(runtime_primary=case.runtime_primary)
    return case.body + b"\n" * (limit - len(case.body))
