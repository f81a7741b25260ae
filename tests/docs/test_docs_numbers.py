"""The numbers on the pages are the program's."""

import re

import msgspec
import pytest
from builders import V1
from doc_pages import DOCS, SPEC, table

from sssa.cli.score import ConsensusCase, EmissionCase, score_consensus_case, score_emission_case
from sssa.protocol.arithmetic import mean
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Components
from sssa.protocol.skill_types import ASSESSED_TYPES, BASE_TRACES, SkillType, is_runtime, trace_names
from sssa.protocol.sssa import Finding
from sssa.scoring import CURRENT, event_of_failure, finding_key, version


def close(shown: str, value: float) -> bool:
    """Return whether `shown` is `value`, to the digits shown."""
    digits = len(shown.partition(".")[2])
    return float(shown) == pytest.approx(value, abs=0.5000001 * 10**-digits if digits >= 6 else 1e-9)


def numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


@pytest.fixture(scope="module")
def group() -> ConsensusCase:
    return msgspec.json.decode((DOCS / "examples" / "consensus.json").read_bytes(), type=ConsensusCase)


@pytest.fixture(scope="module")
def facts() -> EmissionCase:
    return msgspec.json.decode((DOCS / "examples" / "emission.json").read_bytes(), type=EmissionCase)


def test_the_table_of_types() -> None:
    rows = table(SPEC, "types")
    assert [row["skill_type"] for row in rows] == [str(kind) for kind in ASSESSED_TYPES]
    for row in rows:
        kind = SkillType(row["skill_type"])
        rules = version(CURRENT).rules.types[kind]
        assert float(row["base weight"]) == rules.base_weight
        assert row["runtime"] == ("yes" if is_runtime(kind) else "no")
        assert numbers(row["primary window (s)"]) == rules.windows.of("primary")
        assert numbers(row["auditor window (s)"]) == rules.windows.of("auditor")
        assert float(row["baseline"]) == rules.baseline
        assert row["extra trace"] == ", ".join(trace_names(kind)[len(BASE_TRACES) :] or "–")
        shown = [part.split() for part in row["axis weights"].split(", ")]
        assert tuple((name, float(weight)) for name, weight in shown) == rules.axes


def test_the_table_of_components() -> None:
    rows = table(SPEC, "components")
    assert tuple((row["component"], float(row["weight"])) for row in rows) == V1.rules.consensus.components


def test_the_table_of_evidence_checks() -> None:
    rows = table(SPEC, "epsilon")
    assert tuple((row["check"], float(row["weight"])) for row in rows) == V1.rules.quality.evidence


def test_the_table_of_gates_has_every_code_and_its_reputation_event() -> None:
    for row in table(SPEC, "gates"):
        codes = set(row["codes"].split(", ")) - {"–"}
        assert codes == {str(reason) for reason in Reason if reason.gate == int(row["#"])}
        assert {event_of_failure(V1, Reason(code)) or "–" for code in codes} <= {row["reputation event"]}


def test_the_examples_of_finding_keys() -> None:
    pattern = r'^(\w+), (\w+), "([^"]*)", \[(?:"([^"]*)")?\], "([^"]*)"\n.*\n  = ([0-9a-f]{64})$'
    found = re.findall(pattern, SPEC.read_text(), re.MULTILINE)
    assert len(found) == 2
    for category, severity, ref, cve, target, key in found:
        document = {
            "id": "",
            "category": category,
            "severity": severity,
            "description": "",
            "evidence_ref": ref,
            "cve_ids": [cve] if cve else [],
            "target_pattern": target,
        }
        assert finding_key(msgspec.convert(document, Finding)) == key


def test_the_example_of_consensus(group: ConsensusCase) -> None:
    members = {member["hotkey"]: member for member in score_consensus_case(group)["members"]}
    rows = table(SPEC, "consensus example")
    assert {row["member"] for row in rows} == set(members)
    for row in rows:
        for column in (*Components.__struct_fields__, "consensus"):
            assert close(row[column], members[row["member"]][column]), (row["member"], column)


def test_the_example_of_agreements(group: ConsensusCase) -> None:
    members = {member["hotkey"]: member for member in score_consensus_case(group)["members"]}
    shown = re.search(r"by\s+([0-9.]+)\s+<!-- auditor agreement -->", SPEC.read_text())
    assert shown
    with_auditors = [m["agreement_with_auditors"] for m in members.values() if m["role"] == "auditor"]
    both = mean(with_auditors)  # of the two directions
    assert close(shown[1], both)
    assert both < 0.60


def test_the_group_of_the_example_is_as_told(group: ConsensusCase) -> None:
    result = score_consensus_case(group)
    assert (result["n_valid"], result["threshold"]) == (4, 3)
    found = result["group"]
    assert (len(found["findings"]), found["verdict"], found["capabilities"]) == (2, "BLOCK", ["network"])
    assert (len(found["dependencies"]), len(found["cves"]), len(found["rules"])) == (2, 1, 1)
    assert found["risk_mean"] == pytest.approx(0.7, abs=1e-12)


def test_the_example_of_emission(group: ConsensusCase, facts: EmissionCase) -> None:
    result = score_emission_case(facts)
    values = {**result, **result["axes"]}
    rows = table(SPEC, "emission example")
    assert {row["number"] for row in rows} == set(values) - {"axes"}
    for row in rows:
        assert close(row["value"], values[row["number"]]), row
    members = {member["hotkey"]: member for member in score_consensus_case(group)["members"]}
    assert facts.consensus == pytest.approx(members["primary-2"]["consensus"], abs=1e-12)
