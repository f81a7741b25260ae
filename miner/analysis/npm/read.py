"""The npm packages of a bundle: what their files declare, and the advisories that are known for what they pin."""

from collections.abc import Iterable
from typing import Final

from miner.advisories import advisories_for
from miner.analysis.bounds import MAX_PACKAGES, Budget
from miner.analysis.npm.locks import READERS, pins_of
from miner.analysis.npm.package_json import FILE_NAME, Pin, read_package
from miner.analysis.pinned import pinned_finding
from miner.analysis.result import BEYOND, Report, found, merged
from miner.analysis.source import SourceFile
from miner.npm_advisories import TABLE
from validator.protocol.sssa import Dependency, Finding

_NAMES: Final = frozenset({FILE_NAME, *READERS})


def read_packages(sources: Iterable[SourceFile], budget: Budget) -> Report:
    """Return what the package.json and the lock files of a bundle hold, those nearest its root first."""
    files = sorted((one for one in sources if one.name in _NAMES), key=lambda s: (s.path.count("/"), s.path))
    reports = [_read(source, budget) for source in files[:MAX_PACKAGES]]
    beyond = [found("other", "medium", one.place(), BEYOND, one.path) for one in files[MAX_PACKAGES:][:1]]
    return merged([*reports, Report(findings=tuple(beyond))])


def _read(source: SourceFile, budget: Budget) -> Report:
    if source.name == FILE_NAME:
        package = read_package(source, budget)
        return merged([package.report, _known(source, package.pins)])
    pins = pins_of(source)
    if pins is None:
        text = "The lock file cannot be read, or is larger than what is read."
        return Report(findings=(found("other", "low", source.place(), text, source.path),))
    return _known(source, pins)


def _known(source: SourceFile, pins: Iterable[Pin]) -> Report:
    """Return the pins as dependencies, and a finding for each that has advisories."""
    findings: list[Finding] = []
    dependencies = []
    for pin in pins:
        advisories = advisories_for(pin.package, pin.version, TABLE)
        dependencies.append(Dependency(pin.package, pin.version, tuple(advisory.cve for advisory in advisories)))
        target = f"pkg:npm/{pin.package.replace('@', '%40', 1)}@{pin.version}"
        if advisories:
            findings.append(pinned_finding(source.place(pin.line), f"{pin.package} {pin.version}", target, advisories))
    return Report(findings=tuple(findings), dependencies=tuple(dependencies))
