"""Installed analysers, which look at bases before faults are planted in them.

An analyser is found by the entry point `validator.analysers`: a function of files and skill type that returns an
analysis. The validator ships none; the reference miner does. Its code is loaded and run here.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Final, NamedTuple, Protocol

from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Finding, Verdict
from sssa.protocol.text import printable
from taskmaker.planting.planting import Files
from taskmaker.seeding import Base
from validator.tasks.source import TaskError

ANALYSERS: Final = "validator.analysers"
_SHOWN: Final = 5  # findings of a base


class Analysis(Protocol):
    """An analyser's result for a bundle."""

    @property
    def verdict(self) -> Verdict:
        """Verdict on the bundle."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Everything that is wrong with it."""


class Analyser(NamedTuple):
    """An analyser and what it is called; `load` imports its function."""

    name: str
    load: Callable[[], Callable[[Files, SkillType], Analysis]]

    def look(self, files: Files, skill_type: SkillType) -> Analysis:
        """Return what it says of a bundle (TaskError: it cannot be loaded, or failed)."""
        try:
            return self.load()(files, skill_type)
        except Exception as error:  # noqa: BLE001 - somebody else's code, which may lack a tool
            message = printable(f"{type(error).__name__}: {error}", 300)
            raise TaskError(f"the analyser `{self.name}` failed: {message}") from None


def find_analyser() -> Analyser | None:
    """Return the analyser that is installed here, the first by name; None where there is none."""
    entries = sorted(entry_points(group=ANALYSERS), key=lambda one: one.name)
    return Analyser(entries[0].name, entries[0].load) if entries else None


def findings_before(base: Base, analyser: Analyser | None) -> str:
    """Return in one line what an analyser finds in a base before anything is planted, or that there is none."""
    if analyser is None:
        return f"no analyser looked at it before planting (none is installed as `{ANALYSERS}`)"
    try:
        findings = analyser.look(base.files, base.skill_type).findings
    except TaskError as error:
        return error.detail
    first = (f"{one.severity} {one.category} at {one.evidence_ref}" for one in findings[:_SHOWN])
    shown = "; ".join(printable(one, 200) for one in first)
    more = f"; and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
    return f"before planting {analyser.name} finds {f'{len(findings)}: {shown}{more}' if findings else 'nothing'}"
