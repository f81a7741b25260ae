"""Tests of the benchmark's code goals, written from what each function must do."""

from typing import Final

TESTS: Final = {
    "slugify": """from solution import slugify


def test_slugify():
    assert slugify('A b!') == 'a-b'


def test_slugify_leaves_no_hyphen_at_the_ends():
    assert slugify('  -- x -- ') == 'x'
    assert slugify('!') == ''
""",
    "chunked": """import pytest

from solution import chunked


@pytest.mark.parametrize(('size', 'lists'), [(2, [[1, 2], [3]]), (3, [[1, 2, 3]]), (9, [[1, 2, 3]])])
def test_lists_of_at_most_a_size(size, lists):
    assert chunked([1, 2, 3], size) == lists


def test_nothing_gives_nothing():
    assert chunked([], 3) == []


def test_a_size_below_one_is_refused():
    with pytest.raises(ValueError):
        chunked([1], 0)
""",
    "roman": """import pytest

from solution import roman


@pytest.mark.parametrize(('number', 'written'), [(1, 'I'), (4, 'IV'), (14, 'XIV'), (40, 'XL'), (1994, 'MCMXCIV')])
def test_numbers_are_written_as_the_romans_did(number, written):
    assert roman(number) == written


@pytest.mark.parametrize('number', [0, -1, 4000])
def test_what_they_could_not_write_is_refused(number):
    with pytest.raises(ValueError):
        roman(number)
""",
    "is_palindrome": """from solution import is_palindrome


def test_case_and_signs_do_not_count():
    assert is_palindrome('A man, a plan, a canal: Panama')
    assert is_palindrome('')


def test_others_are_none():
    assert not is_palindrome('Panama')
    assert not is_palindrome('ab')
""",
    "flatten": """from solution import flatten


def test_lists_in_lists_become_one():
    assert flatten([1, [2, [3, [], [4]]], (5,)]) == [1, 2, 3, 4, (5,)]


def test_texts_stay_whole():
    assert flatten(['ab', ['cd']]) == ['ab', 'cd']


def test_nothing_is_changed_in_place():
    given = [[1], 2]
    flatten(given)
    assert given == [[1], 2]
""",
    "run_lengths": """from solution import run_lengths


def test_runs_are_counted_in_order():
    assert run_lengths('aaabcca') == [('a', 3), ('b', 1), ('c', 2), ('a', 1)]


def test_an_empty_text_has_none():
    assert run_lengths('') == []
""",
    "median": """import pytest

from solution import median


def test_the_middle_one_or_the_mean_of_two():
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 3, 2]) == 2.5
    assert median([-7]) == -7


def test_nothing_has_none():
    with pytest.raises(ValueError):
        median([])
""",
    "merge_spans": """from solution import merge_spans


def test_spans_that_touch_or_overlap_are_one():
    assert merge_spans([(5, 7), (1, 3), (2, 4), (7, 8)]) == [(1, 4), (5, 8)]


def test_spans_apart_stay_apart():
    assert merge_spans([(3, 4), (1, 2)]) == [(1, 2), (3, 4)]
    assert merge_spans([]) == []


def test_one_inside_another_vanishes():
    assert merge_spans([(1, 9), (2, 3)]) == [(1, 9)]
""",
}
