"""The reference miner on malicious skills and their twins: no worse than docs/reference-miner.md says."""

from collections import Counter

import pytest
from doc_pages import DOCS, table
from wild_skills.__main__ import HALVES, is_flagged, skills, wild

pytestmark = pytest.mark.attack
_FLAGGED = {
    "fifth": ["worktree-helper"],  # asks before it changes a shell's profile and a hook of git
    "sixth": ["csv-mail-merge", "port-ready"],  # not asking before each mail; Go, which is not read
    "seventh": ["zsh-git-prompt"],  # the engine does not read all of it
}
_MOST_FILES = 7  # that differ between the forms of a skill of a set whose author knew no rules


# The newest sets; `python -m wild_skills` prints the rows of all, in two processor minutes.
@pytest.mark.parametrize(("row", "half"), list(enumerate(HALVES))[-2:])
def test_skills_are_found_and_twins_flagged_as_told(half: str, row: int) -> None:
    results = wild(half)
    verdicts = Counter(bad.verdict for _, bad, _ in results)
    told = list(table(DOCS / "reference-miner.md", "wild skills"))[row]
    assert len(results) == 20
    assert told["BLOCK, REVIEW today"] == f"{verdicts['BLOCK']}, {verdicts['REVIEW']}"
    assert [one.name for one, _, good in results if is_flagged(good)] == _FLAGGED.get(half, [])
    assert int(told["twins flagged today"]) == len(_FLAGGED.get(half, []))
    assert float(told["recall today"]) == round(1 - verdicts["ALLOW"] / len(results), 2)


def test_a_twin_differs_in_one_place() -> None:
    for one in (*skills("first"), *skills("second"), *skills("third"), *skills("fourth")):
        assert one.bad.keys() == one.good.keys()
        assert sum(one.bad[path] != one.good[path] for path in one.bad) == 1


def test_twins_of_the_later_sets_differ_in_few_files() -> None:
    for one in (*skills("fifth"), *skills("sixth"), *skills("seventh")):
        differing = [path for path in {*one.bad, *one.good} if one.bad.get(path) != one.good.get(path)]
        assert 1 <= len(differing) <= _MOST_FILES
