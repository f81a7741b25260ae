"""The reference miner on malicious skills and their twins: no worse than docs/reference-miner.md says."""

from collections import Counter

import pytest
from doc_pages import DOCS, table
from wild_skills.__main__ import is_flagged, skills, wild

pytestmark = pytest.mark.attack


@pytest.mark.parametrize(("half", "row"), [("first", 0), ("second", 1), ("third", 2), ("fourth", 3)])
def test_skills_are_found_as_told_and_no_twin_is_flagged(half: str, row: int) -> None:
    results = wild(half)
    verdicts = Counter(bad.verdict for _, bad, _ in results)
    told = list(table(DOCS / "reference-miner.md", "wild skills"))[row]
    assert len(results) == 20
    assert told["BLOCK, REVIEW today"] == f"{verdicts['BLOCK']}, {verdicts['REVIEW']}"
    assert [one.name for one, _, good in results if is_flagged(good)] == []
    assert float(told["recall today"]) == round(1 - verdicts["ALLOW"] / len(results), 2)


def test_a_twin_differs_in_one_place() -> None:
    for one in (*skills("first"), *skills("second"), *skills("third"), *skills("fourth")):
        assert one.bad.keys() == one.good.keys()
        assert sum(one.bad[path] != one.good[path] for path in one.bad) == 1
