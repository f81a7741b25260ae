"""The proofs of a round in an audit file: signed, and what input, groups, answers and outcome give (SPEC 14)."""

from typing import Any

from validator.audit.log.documents import Answers, Planned
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader
from validator.kinds.registry import group_proof
from validator.proofs import ProofError
from validator.proofs.differences import first_difference
from validator.proofs.document import TouchedError, Unsealed, Verified, is_sealed, sealed_proof
from validator.protocol.receipt import ProofNote, RoundEnd
from validator.protocol.round import RoundOutcome
from validator.protocol.strict_json import decode_plain


def check_proofs(  # noqa: PLR0913, PLR0917 - everything a proof follows from
    reader: LineReader, end: RoundEnd, hotkey: str, planned: Planned, answers: Answers, outcome: RoundOutcome
) -> int:
    """Read a round's proofs, check each, and return how many there are.

    Raises:
        FaultError: one is missing, was changed, or does not follow.
    """
    noted = {note.task_id: note for note in end.lines.proofs}
    order = []
    for task_id in (group.task_id for group in planned.plan.groups):
        proof = group_proof(planned.frozen, planned.plan, answers.results, outcome, task_id)
        if task_id not in noted:
            if proof is not None:
                raise FaultError(reader.number, "receipt", end.round_id, f"names no proof of task {task_id}")
            continue
        note = noted[task_id]
        found = reader.require("proof", end.round_id, note.sha256)
        again = None if proof is None else Unsealed.of(proof)
        if again is not None:
            order.append(task_id)
        if again is None or not _is_it(found, note, hotkey, again):
            _check_proof(found, end, note, hotkey, None if again is None else again.document)
    if [note.task_id for note in end.lines.proofs] != order:
        raise FaultError(reader.number, "receipt", end.round_id, "names proofs of tasks that have none")
    return len(order)


def _is_it(found: Line, note: ProofNote, hotkey: str, made: Unsealed) -> bool:
    return is_sealed(found.document, made, hotkey) and made.checksum == note.checksum


def _check_proof(found: Line, end: RoundEnd, note: ProofNote, hotkey: str, again: dict[str, Any] | None) -> None:
    """Say what is wrong with a proof that is not the one that was made again; of a task without one, its seal."""
    proven = _sealed(found, end, hotkey, note)
    if again is not None and proven.digest != again["digest"]:
        place = _parting(found, again)
        raise FaultError(found.number, "proof", end.round_id, "does not follow from the answers", note.task_id + place)
    if again is not None and proven.proof.checksum != note.checksum:
        raise FaultError(found.number, "proof", end.round_id, "its checksum is not that of the receipt", "checksum")


def _sealed(found: Line, end: RoundEnd, hotkey: str, note: ProofNote) -> Verified:
    """Check the proof's seal; whether it follows from its votes shows when it is made again."""
    try:
        return sealed_proof(found.document, hotkey)
    except TouchedError as error:
        place = f"{note.task_id}.{error.place}"
        raise FaultError(found.number, "proof", end.round_id, error.fault, place) from None
    except ProofError as error:
        raise FaultError(found.number, "proof", end.round_id, str(error), note.task_id) from None


def _parting(found: Line, again: dict[str, Any]) -> str:
    """Return where a proof parts from what the answers give."""
    said = {**decode_plain(found.document, limit=len(found.document)), "signature": None}
    difference = first_difference(again, said)
    return f".{difference.place}" if difference else ""
