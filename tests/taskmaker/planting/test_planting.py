"""Planting: how many, where, and what is refused."""

import json
from collections import Counter
from typing import Any, get_args

import pytest
from toy_shapes import appending, changing, shape

from sssa.protocol import limits
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.planting import Difficulty, Family, Plant, Planted, Shape, count, fault_of, plant

FILES = {
    "SKILL.md": b"# Greet\n\nSay hello.\n\nSay it well.\n",
    "mcp.json": b"{}\n",
    "logo.png": b"\x89PNG\xff\xfe",
    "main.py": b"def main():\n    return 1\n",
}
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
FAMILIES: tuple[Family, ...] = get_args(Family)
MANY = [
    shape(
        f"{family}-{difficulty}", appending(f"{family} {difficulty}", "SKILL.md"), family=family, difficulty=difficulty
    )
    for family in FAMILIES
    for difficulty in DIFFICULTIES
]


def planted(
    *shapes: Shape, seed: str = "s", wanted: int | None = None, skill_type: SkillType = SkillType.DECLARATIVE
) -> Planted:
    return plant(FILES, skill_type, Draws(SeededRandom(seed)), shapes, wanted)


@pytest.mark.parametrize("seed", [f"seed {n}" for n in range(8)])
def test_every_fault_is_where_the_truth_says(seed: str) -> None:
    made = planted(*MANY, seed=seed, wanted=12)
    lines = made.files["SKILL.md"].decode().split("\n")
    assert made.truth.findings
    assert len(made.truth.findings) == len(made.faults) == 12
    for fault, known in zip(made.faults, made.truth.findings, strict=True):
        path, _, line = known.evidence_ref.partition("#L")
        family, _, name = known.kind.partition("/")
        assert (path, name) == ("SKILL.md", fault.shape.name)
        assert lines[int(line) - 1] == f"{family} {fault.shape.difficulty}"
    assert [line for line in lines if " " not in line or "." in line] == FILES["SKILL.md"].decode().split("\n")[1:]
    assert {path: made.files[path] for path in FILES if path != "SKILL.md"} == {
        path: content for path, content in FILES.items() if path != "SKILL.md"
    }


def test_eight_faults_are_of_every_family_and_difficulty() -> None:
    made = planted(*MANY, wanted=8)
    assert {fault.shape.family for fault in made.faults} == set(FAMILIES)
    counted = Counter(fault.shape.difficulty for fault in made.faults)
    assert sorted(counted.values()) == [2, 3, 3]


def test_as_a_rule_there_are_eight_and_one_in_four_carries_another_number() -> None:
    draws = Draws(SeededRandom("counts"))
    counts = Counter(count(draws) for _ in range(4_000))
    assert 0.72 < counts[8] / 4_000 < 0.78
    assert 0.10 < counts[0] / 4_000 < 0.15
    assert set(counts) == set(range(13))


def test_the_same_draws_give_the_same_bundle() -> None:
    assert planted(*MANY, seed="a") == planted(*MANY, seed="a")
    assert planted(*MANY, seed="a", wanted=8).files != planted(*MANY, seed="b", wanted=8).files


def test_a_bundle_with_place_for_fewer_gets_fewer() -> None:
    nowhere = shape("nowhere", lambda *_: None)
    other = shape("other", appending("x", "SKILL.md"), types=frozenset({SkillType.RAG_KNOWLEDGE}))
    made = planted(MANY[0], nowhere, other, wanted=8)
    assert ([fault.shape.name for fault in made.faults], made.wanted) == ([MANY[0].name], 8)


def test_no_two_faults_lie_at_one_place() -> None:
    first = shape("first", changing(("new.md", b"one\n")))
    again = shape("again", changing(("new.md", b"one \n")))
    assert len(planted(first, again, wanted=2).faults) == 1


def test_a_fault_that_would_change_an_earlier_one_is_not_planted() -> None:
    first = shape("first", changing(("new.md", b"one\n")))
    second = shape("second", changing(("new.md", b"two\nthree\n"), line=2), difficulty="medium")
    made = planted(first, second, wanted=2)
    assert [fault.shape.name for fault in made.faults] == ["first"]
    assert made.files["new.md"] == b"one\n"


def one(path: str, content: bytes = b"x\n", line: int | None = 1, **more: Any) -> Plant:
    return Plant({path: content, **more}, path, line, "other", "low")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (one("main.py", b"def main(:\n"), "broken"),
        (one("main.py", b"x = 1\nfrom __future__ import annotations\n"), "broken"),  # parses, and does not compile
        (one("mcp.json", b"{]\n"), "broken"),
        (one("SKILL.md", b"\xff\n"), "broken"),
        (one("new.json", b"{"), "broken"),
        (one("SKILL.md", b"x\n", line=2), "line"),
        (one("SKILL.md", b"x\n", line=0), "line"),
        (one("SKILL.md", FILES["SKILL.md"]), "changed nothing"),
        (one("logo.png"), "cannot see"),
        (one("SKILL.md/x"), "in its way"),
        (one("../x"), "name"),
        (one("a#b"), "name"),
        (Plant({"new.md": b"x\n"}, "SKILL.md", 1, "other", "low"), "no file that it changed"),
        (one("new.md", b"x" * (16 * 1024 * 1024 + 1)), "bound"),
    ],
)
def test_what_breaks_a_bundle_or_points_nowhere_is_refused(wrong: Plant, why: str) -> None:
    assert why in str(fault_of(FILES, wrong))
    made = planted(shape("wrong", lambda *_: wrong), wanted=1)
    assert (made.faults, made.files) == ((), FILES)


def test_a_bundle_may_grow_to_its_bound_and_not_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is on all files together, however small each is."""
    size = sum(map(len, FILES.values()))
    monkeypatch.setattr(limits, "MAX_BUNDLE_EXPANDED", size + 6)
    assert fault_of(FILES, one("new.md", b"x\n" * 3)) is None
    assert fault_of(FILES, one("new.md", b"x\n" * 3 + b"x")) == "the bundle is over a bound with it"
    monkeypatch.setattr(limits, "MAX_BUNDLE_ENTRIES", len(FILES))
    assert fault_of(FILES, one("new.md")) == "the bundle is over a bound with it"


def test_what_was_broken_before_may_be_a_place() -> None:
    broken = FILES | {"old.py": b"print 'hello'\n"}
    assert fault_of(broken, one("old.py", b"print 'bye'\n")) is None


def test_shapes_see_text_within_bounds() -> None:
    seen: dict[str, bytes] = {}
    files = FILES | {f"large-{n}.txt": b"x" * 250_000 for n in range(10)} | {"huge.txt": b"x" * 300_000}
    spy = shape("spy", lambda draws, files, *_: seen.update(files))
    plant(files, SkillType.DECLARATIVE, Draws(SeededRandom("s")), [spy], 1)
    assert list(seen) == sorted(["SKILL.md", "mcp.json", "main.py", *(f"large-{n}.txt" for n in range(8))])


def test_the_truth_of_a_bundle_without_faults() -> None:
    truth = planted(*MANY, wanted=0, skill_type=SkillType.MCP_SERVER).truth
    assert (truth.verdict, truth.reference_risk, truth.findings, truth.injections) == ("ALLOW", 0.0, (), ())
    assert (truth.manifest_sha256, truth.poisoned_tools) == (sha256_hex(FILES["mcp.json"]), ())
    assert (truth.transitive_risk, truth.policy_rules, truth.shell_commands) == (None, None, None)


@pytest.mark.parametrize(
    ("severity", "category", "verdict", "risk"),
    [
        ("critical", "secrets_exposure", "BLOCK", 0.85),
        ("high", "secrets_exposure", "REVIEW", 0.5),
        ("high", "dependency_cve", "REVIEW", 0.317),
        ("medium", "other", "ALLOW", 0.18),
        ("critical", "transitive_risk", "BLOCK", 0.85),
    ],
)
def test_risk_and_verdict_follow_from_what_was_planted(severity: Any, category: Any, verdict: str, risk: float) -> None:
    truth = planted(shape("one", appending("x", "SKILL.md", severity=severity, category=category)), wanted=1).truth
    assert truth.verdict == verdict
    assert truth.reference_risk == pytest.approx(risk, abs=0.001)


def test_injections_and_poisoned_tools_are_named() -> None:
    said = {"category": "tool_poisoning", "poisoned_tool": "lookup", "target_pattern": "lookup"}
    made = planted(
        shape("poison", appending('"x"', "SKILL.md", **said)),
        shape("order", appending("y", "SKILL.md", category="prompt_injection"), difficulty="hard"),
        wanted=2,
        skill_type=SkillType.MCP_SERVER,
    )
    line = made.files["SKILL.md"].split(b"\n").index(b"y") + 1
    assert made.truth.injections == (f"SKILL.md#L{line}",)
    assert made.truth.poisoned_tools == ("lookup",)


def composition(**children: str) -> bytes:
    """A composition's document of these folders and skill types."""
    return json.dumps({"children": [{"path": path, "skill_type": kind} for path, kind in children.items()]}).encode()


@pytest.mark.parametrize(
    ("documents", "one", "two"),
    [
        ({"": composition(**{"a/": "declarative", "b": "declarative"})}, "a", "b"),
        ({"": composition(a="agent_composition"), "a/": composition(b="declarative")}, "a", "a/b"),
    ],
)
def test_of_a_composition_the_greatest_risk_of_a_part_counts(documents: dict[str, bytes], one: str, two: str) -> None:
    files = {f"{folder}composition.json": content for folder, content in documents.items()}
    files |= {f"{folder}/SKILL.md": b"# A\n" for folder in (one, two)}
    shapes = [
        shape("one", appending("x", f"{one}/SKILL.md")),
        shape("two", appending("y", f"{two}/SKILL.md"), difficulty="medium"),
        shape("three", appending("z", f"{two}/SKILL.md"), difficulty="hard"),
    ]
    truth = plant(files, SkillType.AGENT_COMPOSITION, Draws(SeededRandom("s")), shapes, 3).truth
    assert truth.transitive_risk == truth.reference_risk == pytest.approx(0.667, abs=0.001)
