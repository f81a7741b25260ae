"""Miners that collude by sharing made-up answers, derived from the task and a secret: cheats of the demo."""

from typing import Final

from miner.analysis import Analysis
from miner.assessment import Assessment, Response, encode
from miner.behaviours import answer_thoroughly, draw, invented_places, pick
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.sssa import Category, Finding, Rule, Severity, Verdict

_CATEGORIES: Final[tuple[Category, ...]] = ("secrets_exposure", "excessive_capability", "transitive_risk", "other")
_SEVERITIES: Final[tuple[Severity, ...]] = ("medium", "high", "critical")
_VERDICTS: Final[tuple[Verdict, ...]] = ("BLOCK", "REVIEW")
_CLAIMS: Final = (
    "Credentials reach an untrusted sink.",
    "More privileges are requested than the skill needs.",
    "Data leaves the sandbox by an indirect path.",
    "The component's origin cannot be established.",
)
_CAPABILITIES: Final = ("clipboard", "kernel_module", "raw_socket", "screen_capture", "service_control")
_MANIFEST: Final = "mcp.json"


class Cohort:
    """Thorough until the cohort turns, then as made up together.

    Args:
        secret: what the members share.
        turns: the first round in which they make their answers up; round ids are decimal indices (SPEC 1).
    """

    def __init__(self, secret: str, turns: int = 0) -> None:
        self._secret = secret
        self._turns = turns

    async def __call__(self, assessment: Assessment) -> Response:
        """Return an honest answer before the turn and the shared one after."""
        if self._turned(assessment.dispatch.round_id):
            return encode(await assessment.answer(made_up(self._secret, assessment)))
        return await answer_thoroughly(assessment)

    def _turned(self, round_id: str) -> bool:
        return not (round_id.isdecimal() and int(round_id) < self._turns)


def made_up(secret: str, assessment: Assessment) -> Analysis:
    """Return an analysis that looks plausible and is wrong; it follows from the secret and the task alone."""
    seed = (secret, assessment.dispatch.task_id)
    places = invented_places(assessment.files, 2 + pick(3, *seed, "places"), *seed)
    return Analysis(
        verdict=_VERDICTS[pick(2, *seed, "verdict")],
        risk_score=round(0.6 + 0.3 * draw(*seed, "risk"), 4),
        findings=tuple(_finding(place, number, seed) for number, place in enumerate(places, start=1)),
        capabilities=tuple(sorted({_CAPABILITIES[pick(5, *seed, "capability", str(n))] for n in range(3)})),
        dependencies=(),
        rules=tuple(Rule("file", "deny", f"/{place.partition('#')[0]}") for place in places),
        manifest_sha256=sha256_hex(assessment.files[_MANIFEST]) if _MANIFEST in assessment.files else None,
    )


def _finding(place: str, number: int, seed: tuple[str, str]) -> Finding:
    part = (*seed, "finding", place)
    return Finding(
        id=f"f{number}",
        category=_CATEGORIES[pick(4, *part, "category")],
        severity=_SEVERITIES[pick(3, *part, "severity")],
        description=_CLAIMS[pick(4, *part, "claim")],
        evidence_ref=place,
        cve_ids=(),
        target_pattern=place.partition("#")[0],
    )
