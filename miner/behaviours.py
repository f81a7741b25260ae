"""Behaviours of one reference miner: thorough, hasty, careless, lazy and broken ones, and the pace that all keep."""

import dataclasses
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, get_args

import msgspec

from miner.analysis import Analysis
from miner.assessment import Assessment, Response, encode
from miner.scanners.source import SourceFile, addressable
from sssa.protocol import limits
from sssa.protocol.answer import Answer, answer_limit
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Finding, Severity, Skill, signing_bytes

Behaviour = Callable[[Assessment], Awaitable[Response]]
"""A miner's response to a dispatch, determined by hotkey and task."""


def draw(*parts: str) -> float:
    """Return a number in [0, 1) that follows from the parts."""
    return int.from_bytes(digest(*parts)[:6], "big") / 2**48


def digest(*parts: str) -> bytes:
    """Return the sha256 of the parts, kept apart by a separator that none of them holds."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).digest()


def pick(count: int, *parts: str) -> int:
    """Return a number from 0 to `count` - 1 that follows from the parts."""
    return int(draw(*parts) * count)


def invented_places(files: Mapping[str, bytes], count: int, *parts: str) -> list[str]:
    """Return up to `count` evidence references to lines of different files that say nothing in particular."""
    ranked = sorted(
        (path for path in files if files[path] and addressable(path)), key=lambda path: digest(*parts, path)
    )
    sources = [SourceFile(path, files[path]) for path in ranked[:count]]
    return [one.place(1 + pick(one.line_count, *parts, "line", one.path)) for one in sources]


MISSED_BY_PARTIAL: Final = 0.25
LATENESS: Final = 0.6


async def answer_thoroughly(assessment: Assessment) -> Response:
    """Return an answer with everything that was found."""
    return encode(await assessment.answer(await assessment.analysis()))


async def answer_with_gaps(assessment: Assessment) -> Response:
    """Overlook about a quarter of findings and dependencies, always the same ones."""
    analysis = await assessment.analysis()
    return encode(await assessment.answer(with_gaps(analysis, assessment.kit.signer.hotkey)))


async def answer_late(assessment: Assessment) -> Response:
    """Return the full answer when most of the miner's own window has passed."""
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


MISSED: Final = 2 / 3
_WRONG_SEVERITY: Final = 0.25
_FALSE_ALARM: Final = 0.5
_RISK_OFF: Final = 0.3  # at most half of it either way
_SEVERITIES: Final = get_args(Severity)

NOTHING: Final = Analysis("ALLOW", 0.0, (), (), (), (), None)


async def answer_carelessly(assessment: Assessment) -> Response:
    """Miss about two thirds of what there is, get severities wrong, raise false alarms, have no policy."""
    analysis = await assessment.analysis()
    hotkey, task_id = assessment.kit.signer.hotkey, assessment.dispatch.task_id
    return encode(await assessment.answer(careless(analysis, assessment.files, hotkey, task_id)))


async def answer_nothing(assessment: Assessment) -> Response:
    """Return ALLOW, risk 0 and nothing else; of the bundle nothing is run."""
    return encode(await assessment.answer(NOTHING, run=False))


def careless(analysis: Analysis, files: Mapping[str, bytes], hotkey: str, task_id: str) -> Analysis:
    """Return what a careless miner makes of the reference analysis; follows from the hotkey and the task."""
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


_CHUNK: Final = 64 * 1024
_REMEMBERED: Final = 64


async def send_garbage(assessment: Assessment) -> Response:
    """Return bytes that are no JSON, and follow from the task."""
    return b"\x89no JSON\r\n" + digest(assessment.kit.signer.hotkey, assessment.dispatch.task_id)


async def send_too_much(assessment: Assessment) -> Response:
    """Stream more than the limit of the role: a document that does not end in time."""
    return _endless(answer_limit(runtime_primary=assessment.runtime_primary) + limits.MIB)


async def _endless(size: int) -> AsyncIterator[bytes]:
    yield b'{"sssa": "'
    for _ in range(-(-size // _CHUNK)):
        yield b"x" * _CHUNK


async def sign_with_another_key(assessment: Assessment) -> Response:
    """Return a thorough answer, signed with another key than the hotkey that it names."""
    answer = await assessment.answer(await assessment.analysis(), run=False)
    other = Signer.from_uri(f"//{assessment.kit.signer.hotkey}")
    value = other.sign(signing_bytes(answer.sssa))
    signature = msgspec.structs.replace(answer.sssa.signature, value=value)
    sssa = msgspec.structs.replace(answer.sssa, signature=signature)
    return encode(msgspec.structs.replace(answer, sssa=sssa))


class Replayed:
    """Sends what it made for an earlier round: best for the same bundle, else the same type, else anything.

    In its first round it has nothing yet and sends an SSSA for a bundle that nobody dispatched.
    """

    def __init__(self) -> None:
        self._made: list[tuple[str, Answer]] = []

    async def __call__(self, assessment: Assessment) -> Response:
        """Return an old answer and remember the new one."""
        fresh = await assessment.answer(await assessment.analysis(), run=False)
        earlier = [answer for round_id, answer in self._made if round_id != assessment.dispatch.round_id]
        self._made = [*self._made, (assessment.dispatch.round_id, fresh)][-_REMEMBERED:]
        if not earlier:
            return encode(await _for_another_bundle(assessment))
        return encode(max(earlier, key=lambda answer: _likeness(answer.sssa.skill, fresh.sssa.skill)))


def _likeness(old: Skill, new: Skill) -> tuple[bool, bool, str]:
    return old.bundle_sha256 == new.bundle_sha256, old.skill_type == new.skill_type, old.nonce


async def _for_another_bundle(assessment: Assessment) -> Answer:
    dispatch = msgspec.structs.replace(
        assessment.dispatch,
        bundle_sha256=digest("bundle", assessment.dispatch.task_id).hex(),
        nonce=digest("nonce", assessment.dispatch.task_id).hex(),
    )
    canned = Assessment(dispatch, {}, assessment.kit, assessment.clock, assessment.received)
    return await canned.answer(NOTHING, run=False)


PACE_S: Final = 1.0  # within the first quarter of the local network's windows: it costs no early bonus


def paced(inner: Behaviour, pace_s: float = PACE_S) -> Behaviour:
    """Return the behaviour, but not faster than the pace, nor than the dispatch's own t_min.

    Shared analyses are instant for all but the first.
    """

    async def respond(assessment: Assessment) -> Response:
        response = await inner(assessment)
        due = assessment.received + max(pace_s, assessment.dispatch.t_min_s)
        await assessment.clock.sleep(max(0.0, due - assessment.clock.monotonic()))
        return response

    return respond
