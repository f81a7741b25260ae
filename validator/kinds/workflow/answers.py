"""Whether a service's answer is taken (SPEC 12)."""

from typing import NamedTuple

from validator.protocol.canonical import digest, sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.signatures import verify_document
from validator.protocol.strict_json import JsonError
from validator.protocol.workflow_run import StepAnswer, parse_step_answer
from validator.scoring import version


class Judged(NamedTuple):
    """What was made of a body.

    Attributes:
        outcome: a `step_` reason.
        answer: where one is signed for this request.
        detail: a line about a failure, not yet harmless.
        output_sha256: of the answer's output.
    """

    outcome: Reason
    answer: StepAnswer | None
    detail: str
    output_sha256: str | None = None


def judge_answer(body: bytes, request: bytes, hotkey: str, most: float, scoring_version: str) -> Judged:
    """Return whether `body` answers `request`. Takes up to 50 ms for the largest answers.

    Args:
        body: what the service sent.
        request: the body that it was sent.
        hotkey: of the service, as the task names it.
        most: TAO that were admitted for this attempt.
        scoring_version: of the round.
    """
    try:
        answer = parse_step_answer(body)
    except JsonError as error:
        return Judged(Reason.STEP_SCHEMA, None, str(error))
    if answer.request_sha256 != sha256_hex(request):
        return Judged(Reason.STEP_OTHER_REQUEST, None, "at `request_sha256`")
    if not verify_document(answer, hotkey):
        return Judged(Reason.STEP_SIGNATURE, None, "at `signature`")
    output_sha256 = digest(answer.output)
    if version(scoring_version).tao(answer.cost_tao) > most:
        said = f"{answer.cost_tao:g} TAO, admitted were {most:g}"
        return Judged(Reason.STEP_OVERCHARGED, answer, said, output_sha256)
    return Judged(Reason.STEP_SUCCEEDED, answer, "", output_sha256)
