"""The registry of scoring versions, their dependencies, and the import contract of its entry point."""

import ast
import dataclasses
import math
from pathlib import Path

import pytest
from builders import V1
from random_rounds import scored
from toy_version import TOY

from sssa.protocol.round import AssessedMember
from sssa.protocol.skill_types import SkillType
from sssa.scoring import CURRENT, UnknownScoringVersionError, Version, consensus_parts, version
from sssa.scoring.versions import VERSIONS
from sssa.state.mechanism_state import ENTRIES, RESULTS, ROLES, ROUNDS, SAMPLES

TESTS = Path(__file__).parents[1]
SCORING = TESTS.parent / "sssa" / "scoring"


def test_every_version_is_known_by_its_name_and_new_rounds_have_one() -> None:
    assert all(one.name == name and one is version(name) for name, one in VERSIONS.items())
    assert version(CURRENT).name == CURRENT


def test_an_unknown_version_names_itself_and_the_known_ones() -> None:
    with pytest.raises(UnknownScoringVersionError) as caught:
        version("0.9\x1b[31m")
    assert str(caught.value) == r"No code here scores this version: `0.9\u001b[31m`; this program scores 1.0.0, 2.0.0"


def test_a_version_cannot_be_changed() -> None:
    known = version(CURRENT)
    for part, name in ((known, "name"), (known.rules, "pay"), (known.rules.pay, "cap")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, name, None)
    with pytest.raises(TypeError):
        known.rules.types[SkillType.WORKFLOW] = known.rules.types[SkillType.RAG_KNOWLEDGE]  # type: ignore[index]


def test_no_version_looks_further_back_than_a_state() -> None:
    for rules in (known.rules for known in VERSIONS.values()):
        assert rules.collusion.window <= SAMPLES
        assert rules.pay.window <= ENTRIES
        assert rules.groups.history_rounds <= ROUNDS
        assert rules.groups.rotation_streak <= ROLES
        assert rules.execution.results <= RESULTS


def test_every_number_of_a_version_stands_on_one_page() -> None:
    """Functions hold no float but 0 and 1, the neutral ones."""
    found = {
        (path.name, number.value)
        for path in SCORING.rglob("*.py")
        if path.name != "rules.py"
        for number in ast.walk(ast.parse(path.read_text()))
        if isinstance(number, ast.Constant) and isinstance(number.value, float) and number.value not in {0.0, 1.0}
    }
    assert found == set()


def test_the_core_reads_no_constant_of_a_version_but_its_own_rules() -> None:
    pages = {path for path in SCORING.rglob("*.py") if path.parent != SCORING and path.name != "rules.py"}
    assert all("import RULES" not in page.read_text() for page in pages)


def test_tests_outside_the_core_use_the_door_of_scoring() -> None:
    found = {
        f"{path.relative_to(TESTS.parent)}: {module}"
        for path in (*TESTS.rglob("*.py"), *(TESTS.parent / "benchmarks").rglob("*.py"))
        if path.parent.name != "core"
        for module in _imports(path)
        if module.startswith("sssa.scoring.")
    }
    assert found == set()


@pytest.mark.parametrize("one", [V1, TOY], ids=lambda one: one.name)
def test_a_round_is_scored_by_the_numbers_and_the_functions_of_its_version(one: Version) -> None:
    tiers = set()
    for number in range(300):
        _, _, outcome, _ = scored(number, one)
        assert outcome.scoring_version == one.name
        for member in outcome.members:
            if isinstance(member, AssessedMember) and member.emission:
                tiers.add(member.emission.tier)
                parts = consensus_parts(one, member.components) if member.components else ()
                assert not parts or abs(member.consensus - math.fsum(part.contribution for part in parts)) < 1e-12
    assert tiers == ({0.25, 1.0, 1.4, 3.0} if one is TOY else {0.5, 1.0, 1.4, 2.0})


def _imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    froms = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return froms | {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
