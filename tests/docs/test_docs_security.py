"""The page on security tells what is tried."""

from doc_pages import DOCS, table
from hostile import KINDS
from hostile.table import rows

PAGE = DOCS / "security.md"


def test_the_table_names_every_kind_and_how_it_ends() -> None:
    assert table(PAGE, "hostility") == rows()


def test_there_are_more_kinds_than_were_asked_for() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 60
    assert len([kind for kind in KINDS if kind.dear]) >= 20
