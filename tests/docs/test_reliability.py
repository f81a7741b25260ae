"""The page on reliability names every careless change, and each of them still fits the program."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_careless_change_fits_the_program_and_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from simulation.mutations import MUTATIONS  # noqa: PLC0415 - it is found beside the packages

    page = " ".join((ROOT / "docs" / "reliability.md").read_text().lower().split())
    assert [one.name for one in MUTATIONS if (ROOT / one.file).read_text().count(one.old) != 1] == []
    assert [one.name for one in MUTATIONS if one.name not in page] == []
