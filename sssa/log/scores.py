"""Scores and proofs of a settled round computed again, a group at a time (SPEC 4 to 10, 12, 14). Reads only the log.

Where a truth is not shown, the axes of quality are taken as the outcome claims them (D-31), and the rest of each score
is computed from those. Some verdict must give the verdict axes of all answers to a task; the time axis and every number
that needs no truth are computed.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import UNSET, UnsetType, structs

from sssa.kinds.interface import ProvenTask
from sssa.kinds.registry import kind_of
from sssa.log.answers import Answers
from sssa.log.lines import FaultError, Line, LineReader, Planned, parting
from sssa.proofs.document import TouchedError, Unsealed, Verified, is_sealed, verify_document
from sssa.proofs.records import ProofError
from sssa.protocol.differences import first_difference
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import ProofNote, RoundEnd, outcome_line
from sssa.protocol.results import Passed, Submission
from sssa.protocol.round import (
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
from sssa.protocol.sssa import Verdict
from sssa.protocol.strict_json import decode_plain
from sssa.protocol.tallies import Tally
from sssa.protocol.task import Truth
from sssa.protocol.workflow_run import WorkflowRun
from sssa.scoring import (
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

    Attributes:
        measured: as in `Ended`.
        scores_without_truth: number of scores that rest on a truth that is not shown, by kind of task.
        weighed: number of entries compared with others whose weights rest on curated records that are not shown.
    """

    reader: LineReader
    end: RoundEnd
    hotkey: str
    planned: Planned
    answers: Answers
    scored_by: Version
    measured: dict[tuple[str, str], WorkflowRun] = field(default_factory=dict)
    scores_without_truth: Counter[str] = field(default_factory=Counter)
    proofs: int = 0
    weighed: int = 0

    def check(self, claimed: RoundOutcome, line: Line) -> RoundOutcome:
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
                shown[task.task_id], proof = self._group(task, group, claimed)
            if wrong_proof is None:
                try:
                    self._check_proof(task.task_id, proof)
                except FaultError as error:
                    wrong_proof = error
        try:
            again = round_outcome(self.scored_by, frozen, plan, void, shown)
        except Exception as error:  # noqa: BLE001 - whatever strangers wrote there, it ends in a line
            raise self._unscored(error) from None
        if self.scored_by.pays_tallies and any(
            task.made_here and task.truth_sha256 is not UNSET for task in frozen.tasks
        ):
            again = structs.replace(again, reputation=claimed.reputation)
        whole, again = again, published_outcome(again, committed_tasks(frozen))
        if outcome_line(again) != line.data:
            what = "does not follow from input, groups and answers"
            raise line.fault(what, _first_difference(claimed, again))
        if wrong_proof is not None:
            raise wrong_proof
        if self.proofs != len(self.end.lines.proofs):
            raise self._receipt("names proofs of tasks that have none")
        return whole

    def _group(self, task: RoundTask, group: GroupPlan, claimed: RoundOutcome) -> tuple[ScoredTask, Unsealed | None]:
        """Return the scores of a task, with the claims that rest on truths that are not shown, and its proof."""
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
                self.scores_without_truth[kind.name] += resting
            if isinstance(task, AssessmentTask):
                claims = [member for member in claimed.members if member.task_id == task.task_id]
                if self.scored_by.pays_tallies:
                    shown = _with_claimed_tallies(task, scored, claims)
                else:
                    shown = _with_claimed_axes(self.scored_by, frozen, task, answers, scored, claims)
        if frozen.curated_sha256 is not UNSET:
            claims = [member for member in claimed.members if member.task_id == task.task_id]
            shown, weighed = _with_claimed_shares(task, shown, claims)
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
        line = self.reader.require("proof", self.end.round_id, note.sha256)
        self.proofs += 1
        if not (is_sealed(line.document, made, self.hotkey) and made.checksum == note.checksum):
            _require_proof(line, note, self.hotkey, made.document)

    def _unscored(self, error: Exception) -> FaultError:
        return self.answers.line.fault(f"no scores follow from them: {error}")

    def _receipt(self, what: str) -> FaultError:
        return FaultError(self.reader.number, "receipt", self.end.round_id, what)


def _with_claimed_tallies(task: AssessmentTask, scored: ScoredTask, claims: Sequence[MemberOutcome]) -> ScoredTask:
    """Return the scores of a task with the claimed entries that rest on its truth; shares of the others stay."""
    members = list(scored.members)
    for i, (member, claim) in enumerate(zip(members, claims, strict=False)):
        if isinstance(member, AssessedMember) and isinstance(claim, AssessedMember):
            tally = _claimed_tally(member.tally, claim.tally)
            members[i] = structs.replace(member, reason=claim.reason, tally=tally)
        elif isinstance(member, FailedMember) and isinstance(claim, FailedMember):
            members[i] = structs.replace(member, tally=_claimed_tally(member.tally, claim.tally))
    return ScoredTask(structs.replace(scored.group, provenance=task.provenance), tuple(members))


def _claimed_tally(again: Tally | UnsetType | None, claimed: Tally | UnsetType | None) -> Tally | UnsetType | None:
    if not isinstance(again, Tally) or not isinstance(claimed, Tally):
        return claimed
    return structs.replace(claimed, capabilities=again.capabilities, dependencies=again.dependencies)


_WEIGHED: Final = ("capabilities", "dependencies", "rules")  # these rest on the others' weights whatever a truth says


def _with_claimed_shares(
    task: RoundTask, scored: ScoredTask, claims: Sequence[MemberOutcome]
) -> tuple[ScoredTask, int]:
    """Return the scores of a task with the claimed entries that rest on weights (D-37), and the number of those."""
    names = _WEIGHED if is_committed(task) else (*_WEIGHED, *TALLY_FROM_TRUTH)
    members, weighed = list(scored.members), 0
    for i, (member, claim) in enumerate(zip(members, claims, strict=False)):
        if not isinstance(member, AssessedMember | FailedMember) or not isinstance(
            claim, AssessedMember | FailedMember
        ):
            continue
        if isinstance(member.tally, Tally) and isinstance(claim.tally, Tally):
            tally = structs.replace(member.tally, **{name: getattr(claim.tally, name) for name in names})
            members[i] = structs.replace(member, tally=tally)
            weighed += 1
    return ScoredTask(scored.group, tuple(members)), weighed


def _with_claimed_axes(  # noqa: PLR0913, PLR0917 - a task, and the claims of it
    version: Version,
    frozen: RoundInput,
    task: AssessmentTask,
    answers: Sequence[Passed],
    scored: ScoredTask,
    claims: Sequence[MemberOutcome],
) -> ScoredTask:
    """Return the scores of a task with the claimed axes, as far as they are possible; others stay as they are."""
    members = list(scored.members)
    of_hotkey = {one.hotkey: one for one in answers if isinstance(one, Submission)}
    possible: Collection[Verdict] = _VERDICTS
    for i, (member, claim) in enumerate(zip(members, claims, strict=False)):
        if not isinstance(member, AssessedMember) or not isinstance(claim, AssessedMember) or claim.emission is None:
            continue
        answer = of_hotkey[member.hotkey]
        emissions = {
            verdict: emission
            for verdict in possible
            if (emission := _emission(version, frozen, task, answer, member, claim.emission, verdict)) is not None
        }
        if not emissions:
            continue
        possible = tuple(emissions)
        emission = next(iter(emissions.values()))
        early = answer.seconds < task.windows.of(answer.role).t_min
        reason = Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED
        members[i] = structs.replace(member, reason=reason, emission=emission, window_entry=emission.emission)
    return ScoredTask(structs.replace(scored.group, provenance=task.provenance), tuple(members))


def _emission(  # noqa: PLR0913, PLR0917 - an answer, and the claim of it
    version: Version,
    frozen: RoundInput,
    task: AssessmentTask,
    answer: Submission,
    member: AssessedMember,
    claim: Emission,
    verdict: Verdict,
) -> Emission | None:
    """Return the emission of the claimed axes if the truth has this verdict; None where these axes are impossible."""
    if task.provenance == "none":
        return None
    standard = Standard(Truth(verdict, None, None, None, None, None, None, None), task.provenance)
    facts = answer_facts(answer, member.consensus, standard, task, frozen.snapshot.epoch)
    known = quality_axes(version, facts)
    names = [name for name, _ in version.rules.types[task.skill_type].axes if name in claim.axes]
    if set(claim.axes) != set(names) or not set(_KNOWN) <= set(names):
        return None
    if any(claim.axes[name] != known[name] for name in _KNOWN):
        return None
    if any(not 0.0 <= value <= 1.0 for value in claim.axes.values()):
        return None
    return emission_of(version, facts, {name: claim.axes[name] for name in names})


def _require_proof(line: Line, note: ProofNote, hotkey: str, again: Mapping[str, Any]) -> None:
    """Raise the fault of a proof that differs from the recomputed one."""
    proven = _sealed(line, hotkey, note)
    if proven.digest != again["digest"]:
        place = _parting(line, again)
        raise line.fault("does not follow from the answers", note.task_id + place)
    if proven.proof.checksum != note.checksum:
        raise line.fault("its checksum is not that of the receipt", "checksum")


def _sealed(line: Line, hotkey: str, note: ProofNote) -> Verified:
    """Check the proof's seal; whether it follows from its votes shows when it is made again."""
    try:
        return verify_document(line.document, hotkey, held=False)
    except TouchedError as error:
        raise line.fault(error.fault, f"{note.task_id}.{error.place}") from None
    except ProofError as error:
        raise line.fault(str(error), note.task_id) from None


def _parting(line: Line, again: Mapping[str, Any]) -> str:
    """Return the first place where a proof differs from the recomputed one."""
    stored = {**decode_plain(line.document, limit=len(line.document)), "signature": None}
    difference = first_difference(again, stored)
    return f".{difference.path}" if difference else ""


def _first_difference(given: RoundOutcome, again: RoundOutcome) -> str:
    """Return where the two part, as far as lists: fields of a member are few enough to be seen."""
    for name in RoundOutcome.__struct_fields__:
        one, other = getattr(given, name), getattr(again, name)
        if one != other:
            return name if isinstance(one, str) else f"{name}[{parting(one, other)}]"
    return ""
