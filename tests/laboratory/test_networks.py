"""Networks of the laboratory: they are the core's own rounds, the same from a seed, and populations are checked."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from cli_store import PROGRAM
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from laboratory.behaviours import Deed
from laboratory.network import Network, Played
from laboratory.population import Behaviour, PopulationError, population_of, read_population
from laboratory.report import html_page, report_of
from laboratory.results import play, rank_correlation, ranks
from laboratory.runs import play_all
from laboratory.world import Latent
from sssa.protocol import typed
from sssa.protocol.answer import Role
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.results import RoundResults, packed
from sssa.protocol.round import AssessmentTask, GroupPlan, RoundInput
from sssa.protocol.sssa import check_sssa
from sssa.scoring import FindingKeys, plan_round, score_round, version
from sssa.state.round_end import Ended, apply

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "population.toml"
BEHAVIOURS = get_args(Behaviour)


def crowd(rounds: int = 6, scoring: str = "2.0.0", **world: Any) -> dict[str, Any]:
    """One or two miners of every behaviour."""
    miners = [
        {"name": name, "behaviour": name, "count": 2, "skill": 0.6, "tool": "open", "fails": 0.1, "knows": 0.5}
        | ({"of": "honest-1"} if name in {"copier", "framer"} else {})
        for name in BEHAVIOURS
    ]
    return {"version": scoring, "rounds": rounds, "miners": miners, "world": {"epoch_rounds": 2} | world}


def digest(document: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(play(population_of(document)), order="deterministic")).hexdigest()


@pytest.mark.parametrize("scoring", ["1.0.0", "2.0.0"])
def test_every_round_is_the_cores_own_and_steps_from_the_state_before(scoring: str) -> None:
    network, core = Network(population_of(crowd(scoring=scoring))), version(scoring)
    kinds = set()
    for _ in range(12):
        before = network.state
        played = network.play()
        assert played.plan == plan_round(core, played.frozen)
        assert core.complete(before, played.frozen) == played.frozen
        assert apply(before, core.step(before, Ended(played.frozen, played.plan, "settled", played.outcome))) == (
            network.state
        )
        assert {one.hotkey for one in played.frozen.miners} <= set(network.names)
        kinds |= {type(one).__name__ for one in played.outcome.members}
        planted = [task for task in played.frozen.tasks if task.made_here]
        assert len(planted) == core.rules.groups.canary_slots
    assert kinds == {"AssessedMember", "FailedMember"}
    assert sum(network.pay().weights.values()) == pytest.approx(1)


def test_answers_that_never_were_bytes_come_to_what_those_come_to_that_were() -> None:
    """As a daemon has them: inputs and answers are written, read back with every check, and scored."""
    network = Network(population_of(crowd()))
    core = version("2.0.0")
    assert network.version is core
    groups, many = 0, int(os.environ.get("RANDOM_GROUPS", "240"))
    while groups < many:
        played = network.play()
        frozen = typed.decode(canonical_bytes(played.frozen), RoundInput)
        assert frozen == played.frozen
        passed = tuple(packed(one).unpacked() for one in played.results.passed)
        assert passed == played.results.passed
        for answer in passed:
            check_sssa(answer.sssa)  # type: ignore[union-attr]
        results = RoundResults(passed, played.results.rejections)
        assert score_round(core, frozen, plan_round(core, frozen), results, FindingKeys()) == (played.outcome)
        groups += len(played.plan.groups)


def test_a_seed_gives_the_same_bytes_whatever_hashing_does() -> None:
    code = (
        "import json, sys; sys.path.insert(0, 'tests/laboratory'); import test_networks as t;"
        "print(t.digest(json.loads(sys.argv[1])))"
    )
    found = set()
    for seed in ("0", "1", "4711"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": "tests/core"}
        command = [sys.executable, "-c", code, json.dumps(crowd())]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert found != {digest(crowd() | {"seed": 2}) + "\n"}


def test_one_process_and_two_give_the_same() -> None:
    populations = [population_of(crowd(3) | {"seed": seed, "validators": 2}) for seed in range(3)]
    ended: list[int] = []
    one = play_all(populations, 1, Console(quiet=True))
    two = play_all(populations, 2, Console(quiet=True), lambda place, _: ended.append(place))
    assert one == two
    assert sorted(ended) == [0, 1, 2]
    assert one[0].spread is not None


def watched(rounds: int = 6, **group: Any) -> Iterator[tuple[Played, GroupPlan, Role, Latent, Deed]]:
    """Every dispatch of six miners of the group next to six honest ones."""
    miners = [{"name": "honest", "behaviour": "honest", "count": 6}, {"name": "watched", "count": 6} | group]
    network = Network(population_of({"miners": miners}))
    for _ in range(rounds):
        played = network.play()
        for plan in played.plan.groups:
            for hotkey, role in plan.members:
                if network.names[hotkey].startswith("watched"):
                    yield played, plan, role, played.latent[plan.task_id], played.deeds[plan.task_id, hotkey]


def is_invented(deed: Deed) -> bool:
    assert deed.answer is not None
    return any(one.target_pattern.startswith("made-up") for one in deed.answer.analysis.findings)


def test_a_liar_lies_in_its_role_or_where_its_keys_are_most_of_the_group() -> None:
    lies = Counter((role, is_invented(deed)) for _, _, role, _, deed in watched(behaviour="fabricator", role="auditor"))
    assert set(lies) == {("auditor", True), ("primary", False)}
    seen: defaultdict[str, list[bool]] = defaultdict(list)
    for _, plan, _, _, deed in watched(behaviour="fabricator", majority=True):
        seen[plan.task_id].append(is_invented(deed))
    assert all(set(lied) == {len(lied) >= 3} for lied in seen.values())
    assert {len(lied) >= 3 for lied in seen.values()} == {True, False}


@pytest.mark.parametrize("omits", ["place", "kind", "chance", "easy"])
def test_an_omission_takes_findings_from_a_shared_analysis_and_nothing_else(omits: str) -> None:
    kept = defaultdict(set)
    for sharing in ("", omits):
        for _, plan, _, latent, deed in watched(behaviour="sharer", skill=0.95, omits=sharing):
            assert deed.answer is not None
            assert deed.analyst == "watched"
            findings = {one.id for one in deed.answer.analysis.findings}
            kept[plan.task_id, sharing].add(frozenset(findings))
            if sharing == "easy":
                assert not findings & {f"f{place}" for place, kind in enumerate(latent.kinds) if kind.odds > 1}
    wholes = {task: next(iter(kept[task, ""])) for task, sharing in list(kept) if not sharing}
    parts = [(wholes[task], part) for (task, sharing), all_parts in kept.items() if sharing for part in all_parts]
    assert all(len(kept[task, ""]) == 1 for task in wholes)
    assert all(part <= whole for whole, part in parts)
    left_out = sum(len(whole - part) for whole, part in parts) / sum(len(whole) for whole, _ in parts)
    assert (0.4 if omits == "easy" else 0.05) < left_out < (0.8 if omits == "easy" else 0.25)


def test_sprayed_advisories_are_all_listed_and_a_voider_fails_no_gate() -> None:
    for _, _, _, _, deed in watched(rounds=1, behaviour="selective", sprays=4):
        assert deed.answer is not None
        lists = [one.cve_ids for one in deed.answer.analysis.findings if one.category == "dependency_cve"]
        assert {len(one) for one in lists} == {4}
        assert len({name for one in lists for name in one}) == 64
    for played, plan, _, latent, deed in watched(behaviour="selective", voids="ordinary", knows=1.0):
        assert deed.void is not latent.planted
        assert (plan.task_id in {one.task_id for one in played.results.alone}) or not deed.void
        assert not played.results.rejections


def test_a_curated_task_has_its_truth_and_a_part_time_miner_declares_in_six_rounds_of_ten() -> None:
    part_time = {"name": "part", "behaviour": "thinner", "share": 0.6}
    miners = [{"name": "honest", "behaviour": "honest", "count": 6}, part_time]
    network = Network(population_of({"miners": miners, "world": {"curated": 0.5, "advisories": 0.5}}))
    declared, provenances = 0, Counter[str]()
    for _ in range(10):
        played = network.play()
        declared += len(played.frozen.miners) == 7
        provenances.update(task.provenance for task in played.frozen.tasks if isinstance(task, AssessmentTask))
    assert declared == 6
    assert provenances["canary"] == 40
    assert 20 < provenances["curated"] < 60
    assert any(network.state.miner(hotkey).curated for hotkey in network.names)


def test_what_is_drawn_for_tasks_does_not_move_with_the_miners() -> None:
    few, many = crowd(), crowd()
    many["miners"] += [{"name": "more", "behaviour": "honest"}]
    one, other = Network(population_of(few)).play(), Network(population_of(many)).play()
    assert [task.secret for task in one.frozen.tasks] == [task.secret for task in other.frozen.tasks]
    assert one.frozen.seed == other.frozen.seed


def test_skill_pays_and_emptiness_does_not() -> None:
    document = {
        "rounds": 30,
        "miners": [
            {"name": "honest", "behaviour": "honest", "count": 8, "skill": [0.3, 0.9]},
            {"name": "empty", "behaviour": "constant"},
            {"name": "inventor", "behaviour": "inventor", "skill": 0.9},
        ],
    }
    report = report_of(population_of(document), [play(population_of(document))])
    rows = {row.group: row for row in report.rows}
    assert report.correlation[-1][1].mean > 0.7
    assert rows["empty"].each is not None
    assert rows["empty"].each.mean < 0.05
    assert rows["empty"].work is not None
    assert rows["empty"].work.mean == 0
    assert rows["inventor"].each is not None
    assert rows["inventor"].each.mean < 0.4


A = {"name": "a", "behaviour": "honest"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "miners": ({}, "missing required field `miners`"),
    "behaviour": ({"miners": [{"name": "a"}]}, "`behaviour` - at `$.miners[0]`; add it"),
    "unknown": ({"miners": [A | {"skil": 1}]}, "`skil` - at `$.miners[0]`; write one of name, behaviour"),
    "kind": ({"miners": [A | {"behaviour": "bad"}]}, "`$.miners[0].behaviour`; behaviours are honest, lazy"),
    "range": ({"miners": [A | {"fails": 1.5}]}, "<= 1.0 - at `$.miners[0].fails`"),
    "skill": ({"miners": [A | {"skill": [0.9, 0.2]}]}, "`miners[0].skill`: [0.9, 0.2] - write two numbers"),
    "victim": (
        {"miners": [A | {"behaviour": "framer", "of": "b-1"}]},
        "`miners[0].of`: no miner is named b-1 - write a-1",
    ),
    "twice": ({"miners": [A, A]}, "two groups are named a - rename one"),
    "many": ({"miners": [A | {"name": f"a{n}", "count": 1024} for n in range(2)]}, "more than 1024 - lower `count`"),
    "stock": ({"miners": [A | {"stock": True}]}, "`miners[0].tool`: a stock tool has a name - write it"),
    "never": ({"miners": [A | {"arrives": 3, "leaves": 3}]}, "`miners[0].leaves`: 3 is not after `arrives` - raise it"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_population_names_the_field_and_the_fix(case: str) -> None:
    document, words = WRONG[case]
    with pytest.raises(PopulationError) as told:
        population_of(document)
    assert words in str(told.value)


def test_a_bad_file_names_itself(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("rounds = = 3")
    with pytest.raises(PopulationError, match=r"bad.toml: no TOML: .*line 1.*; correct that line"):
        read_population(bad)
    bad.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(PopulationError, match="more than 1 MiB"):
        read_population(bad)
    with pytest.raises(PopulationError, match="No such file"):
        read_population(tmp_path / "none.toml")


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, "simulate", *arguments], capture_output=True, text=True, check=False, timeout=300)


def test_the_command_prints_a_table_a_document_and_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ("run", str(EXAMPLE), "--rounds", "4", "--seeds", "2", "--jobs", "2")
    told, shown = called(*words, "--json", "--html", str(page)), called(*words)
    assert (told.returncode, told.stderr, shown.returncode) == (0, "", 0)
    document = json.loads(told.stdout)
    assert [row["group"] for row in document["groups"]][:2] == ["honest", "sharing"]
    assert document["seeds"] == [1, 2]
    assert "sharing" in shown.stdout
    text = page.read_text()
    assert text.count("<svg ") == 2
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "<script" not in text
    assert called(*words, "--json", "--jobs", "1").stdout == told.stdout
    missing = called("run", str(tmp_path / "none.toml"))
    assert missing.returncode == 2
    assert "none.toml" in missing.stderr


def test_the_page_escapes_its_texts() -> None:
    population = population_of({"rounds": 1, "miners": [{"name": "a", "behaviour": "honest"}]})
    page = html_page(report_of(population, [play(population)]), "<b>&'\"")
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page


@given(st.lists(st.integers(0, 5), min_size=2, max_size=12))
@settings(max_examples=50)
def test_ranks_are_averaged_and_correlation_is_bounded(values: list[int]) -> None:
    numbers = [float(one) for one in values]
    assert sum(ranks(numbers)) == pytest.approx(len(values) * (len(values) - 1) / 2)
    assert rank_correlation(numbers, numbers) == pytest.approx(1.0 if len(set(values)) > 1 else 0.0)
    assert rank_correlation(numbers, [-one for one in numbers]) == pytest.approx(-1.0 if len(set(values)) > 1 else 0.0)
