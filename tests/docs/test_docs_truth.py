"""docs/operators/truth.md says what drafts hold, and the bounds of what they are made from."""

from doc_pages import DOCS, table

from miner.drafts import MAX_SHOWN
from miner.scanners.osv import MAX_ADVISORY, MAX_TOTAL
from miner.scanners.packages import MAX_PINNED
from sssa.protocol.task import TRUTH_OF_AXIS
from sssa.scoring import CURRENT, version

PAGE = DOCS / "operators" / "truth.md"


def test_the_fields_of_a_type_are_what_it_is_scored_by() -> None:
    told = {row["type"].strip("`"): row["fields besides `verdict`"] for row in table(PAGE, "truth")}
    scored = {
        kind: [TRUTH_OF_AXIS[axis] for axis, _ in rules.axes if axis in TRUTH_OF_AXIS]
        for kind, rules in version(CURRENT).rules.types.items()
    }
    assert told == {kind.value: ", ".join(f"`{field}`" for field in fields) for kind, fields in scored.items()}


def test_the_bounds_are_those_of_the_code() -> None:
    told = [int(row["value"].replace(",", "")) for row in table(PAGE, "bounds")]
    assert told == [MAX_ADVISORY, MAX_TOTAL, MAX_PINNED, MAX_SHOWN]
