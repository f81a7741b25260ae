"""Miners that do the work: all of it, most of it, or all of it late."""

import dataclasses
from typing import Final

from miner.analysis.result import Analysis
from miner.assessment import Assessment, Response, encode
from miner.draws import draw

MISSED_BY_PARTIAL: Final = 0.25
LATENESS: Final = 0.8


class Thorough:
    """Reports everything it finds."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return the full answer."""
        return encode(await assessment.answer(await assessment.analysis()))


class Partial:
    """Overlooks about a quarter of findings and dependencies, always the same ones."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return an answer with gaps."""
        analysis = await assessment.analysis()
        return encode(await assessment.answer(with_gaps(analysis, assessment.kit.signer.hotkey)))


class Slow:
    """Thorough, but answers when most of its own window has passed."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return the full answer late."""
        body = encode(await assessment.answer(await assessment.analysis()))
        due = assessment.received + LATENESS * assessment.dispatch.deadline_s
        await assessment.clock.sleep(max(0.0, due - assessment.clock.monotonic()))
        return body


def with_gaps(analysis: Analysis, hotkey: str, share: float = MISSED_BY_PARTIAL) -> Analysis:
    """Return `analysis` without about `share` of its findings and dependencies; canaries are never overlooked."""
    return dataclasses.replace(
        analysis,
        findings=tuple(
            finding
            for finding in analysis.findings
            if finding.category == "canary_match"
            or draw(hotkey, finding.category, finding.evidence_ref, finding.target_pattern) >= share
        ),
        dependencies=tuple(d for d in analysis.dependencies if draw(hotkey, d.package, d.version) >= share),
    )
