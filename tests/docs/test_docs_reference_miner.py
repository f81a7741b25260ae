"""docs/reference-miner.md says what the reference miner's tables say."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import get_args

from doc_pages import DOCS, prose, table

from miner.analysis import UNREAD_RISK
from miner.scanners import packages, semgrep
from miner.scanners import prose as documents
from sssa.protocol.findings import BLOCK_FROM, REVIEW_FROM, WEIGHT_AND_CAP
from sssa.protocol.sssa import Category
from sssa.protocol.vocabulary import ACTIONS, CAPABILITIES, CATEGORIES, POWERFUL, RESOURCES

PAGE = DOCS / "reference-miner.md"


def texts(name: str) -> dict[str, str]:
    return {key.strip("`"): text for key, text in (row.values() for row in table(PAGE, name))}


def test_the_vocabulary_is_told_as_it_is() -> None:
    assert texts("categories") == dict(CATEGORIES)
    assert texts("capabilities") == dict(CAPABILITIES)
    assert texts("actions") == dict(ACTIONS)
    told = {
        row["resource of a rule"].strip("`"): (row["capabilities that make its rules"], row["a pattern is"])
        for row in table(PAGE, "resources")
    }
    assert told == {
        name: (", ".join(f"`{c}`" for c in one.capabilities), one.pattern) for name, one in RESOURCES.items()
    }


def test_the_vocabulary_is_whole() -> None:
    assert set(CATEGORIES) == set(get_args(Category))
    made = [capability for resource in RESOURCES.values() for capability in resource.capabilities]
    assert sorted(made) == sorted(CAPABILITIES)  # every capability makes the rules of one resource
    assert set(CAPABILITIES) > POWERFUL


def test_every_file_of_rules_is_told() -> None:
    told = {row["rules"].strip("`") for row in table(PAGE, "scanners")}
    shipped = {path.name for path in (Path(semgrep.__file__).parent / "rules").iterdir()}
    assert {name for cell in told for name in cell.replace("`", "").split(", ")} - {"–"} == shipped


def test_risk_and_verdict_are_told_as_they_are() -> None:
    told = {row["severity"].strip("`"): (float(row["weight"]), float(row["cap"])) for row in table(PAGE, "severities")}
    assert told == WEIGHT_AND_CAP
    assert f"BLOCK from a risk of {BLOCK_FROM:.2f} on, REVIEW from {REVIEW_FROM:.2f} on" in " ".join(
        prose(PAGE).split()
    )


def test_what_is_not_read_is_told() -> None:
    text = " ".join(prose(PAGE).split())
    data = tomllib.loads(files("miner.scanners").joinpath("rules/unread.toml").read_text("utf-8"))
    assert [language for language in data["suffixes"] if language not in text] == []
    assert UNREAD_RISK >= REVIEW_FROM
    assert f"a risk of {UNREAD_RISK} or more" in text


def test_the_bounds_are_those_of_the_code() -> None:
    told = [row["value"] for row in table(PAGE, "bounds")]
    values = (
        semgrep.MAX_FILE,
        semgrep.MAX_CODE,
        semgrep.MAX_TEXT,
        documents.BUDGET,
        packages.MAX_FILES,
        packages.MAX_LOCK,
        packages.MAX_LOCKED,
    )
    assert told == [f"{value:,}" for value in values]
