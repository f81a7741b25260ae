"""Positions of lines after a change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmaker.planting.planting import moved

LINES = st.lists(st.sampled_from([b"a", b"b", b"", b"    return x", b"}"]), max_size=12)


@given(before=LINES, added=LINES, at=st.integers(0, 12), line=st.integers(1, 12))
def test_what_is_said_of_a_line_after_an_insertion_is_true(
    before: list[bytes], added: list[bytes], at: int, line: int
) -> None:
    after = before[:at] + added + before[at:]
    found = moved(b"\n".join(before), b"\n".join(after), line)
    if line <= len(before) and found is not None:
        assert found == (line if line <= at else line + len(added))


@given(before=LINES, at=st.integers(0, 12), line=st.integers(1, 12))
def test_lines_around_one_that_is_like_no_other_are_always_found(before: list[bytes], at: int, line: int) -> None:
    after = [*before[:at], b"planted", *before[at:]]
    if line <= len(before):
        assert moved(b"\n".join(before), b"\n".join(after), line) == line + (line > at)


@pytest.mark.parametrize(
    ("before", "after", "line", "where"),
    [
        (b'{\n "a": 1\n}\n', b'{\n "a": 1,\n "b": 2\n}\n', 2, 2),  # a comma is no change
        (b"a\nb\nc\n", b"a\nB\nc\n", 2, None),  # changed
        (b"a\nb\nc\n", b"a\nc\n", 2, None),  # gone
        (b"a\nx\nx\nb\n", b"a\nx\nx\nx\nb\n", 2, None),  # which of them is new?
        (b"a\nb\nc\nd\n", b"1\na\nb\n2\nc\nd\n3\n", 3, 5),  # several insertions
        (b"a\n", b"a\n", 3, None),  # no such line
    ],
)
def test_a_line_that_changed_or_could_be_another_is_not_found(
    before: bytes, after: bytes, line: int, where: int | None
) -> None:
    assert moved(before, after, line) == where
