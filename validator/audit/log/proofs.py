"""The proofs of a round in an audit file: signed, and what input, groups, answers and outcome give (SPEC 14)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from validator.audit.log.documents import Answers, Planned
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import LineReader
from validator.kinds.registry import group_proof
from validator.proofs import ConsensusProof, ProofError
from validator.proofs.document import proof_document, verify_document
from validator.protocol.reasons import Reason
from validator.protocol.receipt import ProofNote, RoundEnd
from validator.protocol.round import RoundOutcome
from validator.scoring import version


def check_proofs(  # noqa: PLR0913, PLR0917 - everything a proof follows from
    reader: LineReader, end: RoundEnd, hotkey: str, planned: Planned, answers: Answers, outcome: RoundOutcome
) -> int:
    """Read a round's proofs, check each, and return how many there are.

    Whether the validator queued the reruns that the round asks for is its own word: it may have no sandbox (SPEC 15).

    Raises:
        FaultError: one is missing, was changed, or does not follow.
    """
    noted = {note.task_id: note for note in end.lines.proofs}
    order = []
    queued = _queued(planned, outcome)
    for group in planned.plan.groups:
        again = group_proof(planned.frozen, planned.plan, answers.results, outcome, group.task_id)
        if again is None:
            continue
        if group.task_id not in noted:
            raise FaultError(reader.number, "receipt", end.round_id, f"names no proof of task {group.task_id}")
        candidates = [again]
        if queued[group.task_id]:
            with_reruns = group_proof(
                planned.frozen,
                planned.plan,
                answers.results,
                outcome,
                group.task_id,
                reruns_queued=queued[group.task_id],
            )
            candidates += [with_reruns] if with_reruns else []
        _check_proof(reader, end, hotkey, noted[group.task_id], candidates)
        order.append(group.task_id)
    if [note.task_id for note in end.lines.proofs] != order:
        raise FaultError(reader.number, "receipt", end.round_id, "names proofs of tasks that have none")
    return len(order)


def _queued(planned: Planned, outcome: RoundOutcome) -> Mapping[str, Collection[str]]:
    """Return by task who dissents and is run again; the seed decides about nobody who dissents."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in version(planned.frozen.scoring_version).chosen_reruns(planned.frozen, planned.plan, outcome):
        if one.reason is not Reason.RERUN_DRAWN:
            found[one.task_id].add(one.hotkey)
    return found


def _check_proof(
    reader: LineReader, end: RoundEnd, hotkey: str, note: ProofNote, candidates: Sequence[ConsensusProof]
) -> None:
    found = reader.require("proof", end.round_id, note.sha256)
    try:
        proven = verify_document(found.document, hotkey)
    except ProofError as error:
        raise FaultError(found.number, "proof", end.round_id, str(error)) from None
    if all(proven.digest != proof_document(one)["digest"] for one in candidates):
        raise FaultError(found.number, "proof", end.round_id, "does not follow from the answers", note.task_id)
    if proven.proof.checksum != note.checksum:
        raise FaultError(found.number, "proof", end.round_id, "its checksum is not that of the receipt", "checksum")
