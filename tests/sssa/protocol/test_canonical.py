"""RFC 8785 bytes, and JSON from strangers."""

import json
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import msgspec
import pytest
import rfc8785
from builders import make_sssa, make_task
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType
from plain_forms import canonical, signed_bytes
from strategies import sssas

from sssa.protocol.canonical import NotCanonicalError, canonical_bytes
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.sssa import Document, Signature, Sssa, signing_bytes
from sssa.protocol.strict_json import (
    DuplicateKeyError,
    JsonError,
    SchemaError,
    TooDeepError,
    TooLargeError,
    decode_plain,
    nesting_exceeds,
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
    [
        1.0,
        -0.0,
        [1.0, "1.0,"],
        ["1.0,", "1.0]"],
        [1.0, -0.0, '"-0.0}'],
        {"a.0": 1.0, "b": ".0}", "c": [2.0], "d": {"e": 3.0}},
        [-0.05, 10.0, 100.0, "\\", '\\".0,'],
        [1.0, "-0.0", -1.0],
    ],
)
def test_texts_that_look_like_numbers_stay_as_they_are(value: object) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


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


class Colour(StrEnum):
    RED = "red"


class Leaf(Document, frozen=True):
    size: float
    name: str = "n"
    note: str | UnsetType = UNSET


class Bare(Document, frozen=True, omit_defaults=True, tag="b", tag_field="kind"):
    left_out: float | None = None


class Tagged(Document, frozen=True, tag="t", tag_field="kind"):
    size: float


class Renamed(Document, frozen=True, rename="camel"):
    z_last: float


class Undecodable(Document, frozen=True):
    """Nothing is ever decoded to it: its classes have no tags."""

    which: Leaf | Renamed
    size: float


class Place(NamedTuple):
    """Written as a list."""

    name: str
    level: float


class Every(Document, frozen=True):
    """A field of every form that documents have."""

    number: float
    count: int
    text: str
    colour: Colour
    one: Leaf
    many: tuple[Leaf, ...]
    either: Leaf | None
    other: Tagged | Bare | None
    named: dict[str, Leaf]
    coloured: dict[Colour, Colour]
    names: tuple[str, ...]
    place: Place
    renamed: tuple[Renamed, ...]
    version: Literal[1, 2]
    anything: Any
    perhaps: float | UnsetType = UNSET
    maybe: Leaf | UnsetType = UNSET


floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0, 1e16, 1e-6, 0.5])
leaves = st.builds(Leaf, floats, st.text("aé", max_size=2), st.just(UNSET) | st.text("b", max_size=1))
every = st.builds(
    Every,
    number=floats,
    count=st.integers(-(2**53) + 1, 2**53 - 1),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    colour=st.just(Colour.RED),
    one=leaves,
    many=st.lists(leaves, max_size=2).map(tuple),
    either=st.none() | leaves,
    other=st.none() | st.builds(Tagged, floats) | st.builds(Bare, st.none() | floats),
    named=st.dictionaries(keys, leaves, max_size=3),
    coloured=st.sampled_from([{}, {Colour.RED: Colour.RED}]),
    names=st.lists(st.text("xy", max_size=2), max_size=2).map(tuple),
    place=st.builds(Place, keys, floats),
    renamed=st.lists(st.builds(Renamed, floats), max_size=1).map(tuple),
    version=st.sampled_from([1, 2]),
    anything=values
    | leaves
    | st.builds(Undecodable, leaves | st.builds(Renamed, st.just(1)), floats)
    | st.lists(leaves, max_size=2),
    perhaps=st.just(UNSET) | floats,
    maybe=st.just(UNSET) | leaves,
)


@given(every)
def test_a_document_of_every_form_has_the_bytes_of_its_plain_form(document: Every) -> None:
    assert canonical_bytes(document) == canonical(document)


@given(sssas, floats.filter(lambda risk: 0 <= risk <= 1), st.dictionaries(keys, st.just("sha256:"), max_size=80))
def test_an_attestation_is_signed_over_the_bytes_of_its_plain_form(
    sssa: Sssa, risk: float, hashes: dict[str, str]
) -> None:
    bent = msgspec.structs.replace(
        sssa,
        analysis=msgspec.structs.replace(sssa.analysis, risk_score=risk),
        evidence=msgspec.structs.replace(sssa.evidence, trace_hashes=hashes),
    )
    assert canonical_bytes(bent) == canonical(bent)
    assert signing_bytes(bent) == signed_bytes(bent)


class Signable(Document, frozen=True, omit_defaults=True):
    signature: Signature
    number: float | None = None


def test_a_signed_document_that_leaves_fields_out_is_signed_without_them() -> None:
    short = Signable(Signature("hk", "sr25519", "0x" + "0" * 128))
    assert signing_bytes(short) == signed_bytes(short) == b'{"signature":{"crypto":"sr25519","hotkey":"hk"}}'


def test_a_signed_document_with_fields_that_are_unset_is_signed_without_them() -> None:
    signature = Signature("hk", "sr25519", "0x" + "0" * 128)
    document = Capabilities("1.0", "hk", (), "s", "2026-11-20T00:00:00Z", "2026-11-20T01:00:00Z", signature)
    assert b"max_concurrent" not in signing_bytes(document)
    assert signing_bytes(document) == signed_bytes(document)


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**400, float("nan"), float("inf")])
def test_a_document_with_a_number_that_has_no_canonical_form_is_refused(number: Any) -> None:
    sssa = make_sssa(make_task())
    bent = msgspec.structs.replace(sssa, analysis=msgspec.structs.replace(sssa.analysis, risk_score=number))
    for write in (canonical_bytes, signing_bytes):
        with pytest.raises(NotCanonicalError):
            write(bent)


def test_a_struct_has_the_bytes_of_its_plain_form() -> None:
    class Point(msgspec.Struct):
        y: float
        x: int

    assert canonical_bytes(Point(1.0, 2)) == b'{"x":2,"y":1}'
