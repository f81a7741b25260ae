"""Claims and figures of README and the architecture: each is held by a test that runs."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from builders import V1
from doc_pages import ARCHITECTURE, ROOT, prose

from localnet.roster import PlannerKind, collusion_roster
from localnet.screen import _COLUMNS
from sssa.protocol.reasons import Reason
from validator.store.repositories.state import COPY_ROUNDS

README = ROOT / "README.md"
# Recipes are held by being followed; they are no claims about what runs.
RECIPES = "\n## Recipes\n"
ABSOLUTES = r"(?<!-)\b(?:never|always|only)\b"
NUMBERS = r"\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|\d+(?:[.,]\d+)*)\b"

# What the page says: the test that holds it (`file::function` below tests/), or the name of an import contract.
CLAIMS = {
    "A room imports only from floors below it.": "A room imports only from floors below it",
    "It speaks of a task and its kind, never of a kind by name.": (
        "The round flow, replay, audit and explain never name a kind"
    ),
    "The validator imports neither the miner nor the local network": ("A house imports only from the houses below it"),
    "sends again only once that one can no longer arrive": (
        "validator/weights/test_weights_guard.py::test_a_submission_that_can_no_longer_arrive_is_sent_again_in_the_same_epoch"
    ),
    "one that is not on chain in time never will be": (
        "validator/chain/test_submission_lifetime.py::test_no_block_after_the_lifetime_can_hold_it"
    ),
    "It never counts anything twice": (
        "acceptance/test_kills.py::test_kills_at_random_moments_neither_double_nor_lose_anything"
    ),
    "our own faults never cost a miner anything": (
        "validator/rounds/test_too_costly.py::test_a_fault_of_ours_over_stored_answers_voids_them_alone_and_the_round_ends"
    ),
    "moves the round from `open`, which only one settler can": (
        "validator/store/test_store_settling.py::test_of_two_racing_settlers_exactly_one_wins"
    ),
}


def claims(page: Path) -> str:
    """Return the page up to its recipes on one line, without links' targets and the map of rooms, which is made."""
    text = re.sub(r"<!-- table: rooms -->\n\n(\|.*\n)+", "", prose(page).partition(RECIPES)[0])
    return " ".join(re.sub(r"\]\([^)]*\)", "]", text).split())


def outside(pattern: str, text: str, allowed: list[str]) -> list[str]:
    """Return the matches of the pattern outside quotation marks and outside the `allowed` places."""
    spans = [match.span() for one in [*allowed, r'"[^"]*"'] for match in re.finditer(one, text)]
    return [
        text[max(0, match.start() - 40) : match.end() + 40]
        for match in re.finditer(pattern, text, re.IGNORECASE)
        if not any(start <= match.start() and match.end() <= end for start, end in spans)
    ]


@pytest.mark.parametrize("page", [README, ARCHITECTURE], ids=lambda page: page.name)
def test_every_never_always_and_only_is_a_claim_that_something_holds(page: Path) -> None:
    assert outside(ABSOLUTES, claims(page), [re.escape(claim) for claim in CLAIMS]) == []


def test_every_claim_is_made_and_its_holder_is_there() -> None:
    made = claims(README) + claims(ARCHITECTURE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    names = {contract["name"] for contract in contracts}
    for claim, holder in CLAIMS.items():
        assert claim in made, claim
        path, separator, function = holder.partition("::")
        if separator:
            assert re.search(rf"^(async )?def {function}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE), holder
        else:
            assert holder in names


def figures_of_readme() -> dict[str, object]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {
        r"a group of up to (five) miners": V1.rules.groups.primaries + V1.rules.groups.auditors,
        r"the (seven) parts of the consensus": len(V1.rules.consensus.components),
        r"planners of (seven) behaviours": len(get_args(PlannerKind)),
        r"the (three) miners with the top reputation": sum(one.kind == "cohort" for one in collusion_roster()),
        r"Python (3\.11) or newer": project["requires-python"].removeprefix(">="),
    }


def figures_of_the_architecture() -> dict[str, object]:
    return {r"Every (256) rounds": COPY_ROUNDS}


NUMERALS = {"two": "2", "three": "3", "five": "5", "six": "6", "seven": "7"}


@pytest.mark.parametrize(
    ("page", "figures"),
    [(README, figures_of_readme()), (ARCHITECTURE, figures_of_the_architecture())],
    ids=["README", "architecture"],
)
def test_every_figure_is_the_programs(page: Path, figures: dict[str, object]) -> None:
    text = claims(page)
    for phrase, value in figures.items():
        found = re.search(phrase, text)
        assert found, phrase
        assert NUMERALS.get(found[1], found[1].replace(",", "")) == str(value), phrase
    # Names: sections, decisions, versions, floors (another test), gates; and pairs that the sentence itself names.
    names = [r"SPEC \d+( to \d+)?", r"D-\d+", r"1\.0\.0", r"\| \d+ \|", r"floor( of their own,)? \d"]
    pairs = [
        r"The two rooms import",
        r"looks in both places",
        r"all three\.",
        r"between the two\.",
        r"in ten minutes",
        r"\(42 here",
    ]
    assert outside(NUMBERS, text, [*figures, *names, *pairs]) == []


def test_the_excerpt_of_the_demo_has_the_form_of_todays_demo() -> None:
    _, marker, rest = README.read_text().partition("<!-- demo excerpt -->\n```\n")
    assert marker
    excerpt = rest.partition("\n```")[0]
    head = next(line for line in excerpt.split("\n") if line.startswith("hotkey"))
    assert re.split(r" {2,}", head) == list(_COLUMNS)
    shown = set(re.findall(r"\b\d+ ([a-z]+(?:_[a-z]+)*)(?:,|$)", excerpt, re.MULTILINE))
    assert {"accepted", "parse_plan"} <= shown & set(Reason)
    rounds = re.findall(r"^ROUNDS \?= (\d+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [f"{rounds[0]} of {rounds[0]} rounds settled"] == re.findall(r"\d+ of \d+ rounds settled", excerpt)
