"""RFC 8785 bytes, and JSON from strangers."""

import json

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from validator.protocol.canonical import NotCanonicalError, canonical_bytes
from validator.protocol.json_shape import nesting_exceeds
from validator.protocol.strict_json import (
    DuplicateKeyError,
    JsonError,
    SchemaError,
    TooDeepError,
    TooLargeError,
    decode_plain,
)

numbers = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [0.0, -0.0, 1.0, 1e-5, 1e-6, 1e-7, 1e16, 1e21, 1e22, 5e-324, 1.7976931348623157e308, 0.1, 123456.789]
    ),
    st.builds(  # around the powers of ten where one way of writing ends and another begins
        lambda digits, power, down: digits / 10**16 * 10.0**power * (1 - down * 2**-53),
        st.integers(-(10**17), 10**17),
        st.sampled_from([-8, -7, -6, -5, -4, 14, 15, 16, 17, 20, 21, 22]),
        st.booleans(),
    ),
)
# Above the surrogates, UTF-16 and code points order differently.
keys = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    "a\ud7ff\ue000\uffff\U00010000\U0010ffff", max_size=3
)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_the_fast_path_never_differs_from_rfc_8785(value: object) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(st.floats(1e-5, 1e16))
def test_floats_of_the_fast_path_are_written_as_ecmascript_does(value: float) -> None:
    assert canonical_bytes([value]) == rfc8785.dumps([value])


@pytest.mark.parametrize(
    "value",
    [2**53, -(2**53), [float("nan")], {"a": float("inf")}, "\ud800", {"\ud800": 1}, {1: 2}, [{"a": 1, None: 2}]],
)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(NotCanonicalError):
        canonical_bytes(value)


@given(values)
def test_what_json_writes_is_read_back(value: object) -> None:
    text = json.dumps(value).encode()
    assert decode_plain(text, limit=10**6) == json.loads(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_document_or_a_json_error(data: bytes) -> None:
    try:
        decode_plain(data, limit=100)
    except JsonError as error:
        assert str(error).isprintable()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"a":1,"a":2}', DuplicateKeyError),
        (b'[{"b":{"x":1,"\\u0078":2}}]', DuplicateKeyError),
        (b"[" * 33 + b"]" * 33, TooDeepError),
        (b"[" * 10**5, TooDeepError),
        (b'{"a":' * 10**5, TooDeepError),
        (b" " * 1001, TooLargeError),
        (b"NaN", SchemaError),
        (b"[1e400]", SchemaError),
        (b'"\\ud800"', SchemaError),
        (b"\xff", SchemaError),
        (b"{} {}", SchemaError),
        (b"", SchemaError),
    ],
)
def test_each_fault_has_its_error(data: bytes, kind: type[JsonError]) -> None:
    with pytest.raises(kind):
        decode_plain(data, limit=1000 if len(data) < 2000 else 10**6)


def test_brackets_in_strings_are_no_nesting() -> None:
    assert not nesting_exceeds(json.dumps(["[" * 100, '\\"[' * 50]).encode(), 3)
    assert nesting_exceeds(b"[[[[]]]]", 3)
    assert not nesting_exceeds(b"[[[]]]" * 50, 3)


def test_a_struct_has_the_bytes_of_its_plain_form() -> None:
    class Point(msgspec.Struct):
        y: float
        x: int

    assert canonical_bytes(Point(1.0, 2)) == b'{"x":2,"y":1}'
