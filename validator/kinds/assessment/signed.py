"""Whether a stored attestation is what its miner signed for this task."""

from validator.protocol.results import Submission
from validator.protocol.round import AssessmentTask
from validator.protocol.signatures import verify_document
from validator.scoring import Fault, Version


def fault(_version: Version, task: AssessmentTask, answer: Submission) -> Fault | None:
    """Return what does not hold of a stored attestation, None where all of it fits."""
    skill = answer.sssa.skill
    dispatched = (task.skill_type, task.bundle_sha256, task.nonce)
    if (skill.skill_type, skill.bundle_sha256.lower(), skill.nonce.lower()) != dispatched:
        return Fault("sssa.skill", "is not about what was dispatched")
    if not verify_document(answer.sssa, answer.hotkey):
        return Fault("sssa.signature", "is not the hotkey's over this attestation")
    return None


def needs_truth(_version: Version, _task: AssessmentTask, _answer: Submission) -> bool:
    """Return True: the verdict of every answer is held against the truth's."""
    return True
