"""Advisories that name a fault: few of them, mostly the fault's, or about its package (SPEC 17, D-38)."""

import pytest

from sssa.protocol.findings import match_faults
from sssa.protocol.sssa import Finding
from sssa.protocol.task import KnownFinding

OURS = tuple(f"CVE-2020-000{n}" for n in range(3))
OTHERS = tuple(f"CVE-2021-000{n}" for n in range(5))


@pytest.mark.parametrize(
    ("ids", "target", "named"),
    [
        ((OURS[0], *OTHERS[:3]), "urllib3", True),
        ((OURS[0], *OTHERS[:4]), "urllib3", False),
        ((OURS[0], *OTHERS[:4]), "pkg:pypi/Requests@2.0", True),
        ((*OURS, *OTHERS[:2]), "urllib3", True),
        ((*OURS, *OTHERS[:3]), "urllib3", False),
        (OTHERS[:1], "requests", False),
    ],
)
def test_a_finding_names_a_fault_by_its_advisories(ids: tuple[str, ...], target: str, named: bool) -> None:
    fault = KnownFinding("dependency_cve", "high", "a.txt#L1", OURS, "requests", "pin/python")
    finding = Finding("f", "dependency_cve", "high", "d", "b.txt", ids, target)
    assert (match_faults([fault], [finding]).by == (0,)) is named
