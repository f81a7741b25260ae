"""Keys of findings: what makes one is done once a round (SPEC 3)."""

import pytest
from dear_groups import dear_group, settle

from sssa.protocol import findings as keys


def test_a_round_normalizes_each_finding_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task, attested = dear_group("package URLs: a scope and dashes", 32 * 1024)
    normalized: list[str] = []
    plain = keys.package_of

    def counted(target: str) -> str:
        normalized.append(target)
        return plain(target)

    monkeypatch.setattr(keys, "package_of", counted)
    settle(task, attested)
    assert sorted(normalized) == sorted(
        finding.target_pattern for sssa in attested.values() for finding in sssa.analysis.findings
    )
