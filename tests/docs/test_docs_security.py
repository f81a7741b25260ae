"""The page on security tells what is tried."""

import re

from doc_pages import DOCS, ROOT, table
from hostile import KINDS
from hostile.table import rows

PAGE = DOCS / "security.md"


def test_the_table_names_every_kind_and_how_it_ends() -> None:
    assert table(PAGE, "hostility") == rows()


def test_there_are_more_kinds_than_were_asked_for() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 60
    assert len([kind for kind in KINDS if kind.dear]) >= 20


def test_every_threat_names_tests_that_are_there() -> None:
    text = PAGE.read_text().partition("| wanted | what holds | tests |")[2].partition("\n\n")[0]
    threats = [line.split(" | ") for line in text.splitlines()[2:]]
    assert len(threats) >= 20
    for threat in threats:
        named = re.findall(r"`([\w/.]+)::(\w+)`", threat[-1])
        assert named, threat[0]
        for path, function in named:
            assert re.search(rf"^(async )?def {function}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE), (
                function
            )
