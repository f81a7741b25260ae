import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.analysis import rules_for
from miner.scanners.prose import host_of
from miner.scanners.scanner import Use, new_finding
from sssa.protocol.findings import SEVERITIES, risk_of, verdict_of
from sssa.protocol.sssa import Category, Finding, Severity

CATEGORIES: tuple[Category, ...] = ("other", "dependency_cve", "tool_poisoning", "canary_match", "transitive_risk")
FINDINGS = st.lists(
    st.builds(
        lambda c, s: new_finding(c, s, "a#L1-L1", "", "a"), st.sampled_from(CATEGORIES), st.sampled_from(SEVERITIES)
    ),
    max_size=60,
)


def some(severity: Severity, count: int = 1, category: Category = "other") -> list[Finding]:
    return [new_finding(category, severity, "a#L1-L1", "", "a")] * count


@pytest.mark.parametrize(
    ("findings", "risk", "verdict"),
    [
        ([], 0.0, "ALLOW"),
        (some("low"), 0.02, "ALLOW"),
        (some("low", 500), 0.1, "ALLOW"),
        (some("medium"), 0.18, "ALLOW"),
        (some("medium", 2), 0.288, "ALLOW"),
        (some("medium", 3), 0.3528, "REVIEW"),
        (some("medium", 500), 0.45, "REVIEW"),
        (some("high"), 0.5, "REVIEW"),
        (some("high", 2) + some("medium"), 0.7267, "BLOCK"),
        (some("critical"), 0.85, "BLOCK"),
        (some("critical", 1, "dependency_cve"), 0.6288, "REVIEW"),
        (some("critical", 9, "canary_match"), 0.0, "ALLOW"),
        (some("critical", 9, "transitive_risk"), 0.0, "ALLOW"),
    ],
)
def test_the_formula(findings: list[Finding], risk: float, verdict: str) -> None:
    assert risk_of(findings) == pytest.approx(risk, abs=1e-4)
    assert verdict_of(risk_of(findings)) == verdict


@given(findings=FINDINGS, more=FINDINGS)
def test_risk_stays_in_its_range_and_never_falls(findings: list[Finding], more: list[Finding]) -> None:
    assert 0 <= risk_of(findings) <= risk_of([*findings, *more]) <= 1
    assert risk_of(findings) == risk_of(reversed(findings))


def rules(uses: list[Use], findings: list[Finding] | None = None) -> set[tuple[str, str, str]]:
    return {(rule.resource, rule.action, rule.pattern) for rule in rules_for(uses, findings or [])}


def test_everything_is_denied_that_is_not_used() -> None:
    resources = ("network", "process", "file_read", "file_write", "environment", "code")
    assert rules([]) == {(resource, "deny", "*") for resource in resources}


def test_a_use_without_a_pattern_is_left_to_review() -> None:
    some_rules = rules([Use("network", "a#L1-L1"), Use("network", "a#L2-L2", "api.example.com")])
    assert {r for r in some_rules if r[0] == "network"} == {
        ("network", "allow", "api.example.com"),
        ("network", "review", "*"),
    }
    assert ("process", "review", "*") in rules([Use("subprocess", "a", "x" * 1_000)])


def test_patterns_of_severe_findings_are_denied() -> None:
    uses = [
        Use("network", "a#L1-L1", "c.invalid"),
        Use("subprocess", "a#L2-L2", "sh"),
        Use("subprocess", "a#L3-L3", "ls"),
    ]
    by_url = new_finding("other", "high", "b#L1-L1", "", "https://c.invalid/x")
    by_place = new_finding("other", "critical", "a#L2-L2", "", "a")
    mild = new_finding("other", "medium", "a#L3-L3", "", "a")
    denied = rules(uses, [by_url, by_place, mild])
    assert {("network", "deny", "c.invalid"), ("process", "deny", "sh"), ("process", "allow", "ls")} <= denied


def test_one_bad_use_condemns_a_pattern() -> None:
    uses = [Use("subprocess", "a#L1-L1", "sh"), Use("subprocess", "a#L2-L2", "sh")]
    denied = rules(uses, [new_finding("other", "high", "a#L2-L2", "", "a")])
    assert {r for r in denied if r[0] == "process"} == {("process", "deny", "sh"), ("process", "deny", "*")}


def test_variables_are_denied_where_secrets_leak() -> None:
    leak = new_finding("secrets_exposure", "critical", "b#L9-L9", "", "https://c.invalid")
    assert ("environment", "deny", "TOKEN") in rules([Use("env_read", "a#L1-L1", "TOKEN")], [leak])


@given(st.text())
def test_any_text_has_a_host_or_none(text: str) -> None:
    assert isinstance(host_of(text), str)
    assert isinstance(host_of(f"https://{text}"), str)
