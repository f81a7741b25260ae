"""Miners that do little: badly, or nothing."""

import dataclasses
from typing import Final, get_args

import msgspec

from validator.devnet.analysis.result import Analysis
from validator.devnet.miner.assessment import Assessment, Response, encode
from validator.devnet.miner.draws import draw
from validator.protocol.sssa import Finding, Severity

MISSED: Final = 2 / 3
_WRONG_SEVERITY: Final = 0.25
_WRONG_VERDICT: Final = 1 / 3
_RISK_OFF: Final = 0.3  # at most half of it either way
_SEVERITIES: Final = get_args(Severity)

NOTHING: Final = Analysis("ALLOW", 0.0, (), (), (), (), None, ())


class Sloppy:
    """Misses about two thirds of the findings, gets severities and verdicts wrong now and then, has no policy."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return a careless answer."""
        analysis = await assessment.analysis()
        return encode(
            await assessment.answer(careless(analysis, assessment.kit.signer.hotkey, assessment.dispatch.task_id))
        )


class Lazy:
    """ALLOW, risk 0 and nothing else; of the bundle it runs nothing."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return the answer that costs nothing."""
        return encode(await assessment.answer(NOTHING, run=False))


def careless(analysis: Analysis, hotkey: str, task_id: str) -> Analysis:
    """Return what a careless miner makes of `analysis`; follows from the hotkey and the task."""
    kept = [f for f in analysis.findings if draw(hotkey, task_id, "kept", f.id) >= MISSED]
    risk = analysis.risk_score + _RISK_OFF * (draw(hotkey, task_id, "risk") - 0.5)
    return dataclasses.replace(
        analysis,
        verdict="REVIEW" if draw(hotkey, task_id, "verdict") < _WRONG_VERDICT else analysis.verdict,
        risk_score=round(min(1.0, max(0.0, risk)), 4),
        findings=tuple(_mistaken(finding, hotkey, task_id) for finding in kept),
        rules=(),
    )


def _mistaken(finding: Finding, hotkey: str, task_id: str) -> Finding:
    if draw(hotkey, task_id, "severity", finding.id) >= _WRONG_SEVERITY:
        return finding
    at = _SEVERITIES.index(finding.severity)
    return msgspec.structs.replace(finding, severity=_SEVERITIES[(at + 1) % len(_SEVERITIES)])
