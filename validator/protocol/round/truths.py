"""Truths in the log: committed to in the lines that name them, told in lines of their own (SPEC 16, D-31).

The values that a round is computed from have all of it; here it is taken out of what the log says of them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, UnsetType, structs

from validator.protocol.canonical import canonical_bytes, sha256_hex
from validator.protocol.round.outcome import RoundOutcome
from validator.protocol.sssa import Document
from validator.protocol.task import Truth
from validator.protocol.workflow_task import Reference

TRUTH_BYTES: Final = 32
"""Random bytes before a truth, so that nobody can guess one and know."""

Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class TruthDocument(Document, frozen=True):
    """What the line of a truth holds.

    Attributes:
        task_id: whose truth it is.
        random: hex of 32 bytes.
        truth: of an assessment, and absent else.
        reference: of a workflow task, and absent else.
    """

    task_id: str
    random: Digest
    truth: Truth | UnsetType = UNSET
    reference: Reference | UnsetType = UNSET


def truth_sha256(random: str, secret: Any) -> str:
    """Return what stands for a truth: sha256 of the random bytes, given in hex, and the truth's canonical bytes."""
    return sha256_hex(bytes.fromhex(random) + canonical_bytes(secret))


def take_truths(tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put commitments in the place of truths in the plain forms of a round's tasks; return the truths' documents.

    Tasks without random bytes are of rounds from before truths were committed to, or have no truth: they stay.
    """
    return [_take(task) for task in tasks if "truth_random" in task]


def _take(task: dict[str, Any]) -> dict[str, Any]:
    random, workflow = task.pop("truth_random"), task.get("workflow")
    if workflow is None:
        name, secret, task["truth"] = "truth", task["truth"], None
    else:
        name, secret, workflow["reference"] = "reference", workflow["reference"], {}
    task["truth_sha256"] = truth_sha256(random, secret)
    return {"task_id": task["task_id"], "random": random, name: secret}


def commands_of(documents: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return by task the expected commands of every truth that `take_truths` took."""
    return {one["task_id"]: tuple((one.get("truth") or {}).get("shell_commands") or ()) for one in documents}


def told_outcome(outcome: RoundOutcome, committed: Collection[str]) -> RoundOutcome:
    """Return the outcome as the log tells it: without the verdicts of truths that are committed to, by task id."""
    return structs.replace(
        outcome,
        groups=tuple(
            structs.replace(group, scored_verdict=None) if group.task_id in committed else group
            for group in outcome.groups
        ),
    )
