"""The proofs of a round in an audit file: signed, and what input, groups, answers and outcome give (SPEC 14)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from validator.audit.log.documents import Answers, Planned
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader
from validator.kinds.registry import group_proof
from validator.proofs import ProofError
from validator.proofs.consensus import PROOF_VERSION
from validator.proofs.differences import first_difference
from validator.proofs.document import TouchedError, Verified, form_of, is_sealed, sealed_proof
from validator.proofs.unsealed import Unsealed
from validator.protocol.reasons import Reason
from validator.protocol.receipt import ProofNote, RoundEnd
from validator.protocol.round import RoundOutcome
from validator.protocol.strict_json import decode_plain
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
    for task_id in (group.task_id for group in planned.plan.groups):
        made = partial(group_proof, planned.frozen, planned.plan, answers.results, outcome, task_id)
        if task_id not in noted:
            if made() is not None:
                raise FaultError(reader.number, "receipt", end.round_id, f"names no proof of task {task_id}")
            continue
        note = noted[task_id]
        found = reader.require("proof", end.round_id, note.sha256)
        # A proof stays in the form that it was made in.
        again = partial(made, proof_version=form_of(found.document) or PROOF_VERSION)
        choices = [(), queued[task_id]] if queued[task_id] else [()]
        proofs = [Unsealed.of(one) for one in (again(reruns_queued=reruns) for reruns in choices) if one]
        if proofs:
            order.append(task_id)
        if not any(_is_it(found, note, hotkey, one) for one in proofs):
            _check_proof(found, end, note, hotkey, [one.document for one in proofs])
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


def _is_it(found: Line, note: ProofNote, hotkey: str, made: Unsealed) -> bool:
    return is_sealed(found.document, made, hotkey) and made.checksum == note.checksum


def _check_proof(found: Line, end: RoundEnd, note: ProofNote, hotkey: str, documents: Sequence[dict[str, Any]]) -> None:
    """Say what is wrong with a proof that is none of those that were made again; of a task without one, its seal."""
    proven = _sealed(found, end, hotkey, note)
    if documents and all(proven.digest != one["digest"] for one in documents):
        place = _parting(found, documents)
        raise FaultError(found.number, "proof", end.round_id, "does not follow from the answers", note.task_id + place)
    if documents and proven.proof.checksum != note.checksum:
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


def _parting(found: Line, candidates: Sequence[dict[str, Any]]) -> str:
    """Return where a proof parts from what the answers give, reruns aside if it parts anywhere else."""
    said = {**decode_plain(found.document, limit=len(found.document)), "signature": None}
    parted = [difference.place for one in candidates if (difference := first_difference(one, said))]
    places = [place for place in parted if not place.endswith(".suggested_resolution")] or parted
    return f".{places[0]}" if places else ""
