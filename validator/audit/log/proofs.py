"""The proofs of a round in an audit file: signed, and what input, groups, answers and outcome give (SPEC 14)."""

from validator.audit.log.documents import Answers, Planned
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import LineReader
from validator.kinds.registry import group_proof
from validator.proofs import ConsensusProof, ProofError
from validator.proofs.document import proof_document, verify_document
from validator.protocol.receipt import ProofNote, RoundEnd
from validator.protocol.round import RoundOutcome


def check_proofs(  # noqa: PLR0913, PLR0917 - everything a proof follows from
    reader: LineReader, end: RoundEnd, hotkey: str, planned: Planned, answers: Answers, outcome: RoundOutcome
) -> int:
    """Read a round's proofs, check each, and return how many there are.

    Raises:
        FaultError: one is missing, was changed, or does not follow.
    """
    noted = {note.task_id: note for note in end.lines.proofs}
    order = []
    for group in planned.plan.groups:
        again = group_proof(planned.frozen, planned.plan, answers.results, outcome, group.task_id)
        if again is None:
            continue
        if group.task_id not in noted:
            raise FaultError(reader.number, "receipt", end.round_id, f"names no proof of task {group.task_id}")
        _check_proof(reader, end, hotkey, noted[group.task_id], again)
        order.append(group.task_id)
    if [note.task_id for note in end.lines.proofs] != order:
        raise FaultError(reader.number, "receipt", end.round_id, "names proofs of tasks that have none")
    return len(order)


def _check_proof(reader: LineReader, end: RoundEnd, hotkey: str, note: ProofNote, again: ConsensusProof) -> None:
    found = reader.require("proof", end.round_id, note.sha256)
    try:
        proven = verify_document(found.document, hotkey)
    except ProofError as error:
        raise FaultError(found.number, "proof", end.round_id, str(error)) from None
    if proven.digest != proof_document(again)["digest"]:
        raise FaultError(found.number, "proof", end.round_id, "does not follow from the answers", note.task_id)
    if proven.proof.checksum != note.checksum:
        raise FaultError(found.number, "proof", end.round_id, "its checksum is not that of the receipt", "checksum")
