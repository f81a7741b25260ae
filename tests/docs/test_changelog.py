"""The version moves: code, distributions and CHANGELOG name one, and what is under way is no release."""

import re
import tomllib
from collections.abc import Mapping
from typing import NamedTuple

from doc_pages import ROOT
from packaging.version import Version

import validator
from sssa.scoring import VERSIONS
from validator.settings.reference import reference
from validator.store.schema import revisions

_HEADING = re.compile(r"^## \[(Unreleased|[0-9.]+)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)
_FORM = re.compile(r"(?:Towards ([0-9.]+)\. )?Tables (r\d{4}); scores ([0-9., ]+)\.")


class Section(NamedTuple):
    text: str
    date: str | None
    towards: str | None
    tables: str
    scores: tuple[str, ...]


def sections() -> Mapping[str, Section]:
    """By the heading, newest first."""
    text = (ROOT / "CHANGELOG.md").read_text()
    heads = list(_HEADING.finditer(text))
    assert len(heads) == text.count("\n## ")
    found = {}
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        body = text[head.end() : after.start() if after else None]
        form = _FORM.search(body)
        assert form, f"{head[1]}: a line `Tables rNNNN; scores …` stands below the heading"
        found[head[1]] = Section(body, head[2], form[1], form[2], tuple(form[3].split(", ")))
    return found


def test_every_version_has_a_date_tables_and_notes_and_they_go_upwards() -> None:
    unreleased, *released = sections()
    assert unreleased == "Unreleased"
    assert released == sorted(released, key=Version, reverse=True)
    for name, section in sections().items():
        assert (section.date is None) == (name == "Unreleased"), name
        notes = section.text.partition("### Operator notes\n")[2].partition("\n### ")[0]
        assert notes.strip().startswith("- "), name
    tables = [section.tables for section in sections().values()]
    assert tables == sorted(tables, reverse=True)


def test_the_program_names_the_version_that_is_under_way_and_no_released_one() -> None:
    mine, released = Version(validator.__version__), [Version(name) for name in list(sections())[1:]]
    if mine.is_devrelease:
        assert all(mine > one for one in released)
        assert sections()["Unreleased"].towards == mine.base_version
    else:  # the commit of a release
        assert mine == max(released)


def test_the_distributions_are_of_the_programs_version() -> None:
    mine, *others = (
        tomllib.loads((ROOT / place / "pyproject.toml").read_text())
        for place in (".", "sssa", "publisher", "taskmaker", "laboratory", "miner", "localnet")
    )
    assert mine["project"]["dynamic"] == ["version"]
    assert mine["tool"]["hatch"]["version"] == {"path": "validator/__init__.py"}
    for other in others:
        assert other["project"]["version"] == validator.__version__
        siblings = [name for name in other["project"]["dependencies"] if name.startswith("sssa")]
        assert all(name.endswith(f"=={validator.__version__}") for name in siblings)
    labels = re.findall(r"image\.version=\"?([^\s\"]+)", (ROOT / "Dockerfile").read_text())
    assert labels == [validator.__version__]


def test_what_is_under_way_names_the_newest_tables_and_what_is_scored() -> None:
    section = sections()["Unreleased"]
    assert section.tables == revisions()[-1], "a migration: name it below [Unreleased] in CHANGELOG.md"
    assert section.scores == tuple(VERSIONS)


def test_settings_that_the_notes_name_are_there_or_gone_with_advice() -> None:
    for name, section in sections().items():
        for line in re.findall(r"\*\*New settings:\*\* ((?:.|\n  )*?)\.$", section.text, re.MULTILINE):
            named = re.findall(r"`([\w.*]+)`", line)
            assert named, name
            for dotted in named:
                assert any(known == dotted or known.startswith(dotted.removesuffix("*")) for known in reference()), (
                    dotted
                )
