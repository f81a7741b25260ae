"""Version 2.0.0's functions next to the specification's sentences, on every public vector and on drawn cases.

The drawn cases are where a careless reading shows: ties, empty sets, absent fields, bounds, and order.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_tallies import (
    TYPES,
    plain_selection,
    plain_tally,
    plain_turns,
    plain_weights,
)

from sssa.cli import tally_cases as cases

Json = dict[str, Any]
VECTORS = Path(__file__).parent.parent / "vectors"
FUNCTIONS: dict[str, tuple[Callable[[Json], Json], Any, Callable[[Any], Any]]] = {
    "turns_20": (plain_turns, cases.TurnsCase, cases.turns_case),
    "selection_20": (plain_selection, cases.TurnSelectionCase, cases.select_by_turn_case),
    "tally_20": (plain_tally, cases.TallyCase, cases.tally_case),
    "weights_20": (plain_weights, cases.TallyWeightsCase, cases.pay_tallies_case),
}


def agree(got: Any, expected: Any, path: str = "$") -> None:
    """Numbers to 1e-9, everything else exactly; lists in the order given."""
    if isinstance(expected, dict):
        assert set(got) == set(expected), path
        for key in expected:
            agree(got[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, list | tuple):
        assert len(got) == len(expected), path
        for i, (one, other) in enumerate(zip(got, expected, strict=True)):
            agree(one, other, f"{path}[{i}]")
    elif isinstance(expected, float | int) and not isinstance(expected, bool):
        assert abs(got - expected) <= 1e-9 * max(1.0, abs(expected)), path
    else:
        assert got == expected, path


def compute(folder: str, case: Json) -> Any:
    _, form, function = FUNCTIONS[folder]
    return json.loads(msgspec.json.encode(function(msgspec.convert({"scoring_version": "2.0.0"} | case, form))))


def check(folder: str, case: Json) -> None:
    agree(compute(folder, case), FUNCTIONS[folder][0](case))


@pytest.mark.parametrize("folder", FUNCTIONS)
def test_the_sentences_and_the_program_agree_on_the_vectors(folder: str) -> None:
    for path in sorted((VECTORS / folder).glob("*.json")):
        document = json.loads(path.read_text())
        agree(FUNCTIONS[folder][0](document["input"]), document["expected"], path.name)
        check(folder, {key: value for key, value in document["input"].items() if key != "scoring_version"})


HOTKEYS = [f"{letter}{n}" for n in range(4) for letter in "aBz"]
hotkeys = st.sampled_from(HOTKEYS)
few = st.integers(0, 4)
last_turns = st.builds(
    lambda answered, missed, dispatched, entered, uncounted, rest: {
        **rest,
        "asked": answered + missed,
        "answered": answered,
        "dispatched": dispatched,
        "entered": min(entered, dispatched),
        "uncounted": min(uncounted, dispatched - min(entered, dispatched)),
    },
    st.integers(0, 50),
    few,
    few,
    few,
    few,
    st.fixed_dictionaries({"turn": few, "stayed": st.booleans(), "absent": st.sampled_from([0, 10, 11])}),
)


@given(
    st.fixed_dictionaries(
        {
            "previous": st.dictionaries(hotkeys, last_turns),
            "candidates": st.lists(hotkeys, unique=True),
        }
    )
)
def test_turns(case: Json) -> None:
    check("turns_20", case)


candidates: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {
        "hotkey": hotkeys,
        "reputation": st.sampled_from([0.19, 0.2, 0.5]),
        "collusion_flags": st.sampled_from([0, 0, 0, 2, 3]),
        "in_flight": st.sampled_from([0, 0, 1, 2]),
        "max_concurrent": st.integers(1, 3),
        "dispatches": st.sampled_from([4, 5, 6]),
        "failures": st.sampled_from([0, 3, 4]),
        "turn": st.integers(0, 3),
        "total": st.integers(3, 4),
    }
)
pools = st.lists(candidates, unique_by=lambda one: str(one["hotkey"]))


@given(
    st.fixed_dictionaries(
        {
            "candidates": pools,
            "round_id": st.just("7"),
            "seed": st.just("ab" * 32),
            "skill_type": st.just("declarative"),
            "task_id": st.sampled_from(["t1", "t2"]),
        }
    )
)
def test_groups(case: Json) -> None:
    check("selection_20", case)


CVES = ["CVE-2019-11324", "cve-2019-11324", "CVE-2020-14343", *(f"CVE-2021-000{n}" for n in range(4))]
places = st.sampled_from(["a.md", "a.md#L1", "a.md#L4-L6", "s1::./a.md#L9", "a.md#L2-L21", "a.md#L2-L22", "b.md#L5"])
categories = st.sampled_from(["prompt_injection", "dependency_cve", "other"])
fault = {
    "category": categories,
    "severity": st.sampled_from(["low", "high"]),
    "evidence_ref": places,
    "cve_ids": st.lists(st.sampled_from(CVES), max_size=6),
    "target_pattern": st.sampled_from(["requests", "x|y"]),
}
finding = st.fixed_dictionaries(
    fault
    | {
        "id": st.just("f"),
        "description": st.just("d"),
        "category": st.sampled_from(["prompt_injection", "dependency_cve", "other", "canary_match"]),
    }
)
rule = st.fixed_dictionaries(
    {"resource": st.sampled_from(["fs", "net"]), "action": st.just("deny"), "pattern": st.sampled_from("ab")}
)
verdicts = st.sampled_from(["ALLOW", "REVIEW", "BLOCK"])
risks = st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0])
sssas = st.builds(
    lambda analysis, rules: {
        "schema_version": "1.0",
        "skill": {"skill_type": "declarative", "bundle_sha256": "ab" * 32, "nonce": "cd" * 32},
        "analysis": analysis,
        "evidence": {"trace_hashes": {}, "manifest_sha256": None, "sandbox_manifest": None, "llm_evidence": None},
        "policy": {"rules": rules},
        "signature": {"hotkey": "x", "crypto": "sr25519", "value": "0x" + "00" * 64},
    },
    st.fixed_dictionaries(
        {
            "verdict": verdicts,
            "risk_score": risks,
            "findings": st.lists(finding, max_size=5),
            "capabilities": st.lists(st.sampled_from(["network", "exec", "file_io"]), max_size=3),
            "dependencies": st.lists(
                st.fixed_dictionaries(
                    {
                        "package": st.sampled_from(["PyYAML", "zope.interface", "Zope_interface"]),
                        "version": st.sampled_from(["1.0", "2.0"]),
                        "cves": st.just([]),
                    }
                ),
                max_size=3,
            ),
        }
    ),
    st.lists(rule, max_size=3),
)
records = st.sampled_from([(0, 0.0), (5, 0.5), (5, 4.5), (40, 32.0), (100, 10.0), (100, 90.0)]).map(
    lambda one: {"answers": one[0], "score": one[1]}
)
members = st.lists(
    st.builds(
        lambda hotkey, sssa, early, epsilon, record, curated: {
            "hotkey": hotkey,
            "role": "primary",
            "sssa": sssa,
            "early": early,
            "epsilon": None if sssa is None else epsilon,
            "record": record,
            "curated": curated,
        },
        hotkeys,
        st.none() | sssas | sssas | sssas,
        st.sampled_from([False, False, False, True]),
        st.sampled_from([0.05, 0.1, 0.5, 1.0]),
        records,
        records,
    ),
    unique_by=lambda one: str(one["hotkey"]),
    max_size=5,
)
known = st.fixed_dictionaries(fault | {"kind": st.sampled_from(["secret/k1", "injection/k2"])})
truths = st.fixed_dictionaries(
    {
        "verdict": verdicts,
        "policy_rules": st.none() | st.lists(rule, max_size=2),
        "injections": st.none(),
        "reference_risk": st.none() | risks,
        "shell_commands": st.none(),
        "manifest_sha256": st.none(),
        "poisoned_tools": st.none(),
        "transitive_risk": st.none() | risks,
    },
    optional={"findings": st.none() | st.lists(known, max_size=5)},
)


@given(
    st.fixed_dictionaries(
        {
            "task_id": st.just("t1"),
            "truth": st.none() | truths | truths,
            "planted": st.booleans(),
            "first": st.booleans(),
            "members": members,
        }
    )
)
def test_tallies(case: Json) -> None:
    check("tally_20", case)


share = st.none() | st.sampled_from([(0, 0), (0, 3), (2, 3), (3, 3)]).map(list)
tally = st.builds(
    lambda ok, findings, verdict, reference, risk, shares, epsilon: {
        "ok": ok,
        "hits": None if findings is None else findings[0] if ok else 0,
        "said": None if findings is None else findings[1] if ok else 0,
        "known": None if findings is None else findings[2],
        "verdict": verdict if ok else None,
        "reference": reference,
        "risk": None if risk is None else risk[0] if ok else 0.0,
        "risk_null": None if risk is None else risk[1],
        "capabilities": shares[0],
        "dependencies": shares[1],
        "rules": shares[2],
        "epsilon": epsilon if ok else None,
    },
    st.sampled_from([True, True, True, False]),
    st.none() | st.sampled_from([(0, 0, 0), (0, 2, 0), (0, 0, 8), (4, 5, 8), (8, 8, 8)]),
    verdicts,
    st.none() | verdicts,
    st.none() | st.sampled_from([(0.9, 0.7), (1.0, 0.5), (0.2, 1.0)]),
    st.tuples(share, share, share),
    st.sampled_from([0.1, 0.5, 1.0]),
)
standing_of_type = st.fixed_dictionaries(
    {
        "declared": st.sampled_from([True, True, True, False]),
        "reputation": st.sampled_from([0.5, 0.5, 0.2, 0.19]),
        "dispatches": st.sampled_from([4, 5]),
        "failures": st.sampled_from([0, 0, 3]),
        "proven": st.sampled_from([True, True, True, False]),
    },
    optional={"execution_fails": st.sampled_from([0, 3])},
)
numbers = st.sampled_from([0.0, 0.3, 0.9])


def mostly(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    every = [*TYPES, "workflow"]
    good = {"declared": True, "reputation": 0.5, "dispatches": 0, "failures": 0, "proven": True}
    return st.just({"collusion_flags": 2, "types": dict.fromkeys(every, good)}) | strategy


@given(
    st.fixed_dictionaries(
        {
            "epoch": st.sampled_from([0, 30, 31]),
            "rounds": st.sampled_from([0, 1, 29, 30, 31]),
            "windows": st.dictionaries(
                hotkeys,
                st.dictionaries(st.sampled_from(TYPES), st.lists(tally, max_size=3), max_size=3).flatmap(
                    lambda of: st.lists(numbers, max_size=25).map(lambda entries: of | {"workflow": entries})
                ),
                min_size=1,
                max_size=9,
            ),
            "before": st.dictionaries(
                hotkeys, st.dictionaries(st.sampled_from(TYPES), st.lists(numbers, max_size=25)), max_size=4
            ),
            "standing": st.fixed_dictionaries(
                {
                    hotkey: mostly(
                        st.fixed_dictionaries(
                            {"types": st.dictionaries(st.sampled_from([*TYPES, "workflow"]), standing_of_type)},
                            optional={"collusion_flags": st.integers(0, 3)},
                        )
                    )
                    for hotkey in HOTKEYS
                }
            ),
            "records": st.dictionaries(hotkeys, records),
            "curated": st.dictionaries(hotkeys, records),
            "presence": st.dictionaries(
                hotkeys,
                st.dictionaries(
                    st.sampled_from(TYPES),
                    st.sampled_from([(0, 0), (9, 3), (50, 50)]).map(lambda one: {"asked": one[0], "answered": one[1]}),
                ),
            ),
        }
    )
)
def test_weights(case: Json) -> None:
    check("weights_20", case)
