"""Miners that do little: badly, or nothing."""

import dataclasses
from collections.abc import Mapping
from typing import Final, get_args

import msgspec

from miner.analysis.result import Analysis
from miner.assessment import Assessment, Response, encode
from miner.draws import draw, invented_places
from validator.protocol.sssa import Finding, Severity

MISSED: Final = 2 / 3
_WRONG_SEVERITY: Final = 0.25
_FALSE_ALARM: Final = 0.5
_RISK_OFF: Final = 0.3  # at most half of it either way
_SEVERITIES: Final = get_args(Severity)

NOTHING: Final = Analysis("ALLOW", 0.0, (), (), (), (), None, ())


class Sloppy:
    """Misses about two thirds of what there is, gets severities wrong, raises false alarms, has no policy."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return a careless answer."""
        analysis = await assessment.analysis()
        hotkey, task_id = assessment.kit.signer.hotkey, assessment.dispatch.task_id
        return encode(await assessment.answer(careless(analysis, assessment.files, hotkey, task_id)))


class Lazy:
    """ALLOW, risk 0 and nothing else; of the bundle it runs nothing."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return the answer that costs nothing."""
        return encode(await assessment.answer(NOTHING, run=False))


def careless(analysis: Analysis, files: Mapping[str, bytes], hotkey: str, task_id: str) -> Analysis:
    """Return what a careless miner makes of `analysis`; follows from the hotkey and the task.

    Args:
        analysis: the reference.
        files: the bundle, for places where a false alarm can be raised.
        hotkey: the miner's.
        task_id: the task's.
    """
    kept = [f for f in analysis.findings if draw(hotkey, task_id, "finding", f.id) >= MISSED]
    alarms = _false_alarms(files, hotkey, task_id)
    risk = analysis.risk_score + _RISK_OFF * (draw(hotkey, task_id, "risk") - 0.5)
    return dataclasses.replace(
        analysis,
        verdict="REVIEW" if alarms else analysis.verdict,
        risk_score=round(min(1.0, max(0.0, risk)), 4),
        findings=(*(_mistaken(finding, hotkey, task_id) for finding in kept), *alarms),
        capabilities=tuple(c for c in analysis.capabilities if draw(hotkey, task_id, "capability", c) >= MISSED),
        dependencies=tuple(d for d in analysis.dependencies if draw(hotkey, task_id, "package", d.package) >= MISSED),
        rules=(),
    )


def _false_alarms(files: Mapping[str, bytes], hotkey: str, task_id: str) -> tuple[Finding, ...]:
    if draw(hotkey, task_id, "alarm") >= _FALSE_ALARM:
        return ()
    places = invented_places(files, 1, hotkey, task_id)
    return tuple(Finding("x1", "other", "medium", "This looks unusual.", place, (), place) for place in places)


def _mistaken(finding: Finding, hotkey: str, task_id: str) -> Finding:
    if draw(hotkey, task_id, "severity", finding.id) >= _WRONG_SEVERITY:
        return finding
    at = _SEVERITIES.index(finding.severity)
    return msgspec.structs.replace(finding, severity=_SEVERITIES[(at + 1) % len(_SEVERITIES)])
