"""The reader of strangers' JSON, compared with a slow and simple one."""

import json
from datetime import datetime
from decimal import Decimal
from math import isinf
from typing import Any

import msgspec
import pytest
from builders import finding, make_answer, make_task
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol import limits, strict_json
from sssa.protocol.answer import Answer, parse_answer
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.sssa import Dependency, Document, Finding, Rule
from sssa.protocol.strict_json import (
    DuplicateKeyError,
    JsonError,
    SchemaError,
    TooDeepError,
    adds_no_strings,
    count_strings,
    decode,
    decode_plain,
    deepest,
    has_more_values,
    nesting_exceeds,
)
from sssa.protocol.workflow_plan import WorkflowPlan

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.text('"\\[]{},:ae-', max_size=6)


def escaped(text: str) -> str:
    return '"' + "".join(f"\\u{unit:04x}" for unit in _utf16(text)) + '"'


def _utf16(text: str) -> list[int]:
    raw = text.encode("utf-16-be")
    return [int.from_bytes(raw[i : i + 2], "big") for i in range(0, len(raw), 2)]


strings = st.builds(
    lambda text, write: write(text),
    texts,
    st.sampled_from([escaped, json.dumps, lambda text: json.dumps(text, ensure_ascii=False)]),
)
numbers = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1E5", "-0", "-0.0", "5e-324", "1e999", "1.0000000000000000000001", "2.2250738585072011e-308"]),
)
gaps = st.sampled_from(["", "", " ", "\n\t"])


def listed(items: list[str], gap: str) -> str:
    return f"[{gap}" + f"{gap},{gap}".join(items) + f"{gap}]"


def keyed(pairs: list[tuple[str, str]], gap: str) -> str:
    return f"{{{gap}" + f"{gap},{gap}".join(f"{key}{gap}:{gap}{value}" for key, value in pairs) + f"{gap}}}"


few_keys = strings | st.sampled_from(['"a"', '"\\u0061"', '"b"', '"\\u00e9"', '"é"'])
documents = st.recursive(
    strings | numbers | st.sampled_from(["null", "true", "false"]),
    lambda inner: (
        st.builds(listed, st.lists(inner, max_size=4), gaps)
        | st.builds(keyed, st.lists(st.tuples(few_keys, inner), max_size=4), gaps)
    ),
    max_leaves=12,
)


class _TwiceError(Exception):
    pass


def simple(text: str) -> Any:
    """Return what the standard library makes of it; ValueError, before any other fault, for what is beyond JSON."""

    def finite(number: str) -> float:
        if isinf(float(number)):
            raise ValueError(number)
        return float(number)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise _TwiceError
        return dict(pairs)

    json.dumps(json.loads(text, parse_float=finite), ensure_ascii=False).encode()
    return json.loads(text, object_pairs_hook=unique)


def depth_of(value: Any) -> int:
    if isinstance(value, (list, dict)):
        return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)
    return 0


def count_of(value: Any) -> int:
    """Count values as the cap does: an empty list or object is two."""
    if isinstance(value, (list, dict)):
        inner = list(value.values()) if isinstance(value, dict) else value
        return 1 + max(1, sum(map(count_of, inner)))
    return 1


@given(documents)
def test_what_is_accepted_and_what_it_means_is_what_the_simple_reader_says(text: str) -> None:
    data = text.encode()
    try:
        expected = simple(text)
    except (_TwiceError, ValueError) as error:
        with pytest.raises(DuplicateKeyError if isinstance(error, _TwiceError) else SchemaError):
            decode_plain(data, limit=10**6)
        return
    assert repr(decode_plain(data, limit=10**6)) == repr(expected)
    deep, many = depth_of(expected), count_of(expected)
    assert not nesting_exceeds(data, deep)
    assert deep == 0 or nesting_exceeds(data, deep - 1)
    assert not has_more_values(data, many)
    assert has_more_values(data, many - 1)


@given(documents, st.integers(0, 200), st.sampled_from(['"', "\\", "[", "}", ",", "\x00", "e", "-"]))
def test_a_damaged_document_is_refused_unless_it_still_is_one(text: str, place: int, put: str) -> None:
    broken = text[:place] + put + text[place + 1 :]
    try:
        expected = simple(broken)
    except (ValueError, _TwiceError):
        with pytest.raises(JsonError):
            decode_plain(broken.encode(), limit=10**6)
    else:
        assert decode_plain(broken.encode(), limit=10**6) == expected


@given(documents)
def test_many_dear_numbers_change_nothing_but_the_way_they_are_read(text: str) -> None:
    padding = ",".join(["1e-5"] * 5_000)
    outcomes = []
    for filler in ("[]", f"[{padding}]"):
        try:
            outcomes.append(repr(decode_plain(f"[{text},{filler}]".encode(), limit=10**6)[0]))
        except JsonError:
            outcomes.append("refused")  # of several faults another may be named
    assert outcomes[0] == outcomes[1]


class Inner(Document, frozen=True):
    x: float
    names: dict[str, int]


class Outer(Document, frozen=True):
    inner: tuple[Inner, ...]
    note: str | None


GOOD = b'{"inner":[{"x":1.5,"names":{"a":1}}],"note":null}'


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        GOOD.replace(b",", b" ,\n"),
        b'{"note":null,"inner":[{"names":{"a":1},"x":15e-1}]}',
        GOOD.replace(b'"a"', b'"\\u0061"'),
    ],
)
def test_a_struct_may_be_written_in_any_way(data: bytes) -> None:
    assert decode(data, Outer, limit=1000) == Outer((Inner(1.5, {"a": 1}),), None)


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (GOOD.replace(b'"x":1.5', b'"x":1.5,"x":1.5'), DuplicateKeyError, ": x"),
        (GOOD.replace(b'"x":1.5', b'"x":1.5,"\\u0078":1.5'), DuplicateKeyError, ": x"),
        (GOOD.replace(b'"a":1', b'"a":1,"b":2,"a":1'), DuplicateKeyError, ": a"),
        (GOOD.replace(b'"x":1.5', b'"x":"1","x":"1"'), SchemaError, "inner"),
        (GOOD.replace(b'"x":1.5', b'"x":1.5,"x":1.5,"y":' + b"[" * 40 + b"]" * 40), TooDeepError, "32 levels"),
        (GOOD.replace(b"1.5", b"[" * 32 + b"]" * 32), TooDeepError, "32 levels"),
        (GOOD.replace(b"1.5", b"[" * 60), TooDeepError, "32 levels"),
        (GOOD.replace(b"1.5", b"[[]]"), SchemaError, "inner"),
        (GOOD.replace(b"1.5", b"1e999"), SchemaError, "inner"),
        (GOOD.replace(b"1.5", b"NaN"), SchemaError, ""),
        (GOOD.replace(b"1.5", b"9" * 5000), SchemaError, "inner"),
        (GOOD.replace(b"null", b'"\\ud800"'), SchemaError, ""),
        (GOOD.replace(b"null", b'"\xff"'), SchemaError, ""),
        (b"\xef\xbb\xbf" + GOOD, SchemaError, ""),
        (GOOD + b"x", SchemaError, ""),
        (GOOD.replace(b'"note"', b'"more":1,"note"'), SchemaError, "more"),
    ],
)
def test_a_struct_has_an_error_for_each_fault(data: bytes, kind: type[JsonError], message: str) -> None:
    with pytest.raises(kind) as caught:
        decode(data, Outer, limit=10_000)
    assert message in str(caught.value)


class Lenient(Document, frozen=True):
    a: int
    b: str = "left out"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"a":1, "a":2}', Lenient),
        (b'{"a":0,"a":1,"a":2}', Lenient),
        (b'{"a":1 ,"a":2}', Any),
        (b'{"a":{"b":"\\u0022"}, "a":1}', Any),
        (b'{"a" :1,"b":{"c":[],"c":[]}}', Any),
        (b'[{"a":"\\\\","a":"\\""}, 1]', Any),
    ],
)
def test_what_is_left_out_or_escaped_hides_no_duplicate(data: bytes, kind: Any) -> None:
    with pytest.raises(DuplicateKeyError):
        decode(data, kind, limit=100)


@pytest.mark.parametrize("kind", [Lenient, Capabilities, msgspec.Raw, Decimal, dict[str, Decimal], bytes, datetime])
def test_types_that_could_be_written_with_more_strings_are_known(kind: Any) -> None:
    assert not adds_no_strings(kind)


@pytest.mark.parametrize("kind", [Answer, Any, Outer, dict[str, float], tuple[int, str], list[str | None]])
def test_types_that_are_written_with_the_strings_that_came_are_known(kind: Any) -> None:
    assert adds_no_strings(kind)


def test_an_honest_answer_is_read_once_however_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = make_answer(make_task(), (finding(description='é "quoted" \\ back'),))
    plain = msgspec.to_builtins(answer)
    written = [json.dumps(plain), json.dumps(plain, ensure_ascii=False, indent=1), json.dumps(plain, sort_keys=True)]
    monkeypatch.setattr(strict_json, "parse_untyped", lambda data: pytest.fail("read again"))
    assert [parse_answer(text.encode(), limit=limits.MAX_BODY) for text in written] == [answer] * 3


@given(st.text('"\\,a', max_size=12), st.text('"\\[é', max_size=12), st.booleans())
def test_strings_are_counted_whatever_is_in_them(key: str, value: str, plain: bool) -> None:
    assert count_strings(json.dumps({key: [value, 1, value]}, ensure_ascii=plain).encode()) == 3


def test_a_type_without_open_fields_bounds_the_nesting_itself() -> None:
    assert deepest(Outer) == 4
    assert deepest(Capabilities) == 2
    assert deepest(Answer) <= limits.MAX_JSON_DEPTH
    assert deepest(WorkflowPlan) > limits.MAX_JSON_DEPTH
    assert deepest(Any) > limits.MAX_JSON_DEPTH
    assert deepest(msgspec.Raw) > limits.MAX_JSON_DEPTH


def test_values_are_bounded_before_anything_is_built() -> None:
    with pytest.raises(SchemaError, match="2 values"):
        decode_plain(b"[1,2]", limit=100, values=2)
    with pytest.raises(TooDeepError):
        decode_plain(b"[[1,2]]", limit=100, values=2, depth=1)
    assert decode_plain(b"[1,2]", limit=100, values=3) == [1, 2]
    assert decode_plain(b'[",,,,[[[["]', limit=100, values=2) == [",,,,[[[["]
    assert not has_more_values(json.dumps(["[," * 50_000, 1]).encode(), 3)  # a text over more than a chunk of marks
    with pytest.raises(SchemaError, match="values"):
        parse_answer(b"[" + b"[]," * limits.MAX_ANSWER_VALUES + b"1]", limit=limits.MAX_BODY)


def test_the_fullest_legal_answer_is_under_the_cap_of_values() -> None:
    def at_least_one(fields: int, cves: int) -> int:
        return 1 + fields + max(1, cves)

    # Spreading the CVEs out adds nothing, an empty list counts as much as one CVE.
    entries = limits.MAX_FINDINGS + limits.MAX_DEPENDENCIES
    most = (
        limits.MAX_FINDINGS * at_least_one(len(Finding.__struct_fields__), 1)
        + limits.MAX_DEPENDENCIES * at_least_one(len(Dependency.__struct_fields__), 1)
        + limits.MAX_RULES * (1 + len(Rule.__struct_fields__))
        + limits.MAX_CAPABILITIES
        + max(0, limits.MAX_CVES - entries)
        + limits.MAX_BODY_RUNTIME_PRIMARY // len('"":"sha256:",' + 64 * "0")
        + 100  # everything that is once
    )
    assert most <= limits.MAX_ANSWER_VALUES
