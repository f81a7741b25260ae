"""Sections, decisions, codes, events, settings and commands: pages name what exists, and all of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_commands import TREE
from doc_pages import DOCS, HOUSES, ROOT, SPEC, code, fenced, pages, prose

from sssa.protocol.reasons import Reason
from validator.cli.reference import pages as made
from validator.settings.reference import reference

GENERATED = {DOCS / "reference" / name for name in made()}


def written() -> list[Path]:
    """The pages for operators that somebody wrote."""
    folders = ("operators", "reference", "explanation")
    return [page for folder in folders for page in sorted((DOCS / folder).glob("*.md")) if page not in GENERATED]


def source_text() -> str:
    return "\n".join(
        path.read_text()
        for folder in (*HOUSES, ROOT / "laboratory", ROOT / "miner", ROOT / "localnet")
        for path in sorted(folder.rglob("*.py"))
    )


def test_every_section_and_decision_that_the_code_cites_is_in_the_specification() -> None:
    text, spec = source_text(), SPEC.read_text()
    sections = {int(number) for number in re.findall(r"SPEC (\d+)", text)}
    decisions = {int(number) for number in re.findall(r"\bD-(\d+)\b", text)}
    assert {1, 13} <= sections
    assert 22 in decisions
    assert sections <= {int(number) for number in re.findall(r"^## (\d+)\. ", spec, re.MULTILINE)}
    assert decisions <= {int(number) for number in re.findall(r"\*\*D-(\d+)\b", spec)}


def test_sections_are_numbered_without_gaps_and_decisions_are_told_once() -> None:
    spec = SPEC.read_text()
    assert re.findall(r"^## (\d+)\. ", spec, re.MULTILINE) == [str(number) for number in range(1, 18)]
    decisions = re.findall(r"\*\*D-(\d+)\b", spec)
    assert len(decisions) == len(set(decisions))


def test_every_reason_is_told_to_operators_or_in_the_specification() -> None:
    told = "".join(page.read_text() for page in (SPEC, *written()))
    assert [str(reason) for reason in Reason if not re.search(rf"\b{reason}\b", told)] == []


def test_settings_that_the_pages_name_exist() -> None:
    sections = {entry.section for entry in reference().values()}
    named = {
        text
        for page in pages()
        for text in code(page)
        if re.fullmatch(r"(\w+)\.\w+", text) and text.split(".")[0] in sections
    }
    named = {text for text in named if not text.endswith((".py", ".sqlite", ".toml", ".json"))}
    assert "chain.state" in named
    assert named <= {*reference()}
    variables = {entry.variable for entry in reference().values()}
    for page in (ROOT / "README.md", *written()):
        found = re.findall(r"\bVALIDATOR_[A-Z]+__[A-Z_]+\b", page.read_text())
        assert {name.removesuffix("_FILE") for name in found} <= variables


def commands() -> set[str]:
    """Every command with a space before each level: ` score consensus`."""

    def walk(command: Any, name: str) -> Iterator[str]:
        yield name
        for inner, below in getattr(command, "commands", {}).items():
            yield from walk(below, f"{name} {inner}")

    return set(walk(TREE, ""))


@pytest.mark.parametrize("page", [page for page in pages() if page not in GENERATED], ids=lambda page: page.name)
def test_commands_that_the_pages_name_exist(page: Path) -> None:
    known = commands()
    lines = [text for text in code(page) if text.startswith("validator ")]
    lines += re.findall(r"^(?:\$ )?(?:\S*/)?(validator [a-z].*)$", fenced(page), re.MULTILINE)
    unknown = []
    for line in lines:
        words = re.match(r"validator((?: [a-z][a-z-]*)*)", line)
        assert words
        # The longest leading run of words that is a command; a group alone is fine where it is for the group.
        parts = words[1].split()
        if parts and not any(f" {' '.join(parts[:length])}" in known for length in (2, 1)):
            unknown.append(line)
    assert not unknown


def test_no_page_names_a_place_of_one_machine() -> None:
    for page in pages():
        assert not re.search(r"/(root|work|tmp/bash)/", prose(page)), page.name
