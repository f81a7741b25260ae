"""Hypothesis strategies for the core's values."""

from hypothesis import strategies as st

from sssa.protocol.sssa import (
    Analysis,
    Dependency,
    Evidence,
    Finding,
    Policy,
    Rule,
    Signature,
    Skill,
    Sssa,
)
from sssa.scoring import Candidate, Member, claims_of

HEX = "ab" * 32
paths = st.sampled_from(["a.py", "src/b.py#L3", "s1::src/b.py#L3-L3", "docs/ü.md", "x|y.py#L1-L2"])
categories = st.sampled_from(["prompt_injection", "dependency_cve", "tool_poisoning", "other"])
severities = st.sampled_from(["low", "medium", "high", "critical"])
cves = st.lists(st.sampled_from(["CVE-2023-32681", "cve-2023-32681", "CVE-2020-14343"]), max_size=2).map(tuple)
findings = st.builds(
    Finding,
    id=st.just("f"),
    category=categories,
    severity=severities,
    description=st.just("d"),
    evidence_ref=paths,
    cve_ids=cves,
    target_pattern=st.sampled_from(["getfile", "requests", "pkg:pypi/Requests@2.0", "50%|z", " getfile\t"]),
)
dependencies = st.builds(
    Dependency,
    package=st.sampled_from(["requests", "Zope.Interface", "zope_interface"]),
    version=st.sampled_from(["1.0", "2.0"]),
    cves=cves,
)
rules = st.builds(Rule, resource=st.sampled_from(["fs", "net"]), action=st.just("deny"), pattern=st.sampled_from("abc"))
units = st.floats(0, 1)


def _tuples(values: st.SearchStrategy[object], most: int) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=most).map(tuple)


sssas = st.builds(
    Sssa,
    schema_version=st.just("1.0"),
    skill=st.just(Skill("executable_python", HEX, HEX)),  # type: ignore[arg-type]
    analysis=st.builds(
        Analysis,
        verdict=st.sampled_from(["ALLOW", "BLOCK", "REVIEW"]),
        risk_score=units,
        findings=_tuples(findings, 5),
        capabilities=_tuples(st.sampled_from(["network", "exec", "file_io"]), 3),
        dependencies=_tuples(dependencies, 3),
    ),
    evidence=st.just(Evidence({}, None, None, None)),
    policy=st.builds(Policy, rules=_tuples(rules, 3)),
    signature=st.just(Signature("5x", "sr25519", "0x" + "0" * 128)),
)


@st.composite
def groups(draw: st.DrawFn, smallest: int = 1, largest: int = 5) -> list[Member]:
    """Members with valid SSSAs: up to three primaries, then auditors."""
    many = draw(st.integers(smallest, largest))
    return [Member(f"hk{i}", "primary" if i < 3 else "auditor", claims_of(draw(sssas))) for i in range(many)]


candidates = st.builds(
    Candidate,
    hotkey=st.text("abcdefgh", min_size=1, max_size=4),
    reputation=st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.5, 0.9]),
    collusion_flags=st.sampled_from([0, 0, 0, 2, 3]),
    in_flight=st.integers(0, 2),
    max_concurrent=st.integers(1, 4),
    dispatches=st.just(10),
    failures=st.sampled_from([0, 0, 5, 6]),
    recent_roles=st.lists(st.sampled_from(["auditor", "auditor", "primary"]), max_size=5).map(tuple),
)
pools = st.lists(candidates, max_size=12, unique_by=lambda c: c.hotkey)
