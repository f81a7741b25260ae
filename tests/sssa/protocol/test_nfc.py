"""Normal form C by way of ordered runs, compared with unicodedata alone."""

import sys
import time
import unicodedata
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.text import _LAST, nfc

nfc("é" * 100)  # the table is made at the first use, which is not to count against a deadline

# Marks of several classes, ones that decompose into two, and U+0F73: a starter that decomposes to marks.
MARKS = "\u0301\u0327\u0323\u0308\u0344\u0345\u0f71\u0f72\u0f73\u0f81\u302a\u3099"
texts = st.text(st.sampled_from(MARKS + "aeké\u1e69\u1100\u1161\u11a8\uac00\u0f40\ufb1d"), max_size=80)


@given(texts | st.text() | st.builds("a".join, st.lists(st.text(MARKS, min_size=20, max_size=60))))
def test_it_is_what_unicodedata_says(text: str) -> None:
    assert nfc(text) == unicodedata.normalize("NFC", text)


def test_text_without_long_runs_costs_little_more_than_its_normal_form() -> None:
    text = "\U0001f600\u4e00\u00e9\U00010350" * 10_000

    def cost(work: Callable[[], str]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    alone = min(cost(lambda: unicodedata.normalize("NFC", text)) for _ in range(9))
    assert min(cost(lambda: nfc(text)) for _ in range(9)) < 40 * alone  # 5 times; 160 where all is looked at


def test_no_mark_is_behind_the_last_that_is_looked_at() -> None:
    behind = map(chr, range(_LAST + 1, sys.maxunicode + 1))
    assert not any(map(unicodedata.combining, unicodedata.normalize("NFD", "".join(behind))))


def test_every_character_that_may_move_is_in_order_among_others() -> None:
    for code in range(0x300, 0x30000):
        text = "a\u0345" + chr(code) + "\u0323\u0301" * 10
        if not 0xD800 <= code < 0xE000:
            assert nfc(text) == unicodedata.normalize("NFC", text)
