"""`python -m real_skills` without a network: counting, compositions of definitions, tables, what the commands print."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from real_skills.analysers import REFERENCE, analysers
from real_skills.bases import COMPOSITIONS, MANIFEST, RefusedError, Skill, bases
from real_skills.compositions import composed
from real_skills.figures import ByAnalyser, Figures, OnPackage, Rules, measure, rules_digest, sow, write_sown
from real_skills.network_run import Finder, Network, read_network
from real_skills.page import PAGE, replaced, rules_on_page, tables
from real_skills.recall import Measured, language, rows
from real_skills.shape_files import later_shapes

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Category, Finding
from sssa.protocol.task import KnownFinding
from taskmaker.package_packing import pack_path
from taskmaker.planting.shapes import builtin_shapes
from taskmaker.seeding import read_bases
from validator.tasks.package_manifest import read_packages
from validator.tasks.package_reference import parse_reference

FILES = {"a.md": b"one\ntwo\nthree\nold\n", "run": b"#!/bin/sh\ntrue\n", "agents/x/prompt.md": b"x\n"}
BASE = {**FILES, "a.md": b"old\n"}
PLANTED = "<!-- table: real skills"


def fault(place: str, kind: str, category: Category = "prompt_injection") -> KnownFinding:
    return KnownFinding(category, "high", place, (), "", kind)


def finding(place: str, category: Category = "prompt_injection", target: str = "") -> Finding:
    return Finding("f", category, "low", "It says so.", place, (), target)


def measured(faults: Sequence[KnownFinding], reported: Sequence[Finding], before: Sequence[Finding] = ()) -> Measured:
    made = Measured()
    made.take(FILES, BASE, SkillType.DECLARATIVE, faults, lambda files, _: before if files is BASE else reported)
    return made


def test_a_finding_names_a_fault_or_was_there_before_or_is_a_false_alarm() -> None:
    faults = [fault("a.md#L1", "injection/plain"), fault("run#L2", "exfiltration/keys", "secrets_exposure")]
    reported = [finding("a.md#L1"), finding("a.md#L4", "other"), finding("run#L2", "other")]
    found = measured(faults, reported, before=[finding("a.md#L1", "other")])  # the same line, where it was
    by_name = {row.name: row for row in rows(found, "category")}
    assert by_name["prompt_injection"].recall == by_name["prompt_injection"].precision == 1
    assert by_name["secrets_exposure"].recall == 0
    assert by_name["secrets_exposure"].precision is None
    assert (by_name["other"].false, by_name["other"].before) == (2, 1)
    assert (by_name["all"].recall, by_name["all"].precision) == (0.5, 0.5)
    assert {row.name: row.planted for row in rows(found, "language")} == {"text": 1, "shell": 1, "all": 2}


def test_what_the_bundle_had_before_names_no_fault_beside_it() -> None:
    found = measured([fault("a.md#L3", "injection/plain")], [finding("a.md#L4")], before=[finding("a.md#L1")])
    assert [(one.name, one.hits, one.false, one.before) for one in rows(found, "category")[:1]] == [
        ("prompt_injection", 0, 1, 1)
    ]
    found = measured([fault("a.md#L3", "injection/plain")], [finding("a.md#L4")])
    assert [one.hits for one in found.seen] == [True]


def test_that_a_child_with_a_fault_is_judged_is_no_false_alarm() -> None:
    judged = finding("composition.json#L3", "transitive_risk", "agents/x")
    found = measured([fault("agents/x/prompt.md#L1", "injection/plain")], [judged, finding("agents/x/prompt.md#L1")])
    assert (found.follow, found.unplanted_findings) == ([judged], [])
    found = measured([fault("a.md#L1", "injection/plain")], [judged])
    assert (found.follow, [one.finding for one in found.unplanted_findings]) == ([], [judged])
    other = finding("composition.json#L3", "other", "agents/x")
    found = measured([fault("agents/x/prompt.md#L1", "injection/plain")], [other])
    assert (found.follow, [one.finding for one in found.unplanted_findings]) == ([], [other])


@pytest.mark.parametrize(
    ("place", "name"),
    [("a.PY#L1", "Python"), ("x/b.mts", "TypeScript"), ("run", "shell"), ("agents", "other"), ("a#b#c", "other")],
)
def test_the_language_of_evidence(place: str, name: str) -> None:
    assert language(place, FILES) == name


def test_bandit_reads_the_python_files_alone_and_every_analyser_what_it_is_given() -> None:
    files = {"a/b.py": b"import os\n\npassword = 'hunter22'\nos.system(input())  # nosec\n", "c.md": b"exec(1)\n"}
    looked = {name: look(files, SkillType.EXECUTABLE_PYTHON) for name, look in analysers().items()}
    assert next(iter(looked)) == REFERENCE
    assert [(one.category, one.evidence_ref) for one in looked["bandit alone, on Python"]] == [
        ("secrets_exposure", "a/b.py#L3"),
    ]
    assert "excessive_capability" in {one.category for one in looked[REFERENCE]}
    assert looked["`lazy`, finds nothing"] == ()
    assert {one.id for one in looked["`partial`, overlooks a quarter"]} <= {one.id for one in looked[REFERENCE]}


def definition(name: str, tools: str) -> bytes:
    return f"---\nname: {name}\ndescription: Does {name}.\ntools: {tools}\n---\n\nYou do {name}.\n".encode()


def test_a_composition_has_a_child_for_each_definition() -> None:
    files = {
        "b.md": definition("b", "Read, Bash"),
        "a.md": definition("a", "WebFetch, Read, Unknown"),
        "README.md": b"# Not an agent\n",
        "deep/c.md": definition("c", "Read"),
        "manifest.json": b"{}",
    }
    made = composed("crew", "1.2", files)
    assert made == composed("crew", "1.2", dict(reversed(files.items())))
    assert sorted(made) == [
        *("agents/a/manifest.json", "agents/a/prompt.md", "agents/b/manifest.json", "agents/b/prompt.md"),
        *("composition.json", "manifest.json"),
    ]
    assert made["agents/a/prompt.md"] == files["a.md"]
    assert msgspec.json.decode(made["agents/a/manifest.json"])["capabilities"] == ["file_read", "network"]
    assert msgspec.json.decode(made["manifest.json"])["capabilities"] == ["file_read", "network", "subprocess"]
    assert msgspec.json.decode(made["composition.json"]) == {
        "name": "crew",
        "children": [{"name": n, "skill_type": "declarative", "path": f"agents/{n}"} for n in ("a", "b")],
        "flow": [["crew", "a"], ["crew", "b"]],
    }


def test_what_defines_no_agent_or_one_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="0 definitions of 0 agents"):
        composed("crew", "1", {"a.md": b"# Text\n", "b.md": b"---\nname: ../b\n---\n", "c.md": b"---\nname: c\n"})
    with pytest.raises(ValueError, match="2 definitions of 1 agents"):
        composed("crew", "1", {"a.md": definition("a", ""), "b.md": definition("a", "")})


def test_twelve_packages_of_all_types_are_pinned() -> None:
    packages = read_packages(MANIFEST).packages
    references = [parse_reference(one.package or "") for one in packages]
    assert all(one is not None and one.kind != "git+" and one.version for one in references)
    assert len({one.artifact.sha256 for one in packages if one.artifact}) == len(packages) == 12
    assert set(COMPOSITIONS) < {one.name for one in packages}
    types = {SkillType.AGENT_COMPOSITION if one.name in COMPOSITIONS else one.skill_type for one in packages}
    assert types == set(ASSESSED_TYPES)


def test_a_name_that_is_not_pinned_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"`nope` is none of angular-developer, .*, wikipedia-mcp"):
        bases(tmp_path / "work", frozenset({"nope", "vulture"}), lambda: None)
    assert not (tmp_path / "work").exists()


def test_what_is_pinned_is_packed_and_drafted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text("# Sort mail\n\nSort it by sender.\n")
    manifest, work = tmp_path / "packages.json", tmp_path / "work"
    monkeypatch.setattr("real_skills.bases.MANIFEST", manifest)
    packed = pack_path(tmp_path / "skill", tmp_path / "sorter", None, manifest)
    said = manifest.read_text().replace('"./skill"', f'"{tmp_path / "skill"}"')
    manifest.write_text(said.replace(packed.task.task.bundle_sha256, "0" * 64))
    with pytest.raises(RefusedError, match=f"the bundle hashes to {packed.task.task.bundle_sha256}, not to 000"):
        bases(work, frozenset(), lambda: None)
    manifest.write_text(said)
    steps: list[None] = []
    (skill,) = bases(work, frozenset(), lambda: steps.append(None))
    assert (skill.base.sha256, len(steps)) == (packed.task.task.bundle_sha256, 1)
    assert skill.to_decide > 0
    assert (work / "packed" / "sorter" / "task.draft.json").exists()
    sown = sow([skill], "seed", {"first": 2, "later": 1}, {"first": builtin_shapes()[:20], "later": later_shapes()})
    write_sown(sown, tmp_path / "tasks")
    assert sorted(path.parent.parent.name for path in tmp_path.glob("tasks/*/*/task.json")) == ["first"] * 2 + ["later"]
    packages, by_analyser, measured_by = measure(sown, [skill], lambda: steps.append(None))
    assert (len(steps), packages[0].tasks, set(measured_by)) == (4, 3, {"first", "later"})
    assert [(one.analyser, one.shapes) for one in by_analyser[:2]] == [(REFERENCE, "first"), (REFERENCE, "later")]
    assert packages[0].planted == sum(one.row.planted for one in by_analyser[:2]) > 0


def test_a_package_without_a_fault_is_sown_once(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("# Sort mail\n\nSort it by sender.\n")
    (base,) = read_bases(tmp_path)
    skill = Skill(read_packages(MANIFEST).packages[0], base, 0)
    for seed in map(str, range(20)):
        sown = sow(
            [skill], seed, {"first": 8, "later": 8}, {"first": builtin_shapes()[:20], "later": builtin_shapes()[20:40]}
        )
        hashes = [one.task.task.task.bundle_sha256 for one in sown]
        assert len(set(hashes)) == len(hashes)


def some_figures() -> Figures:
    found = measured([fault("a.md#L1", "injection/plain")], [finding("a.md#L1"), finding("run#L2", "other")])
    row = rows(found, "category")[-1]
    return Figures(
        Rules("0" * 16, "abc1234", "2026-01-02"),
        "seed",
        (OnPackage("p", "npm:p@1.0.0", "declarative", 3, 4, 1, 1, 1, 2, 0.25),),
        (ByAnalyser("reference miner", "first", row, 2, 0),),
        {"first": found},
        Network(30, 29, 20, 18, 9, (Finder("m", "thorough", 5, 9, 10, 0.5),)),
    )


def test_the_tables_stand_below_their_names_and_nothing_else_changes() -> None:
    made = tables(some_figures())
    page = "".join(f"Before.\n\n<!-- table: {name} -->\n\nBehind {name}.\n" for name in made)
    once = replaced(page, made)
    assert replaced(once, made) == once
    assert re.sub(r"^\|.*\n", "", once, flags=re.MULTILINE) == page
    for line in (
        "| rules | digest `0000000000000000` of miner/analysis.py and miner/scanners, commit `abc1234` |",
        "| reference miner | first | 1 | 1 | 1.00 | 2 | 0 | 0.50 | 2 | 0.25 | 0 |",
        "| `prompt_injection` | first | 1 | 1 | 1.00 | 1 | 0 | 1.00 |",
        "| m | `thorough` | 5 | 9 of 10 | 0.90 | 0.500 |",
    ):
        assert line in once.splitlines()
    with pytest.raises(ValueError, match="no `<!-- table: real skills -->`"):
        replaced("", made)


@pytest.mark.parametrize(("hits", "false", "enough"), [(8, 3, True), (7, 0, False), (10, 5, False)])
def test_what_is_enough(hits: int, false: int, enough: bool) -> None:
    figures = some_figures()
    row = figures.analysers[0].row._replace(planted=10, hits=hits, named=hits, false=false, before=0)
    assert figures._replace(analysers=(figures.analysers[0]._replace(row=row),)).enough is enough


def test_what_the_commands_print_is_read() -> None:
    result = {
        "rounds": 3,
        "settled": 2,
        "miners": [{"hotkey": h, "name": h, "behaviour": "lazy", "weight": 0.1} for h in ("a", "b", "silent")],
        "own": {"tasks": [{"given": 1, "separates": True}, {"given": 0, "separates": False}]},
    }
    found = {
        "tasks": 7,
        "miners": [{"hotkey": h, "answers": 2, "total": {"matched": n, "known": 4}} for h, n in (("a", 1), ("b", 3))],
    }
    network = read_network(result, found)
    assert network[:5] == (3, 2, 7, 1, 1)
    assert [(one.name, one.hits) for one in network.finders] == [("b", 3), ("a", 1)]


def test_of_which_rules_the_figures_of_a_page_are() -> None:
    page = "<!-- table: real skills -->\n\n"
    assert rules_on_page(page) is None
    page = replaced(page, {"real skills": tables(some_figures())["real skills"]})
    assert rules_on_page(page) == ("0" * 16, False)
    assert rules_on_page(page.replace("`abc1234` |", "`abc1234`, older than the code |")) == ("0" * 16, True)


def test_the_page_says_of_which_rules_its_figures_are() -> None:
    """If rules changed since, run `python -m real_skills`, or add `, older than the code` after the digest's commit."""
    page = PAGE.read_text()
    names = tables(some_figures())
    assert rules_on_page(replaced(page, names)) == ("0" * 16, False)
    if (told := rules_on_page(page)) is not None:
        assert told[0] == rules_digest() or told[1]
        assert all(re.search(rf"<!-- table: {name} -->\n\n\|.*\|\n\|---", page) for name in names)
