"""`validator score` and `validator groups`: recompute a number from JSON cases; store nothing (SPEC 3 to 12, 15)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
import typer
from msgspec import Meta

from sssa.cli.cases import (
    DEFAULT,
    Case,
    Files,
    Form,
    check_attestation,
    compute_files,
    plan_document,
    refuse_repeated,
    require_types,
)
from sssa.cli.options import group
from sssa.cli.tally_cases import (
    Entry,
    TallyCase,
    TallyWeightsCase,
    TurnsCase,
    TurnSelectionCase,
    check_candidates,
    group_document,
    pay_tallies_case,
    select_by_turn_case,
    tally_case,
    turns_case,
)
from sssa.protocol.answer import Id, Role
from sssa.protocol.limits import MAX_CASE_MEMBERS
from sssa.protocol.round import AgreementPair, ReputationKind
from sssa.protocol.skill_types import BASE_TRACES, SkillType
from sssa.protocol.sssa import Document, Finding, Hex32, Sssa, Text, Unit, check_finding
from sssa.protocol.strict_json import SchemaError
from sssa.protocol.task import Window, check_injections
from sssa.protocol.traces import digitless
from sssa.protocol.workflow_run import WorkflowRun
from sssa.scoring import (
    AnswerFacts,
    Candidate,
    Claims,
    ExecutionRun,
    Member,
    MemberConsensus,
    MinerStanding,
    TracedAnswer,
    add_sample,
    answer_emission,
    apply_event,
    auditors_are_witnesses,
    claims_of,
    compare_execution,
    finding_key,
    majority_threshold,
    score_members,
    score_workflow,
    version,
)

GROUPS = group()
Number = Literal[
    "collusion",
    "consensus",
    "emission",
    "execution",
    "keys",
    "reputation",
    "tally",
    "weights",
    "workflow",
]
BaseTrace = Literal["network", "fs", "process", "secrets"]
Signatures = dict[BaseTrace, tuple[Text, ...]]
Sets = dict[str, frozenset[str]]


class GroupMember(Document, frozen=True):
    """A member of one task's group; `sssa` null means no valid SSSA."""

    hotkey: Text
    role: Role
    sssa: Sssa | None


class ConsensusCase(Case, frozen=True):
    """One task's group."""

    task_id: Text
    members: Annotated[tuple[GroupMember, ...], Meta(max_length=MAX_CASE_MEMBERS)]


class WeightsCase(Case, frozen=True):
    """Windows: hotkey, then skill type, then entries, oldest first; and each miner's standing (D-23)."""

    windows: dict[Text, dict[Text, tuple[Entry, ...]]]
    standing: dict[Text, MinerStanding]


class Sample(Document, frozen=True):
    """One round's agreements, those of its two auditors with each other, and the qualities of D-50."""

    with_primaries: Unit
    with_auditors: Unit
    auditor_agreement: Unit
    own: Unit
    witnesses: Unit


class CollusionCase(Case, frozen=True):
    """Samples of one (hotkey, skill_type), oldest first."""

    samples: tuple[Sample, ...]


class ReputationCase(Case, frozen=True):
    """A reputation and its events."""

    start: Unit
    events: tuple[ReputationKind, ...]


class KeysCase(Case, frozen=True):
    """Findings to key."""

    findings: tuple[Finding, ...]


class EmissionCase(AnswerFacts, frozen=True):
    """One answer."""

    scoring_version: Text = DEFAULT


class RunCase(Document, frozen=True):
    """One run of a bundle, or of nothing."""

    ended: bool
    signatures: Signatures


class TracesCase(Document, frozen=True):
    """A valid primary's traces."""

    hotkey: Text
    signatures: Signatures


class ExecutionCase(Case, frozen=True):
    """A task that was executed: the bundle, the bundle again, and nothing; and what its valid primaries sent."""

    runs: tuple[RunCase, RunCase, RunCase]
    probes: Signatures
    mark: tuple[BaseTrace, Text] | None
    made_here: bool
    submitted: bool
    answers: Annotated[tuple[TracesCase, ...], Meta(max_length=MAX_CASE_MEMBERS)]


class WorkflowCase(WorkflowRun, frozen=True):
    """One run of a plan."""

    scoring_version: Text = DEFAULT


class SelectionCase(Case, frozen=True):
    """A frozen pool; `seed` is the hex of round_seed."""

    candidates: tuple[Candidate, ...]
    round_id: Id
    seed: Hex32
    skill_type: SkillType
    task_id: Id


def score_consensus_case(case: ConsensusCase) -> dict[str, Any]:
    """Return the group, and each valid member's components, consensus and agreements (SPEC 4) (SchemaError)."""
    refuse_repeated([m.hotkey for m in case.members], "members")
    for i, m in enumerate(case.members):
        if m.sssa is not None:
            check_attestation(m.sssa, f"$.members[{i}].sssa")
    scored_by = version(case.scoring_version)
    members = [Member(m.hotkey, m.role, claims_of(m.sssa)) for m in case.members if m.sssa is not None]
    group, scores = score_members(scored_by, members)
    return {
        "enabled": group is not None,
        "group": None if group is None else _group(group),
        "members": [_member(m, s) for m, s in zip(members, scores, strict=True)],
        "n_valid": len(members),
        "threshold": majority_threshold(len(members)),
    }


def _group(group: Claims) -> dict[str, Any]:
    return {
        "findings": sorted(group.findings),
        "verdict": group.verdict,
        "risk_mean": group.risk,
        "capabilities": sorted(group.capabilities),
        "dependencies": sorted(group.dependencies),
        "cves": sorted(group.cves),
        "rules": sorted(group.rules),
    }


def _member(member: Member, scores: MemberConsensus) -> dict[str, Any]:
    parts = {} if scores.components is None else msgspec.structs.asdict(scores.components)
    return {
        "hotkey": member.hotkey,
        "role": member.role,
        **parts,
        "consensus": scores.consensus,
        "agreement_with_primaries": scores.with_primaries,
        "agreement_with_auditors": scores.with_auditors,
    }


def score_weights_case(case: WeightsCase) -> dict[str, Any]:
    """Return scores per kind, unpaid windows, capped weights and what is unallocated (SPEC 11)."""
    for hotkey, windows in case.windows.items():
        require_types(windows, f"$.windows.{hotkey}")
    for hotkey, miner in case.standing.items():
        require_types(miner.types, f"$.standing.{hotkey}.types")
    return plan_document(version(case.scoring_version).mechanism_weights(case.windows, standing=case.standing))


def score_collusion_case(case: CollusionCase) -> dict[str, Any]:
    """Return which samples counted and after which (index) a flag was raised (SPEC 9)."""
    scored_by = version(case.scoring_version)
    counted: list[bool] = []
    flags: list[int] = []
    window: tuple[AgreementPair, ...] = ()
    for i, sample in enumerate(case.samples):
        counted.append(auditors_are_witnesses(scored_by, sample.auditor_agreement))
        if counted[-1]:
            pair = AgreementPair(sample.with_primaries, sample.with_auditors, sample.own, sample.witnesses)
            step = add_sample(scored_by, window, pair)
            window = step.window
            flags += [i] if step.raised else []
    return {"counted": counted, "flags": flags}


def score_reputation_case(case: ReputationCase) -> dict[str, Any]:
    """Return the value after each event (SPEC 10).

    Raises:
        SchemaError: an event that the version does not have.
    """
    scored_by, value = version(case.scoring_version), case.start
    rules = scored_by.rules.reputation
    known = ("recovery", *rules.gains, *rules.factors)
    values = []
    for i, kind in enumerate(case.events):
        if kind not in known:
            raise SchemaError(
                f"{scored_by.name} has no such event; write one of {', '.join(known)} - at `$.events[{i}]`"
            )
        value = apply_event(scored_by, value, kind)
        values.append(value)
    return {"values": values}


def score_keys_case(case: KeysCase) -> dict[str, Any]:
    """Return each finding's key, None where the finding is invalid (SPEC 3)."""
    return {"keys": [_key_or_none(finding) for finding in case.findings]}


def _key_or_none(finding: Finding) -> str | None:
    try:
        check_finding(finding, "$")
    except SchemaError:
        return None
    return finding_key(finding)


def score_emission_case(case: EmissionCase) -> Any:
    """Return the axes that apply, epsilon, quality, the factors and the emission (SPEC 6, 7) (SchemaError)."""
    window = Window(*case.window)
    if window.deadline <= window.t_min:
        raise SchemaError("the deadline must exceed t_min - at `$.window`")
    for i, finding in enumerate(case.findings):
        check_finding(finding, f"$.findings[{i}]")
    check_injections(case.truth.injections or (), "$.truth.injections")
    return msgspec.to_builtins(answer_emission(version(case.scoring_version), case))


def score_workflow_case(case: WorkflowCase) -> Any:
    """Return the four parts and S (SPEC 12) (SchemaError: more steps completed than there are)."""
    try:
        return msgspec.to_builtins(score_workflow(version(case.scoring_version), case))
    except ValueError as error:
        raise SchemaError(str(error)) from None


def score_execution_case(case: ExecutionCase) -> dict[str, Any]:
    """Return why the execution is inconclusive, null where it is not, S by base file, and the results (SPEC 15)."""
    refuse_repeated([one.hotkey for one in case.answers], "answers")
    probes = {name: frozenset(case.probes.get(name, ())) for name in BASE_TRACES}
    comparison = compare_execution(
        version(case.scoring_version),
        [ExecutionRun(run.ended, *_traced(run.signatures, probes)) for run in case.runs],
        [TracedAnswer(one.hotkey, *_traced(one.signatures, probes)) for one in case.answers],
        probes=probes,
        mark=case.mark,
        made_here=case.made_here,
        digitless=lambda text: digitless([text])[0],
        submitted=case.submitted,
    )
    return {
        "inconclusive": comparison.inconclusive and comparison.inconclusive.removeprefix("execution_"),
        "stable": {name: sorted(one.stable) for name, one in comparison.files.items()},
        "results": [
            {"hotkey": one.hotkey, "event": one.event} for one in comparison.answers if comparison.inconclusive is None
        ],
    }


def _traced(signatures: Signatures, probes: Sets) -> tuple[bool, Sets]:
    """Return whether all probes show in these, and these as sets."""
    traced: Sets = {name: frozenset(signatures.get(name, ())) for name in BASE_TRACES}
    return all(probes[name] <= traced[name] for name in BASE_TRACES), traced


def select_case(case: SelectionCase) -> dict[str, Any]:
    """Return primaries, auditors, promoted, demoted, excluded and mode (SPEC 8) (SchemaError)."""
    check_candidates(case.candidates)
    group = version(case.scoring_version).select_group(
        case.candidates, bytes.fromhex(case.seed), case.round_id, case.task_id
    )
    return group_document(group)


CASES: Final[Mapping[Number, Sequence[Form]]] = {
    "collusion": [Form(CollusionCase, score_collusion_case, tallies=False)],
    "consensus": [Form(ConsensusCase, score_consensus_case)],
    "emission": [Form(EmissionCase, score_emission_case, tallies=False)],
    "execution": [Form(ExecutionCase, score_execution_case)],
    "keys": [Form(KeysCase, score_keys_case)],
    "reputation": [Form(ReputationCase, score_reputation_case)],
    "tally": [Form(TallyCase, tally_case, tallies=True)],
    "weights": [
        Form(WeightsCase, score_weights_case, tallies=False),
        Form(TallyWeightsCase, pay_tallies_case, tallies=True),
    ],
    "workflow": [Form(WorkflowCase, score_workflow_case)],
}


def score(
    number: Annotated[Number, typer.Argument(metavar="NUMBER", help=", ".join(get_args(Number)))], files: Files
) -> None:
    """Recompute a number from JSON documents; each file gives one line.

    consensus: components, consensus and agreements of a task's group (SPEC 4). emission: axes, epsilon, quality and
    emission of an answer (SPEC 6, 7). weights: scores and capped weights of windows (SPEC 11). workflow: S of a run
    (SPEC 12). execution: traces next to three runs of a task's bundle (SPEC 15). keys: of findings (SPEC 3).
    reputation: after each event (SPEC 10). collusion: which samples count, and which raise a flag (SPEC 9). tally:
    entries and answer scores of a task's answers under 2.0.0 (SPEC 17).
    """
    compute_files(files, *CASES[number])


@GROUPS.command()
def select(files: Files) -> None:
    """Select the group of a task from its frozen pool and seed."""
    compute_files(
        files,
        Form(SelectionCase, select_case, tallies=False),
        Form(TurnSelectionCase, select_by_turn_case, tallies=True),
    )


@GROUPS.command()
def turns(files: Files) -> None:
    """Count the turns of a type's candidates in the round to come (SPEC 17, D-34)."""
    compute_files(files, Form(TurnsCase, turns_case, tallies=True))
