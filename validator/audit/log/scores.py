"""Scores and proofs of a settled round computed again, a group at a time (SPEC 4 to 10, 12, 14). Reads only the log.

Where a truth is not shown, all follows but the axes, which are taken as told (D-31): from the axes that an answer is
said to have come to follows the rest of its score. Some verdict must give the verdict axes of all answers to a task;
the time axis, and every number that needs no truth, is computed as ever.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import UNSET, UnsetType, structs

from validator.audit.log.answers import Answers
from validator.audit.log.lines import FaultError, Line, LineReader, Planned, parting
from validator.kinds.interface import ProvenTask
from validator.kinds.registry import kind_of
from validator.proofs.document import TouchedError, Unsealed, Verified, is_sealed, verify_document
from validator.proofs.records import ProofError
from validator.protocol.differences import first_difference
from validator.protocol.reasons import Reason
from validator.protocol.receipt import ProofNote, RoundEnd, outcome_line
from validator.protocol.results import Passed, Submission
from validator.protocol.round import (
    TALLY_FROM_TRUTH,
    AssessedMember,
    AssessmentTask,
    Emission,
    FailedMember,
    GroupPlan,
    MemberOutcome,
    RoundInput,
    RoundOutcome,
    RoundTask,
    committed_tasks,
    is_committed,
    published_outcome,
)
from validator.protocol.sssa import Verdict
from validator.protocol.strict_json import decode_plain
from validator.protocol.tallies import Tally
from validator.protocol.task import Truth
from validator.protocol.workflow_run import WorkflowRun
from validator.scoring import (
    FindingKeys,
    ScoredTask,
    Standard,
    Version,
    answer_facts,
    emission_of,
    measured_runs,
    quality_axes,
    round_outcome,
)

_VERDICTS: Final[tuple[Verdict, ...]] = ("ALLOW", "REVIEW", "BLOCK")
_KNOWN: Final = ("alpha", "eta")  # the axes that a verdict and the time alone give


@dataclass(slots=True)
class Scores:
    """The results of the groups of a settled round, from the lines after its outcome's.

    `untold` counts scores that rest on a truth that is not shown, by kind of task, `weighed` entries compared with
    others whose weights rest on curated records that are not shown; `measured` is as in `Ended`.
    """

    reader: LineReader
    end: RoundEnd
    hotkey: str
    planned: Planned
    answers: Answers
    scored_by: Version
    measured: dict[tuple[str, str], WorkflowRun] = field(default_factory=dict)
    untold: Counter[str] = field(default_factory=Counter)
    proofs: int = 0
    weighed: int = 0

    def check(self, told: RoundOutcome, found: Line) -> RoundOutcome:
        """Read the round's proofs, and compare them and the outcome, which has the line `found`, with the answers.

        Return the outcome with everything that follows from the truths that are shown.

        Raises:
            FaultError: the outcome does not follow; or else a proof is missing, was changed or does not follow.
        """
        frozen, plan = self.planned.frozen, self.planned.plan
        void = {task.task_id: task.reason for task in self.answers.results.void}
        shown: dict[str, ScoredTask] = {}
        wrong_proof: FaultError | None = None
        for task, group in zip(frozen.tasks, plan.groups, strict=True):
            proof: Unsealed | None = None
            if task.task_id not in void:
                shown[task.task_id], proof = self._group(task, group, told)
            if wrong_proof is None:
                try:
                    self._check_proof(task.task_id, proof)
                except FaultError as error:
                    wrong_proof = error
        try:
            again = round_outcome(self.scored_by, frozen, plan, void, shown)
        except Exception as error:  # noqa: BLE001 - whatever strangers wrote there, it ends in a line
            raise self._unscored(error) from None
        if self.scored_by.pays_tallies and any(task.made_here and _is_hidden(task) for task in frozen.tasks):
            again = structs.replace(again, reputation=told.reputation)
        whole, again = again, published_outcome(again, committed_tasks(frozen))
        if outcome_line(again) != found.data:
            what = "does not follow from input, groups and answers"
            raise found.fault(what, _first_difference(told, again))
        if wrong_proof is not None:
            raise wrong_proof
        if self.proofs != len(self.end.lines.proofs):
            raise self._receipt("names proofs of tasks that have none")
        return whole

    def _group(self, task: RoundTask, group: GroupPlan, told: RoundOutcome) -> tuple[ScoredTask, Unsealed | None]:
        """Return what a task comes to, with what is told of truths that are not shown, and its proof."""
        results, frozen, keys = self.answers.results, self.planned.frozen, FindingKeys()
        answers = [one.unpacked() for one in self.answers.of_task(task.task_id)]
        results = structs.replace(results, passed=tuple(answers))
        try:
            scored = self.scored_by.score_group(frozen, task, group, results, keys)
            self.measured |= measured_runs(task, answers, scored)
        except Exception as error:  # noqa: BLE001 - likewise
            raise self._unscored(error) from None
        shown = scored
        if task.truth_sha256 is not UNSET:
            kind = kind_of(task)
            if resting := sum(kind.needs_truth(self.scored_by, task, one) for one in answers):
                self.untold[kind.name] += resting
            if isinstance(task, AssessmentTask):
                said = [member for member in told.members if member.task_id == task.task_id]
                if self.scored_by.pays_tallies:
                    shown = _with_told_tallies(task, scored, said)
                else:
                    shown = _with_told_axes(self.scored_by, frozen, task, answers, scored, said)
        if frozen.curated_sha256 is not UNSET:
            said = [member for member in told.members if member.task_id == task.task_id]
            shown, weighed = _with_told_shares(task, shown, said)
            self.weighed += weighed
        proof = kind_of(task).prove(ProvenTask(frozen, task, answers, shown, keys))
        return shown, None if proof is None else Unsealed.of(proof)

    def _check_proof(self, task_id: str, made: Unsealed | None) -> None:
        """Read the proof of a task, and compare it with the one that was made again."""
        notes = self.end.lines.proofs
        note = notes[self.proofs] if self.proofs < len(notes) else None
        if note is None or note.task_id != task_id:
            if made is not None:
                raise self._receipt(f"names no proof of task {task_id}")
            return
        if made is None:
            raise self._receipt("names proofs of tasks that have none")
        found = self.reader.require("proof", self.end.round_id, note.sha256)
        self.proofs += 1
        if not (is_sealed(found.document, made, self.hotkey) and made.checksum == note.checksum):
            _require_proof(found, note, self.hotkey, made.document)

    def _unscored(self, error: Exception) -> FaultError:
        return self.answers.line.fault(f"no scores follow from them: {error}")

    def _receipt(self, what: str) -> FaultError:
        return FaultError(self.reader.number, "receipt", self.end.round_id, what)


def _is_hidden(task: RoundTask) -> bool:
    return task.truth_sha256 is not UNSET


def _with_told_tallies(task: AssessmentTask, scored: ScoredTask, told: Sequence[MemberOutcome]) -> ScoredTask:
    """Return what a task comes to with what is told of entries that rest on its truth; shares of the others stay."""
    members = list(scored.members)
    for i, (member, said) in enumerate(zip(members, told, strict=False)):
        if isinstance(member, AssessedMember) and isinstance(said, AssessedMember):
            tally = _told_tally(member.tally, said.tally)
            members[i] = structs.replace(member, reason=said.reason, tally=tally)
        elif isinstance(member, FailedMember) and isinstance(said, FailedMember):
            members[i] = structs.replace(member, tally=_told_tally(member.tally, said.tally))
    return ScoredTask(structs.replace(scored.group, provenance=task.provenance), tuple(members))


def _told_tally(again: Tally | UnsetType | None, told: Tally | UnsetType | None) -> Tally | UnsetType | None:
    if not isinstance(again, Tally) or not isinstance(told, Tally):
        return told
    return structs.replace(told, capabilities=again.capabilities, dependencies=again.dependencies)


_WEIGHED: Final = ("capabilities", "dependencies", "rules")  # these rest on the others' weights whatever a truth says


def _with_told_shares(task: RoundTask, scored: ScoredTask, told: Sequence[MemberOutcome]) -> tuple[ScoredTask, int]:
    """Return what a task comes to with what is told of entries that rest on weights (D-37), and the number of those."""
    names = _WEIGHED if is_committed(task) else (*_WEIGHED, *TALLY_FROM_TRUTH)
    members, weighed = list(scored.members), 0
    for i, (member, said) in enumerate(zip(members, told, strict=False)):
        if not isinstance(member, AssessedMember | FailedMember) or not isinstance(said, AssessedMember | FailedMember):
            continue
        if isinstance(member.tally, Tally) and isinstance(said.tally, Tally):
            tally = structs.replace(member.tally, **{name: getattr(said.tally, name) for name in names})
            members[i] = structs.replace(member, tally=tally)
            weighed += 1
    return ScoredTask(scored.group, tuple(members)), weighed


def _with_told_axes(  # noqa: PLR0913, PLR0917 - a task, and what is told of it
    version: Version,
    frozen: RoundInput,
    task: AssessmentTask,
    answers: Sequence[Passed],
    scored: ScoredTask,
    told: Sequence[MemberOutcome],
) -> ScoredTask:
    """Return what a task comes to with the axes that are told, as far as they can be; others stay as they are."""
    members = list(scored.members)
    of_hotkey = {one.hotkey: one for one in answers if isinstance(one, Submission)}
    possible: Collection[Verdict] = _VERDICTS
    for i, (member, said) in enumerate(zip(members, told, strict=False)):
        if not isinstance(member, AssessedMember) or not isinstance(said, AssessedMember) or said.emission is None:
            continue
        answer = of_hotkey[member.hotkey]
        emissions = {
            verdict: emission
            for verdict in possible
            if (emission := _emission(version, frozen, task, answer, member, said.emission, verdict)) is not None
        }
        if not emissions:
            continue
        possible = tuple(emissions)
        emission = next(iter(emissions.values()))
        early = answer.seconds < task.windows.of(answer.role).t_min
        reason = Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED
        members[i] = structs.replace(member, reason=reason, emission=emission, window_entry=emission.emission)
    return ScoredTask(structs.replace(scored.group, provenance=task.provenance), tuple(members))


def _emission(  # noqa: PLR0913, PLR0917 - an answer, and what is told of it
    version: Version,
    frozen: RoundInput,
    task: AssessmentTask,
    answer: Submission,
    member: AssessedMember,
    said: Emission,
    verdict: Verdict,
) -> Emission | None:
    """Return the emission that the told axes make if the truth has this verdict; None where they cannot be."""
    if task.provenance == "none":
        return None
    standard = Standard(Truth(verdict, None, None, None, None, None, None, None), task.provenance)
    facts = answer_facts(answer, member.consensus, standard, task, frozen.snapshot.epoch)
    known = quality_axes(version, facts)
    names = [name for name, _ in version.rules.types[task.skill_type].axes if name in said.axes]
    if set(said.axes) != set(names) or not set(_KNOWN) <= set(names):
        return None
    if any(said.axes[name] != known[name] for name in _KNOWN):
        return None
    if any(not 0.0 <= value <= 1.0 for value in said.axes.values()):
        return None
    return emission_of(version, facts, {name: said.axes[name] for name in names})


def _require_proof(found: Line, note: ProofNote, hotkey: str, again: Mapping[str, Any]) -> None:
    """Raise what is wrong with a proof that is not the one that was made again."""
    proven = _sealed(found, hotkey, note)
    if proven.digest != again["digest"]:
        place = _parting(found, again)
        raise found.fault("does not follow from the answers", note.task_id + place)
    if proven.proof.checksum != note.checksum:
        raise found.fault("its checksum is not that of the receipt", "checksum")


def _sealed(found: Line, hotkey: str, note: ProofNote) -> Verified:
    """Check the proof's seal; whether it follows from its votes shows when it is made again."""
    try:
        return verify_document(found.document, hotkey, held=False)
    except TouchedError as error:
        raise found.fault(error.fault, f"{note.task_id}.{error.place}") from None
    except ProofError as error:
        raise found.fault(str(error), note.task_id) from None


def _parting(found: Line, again: Mapping[str, Any]) -> str:
    """Return where a proof parts from what the answers give."""
    said = {**decode_plain(found.document, limit=len(found.document)), "signature": None}
    difference = first_difference(again, said)
    return f".{difference.path}" if difference else ""


def _first_difference(given: RoundOutcome, again: RoundOutcome) -> str:
    """Return where the two part, as far as lists: fields of a member are few enough to be seen."""
    for name in RoundOutcome.__struct_fields__:
        one, other = getattr(given, name), getattr(again, name)
        if one != other:
            return name if isinstance(one, str) else f"{name}[{parting(one, other)}]"
    return ""
