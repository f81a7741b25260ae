"""The stable documents of `validator score`: one case in, one result out, in the form of the spec's vectors."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from validator.protocol.answer import Role
from validator.protocol.limits import MAX_CASE_MEMBERS
from validator.protocol.round import AgreementPair, ReputationKind
from validator.protocol.sssa import Document, Finding, Sssa, Text, Unit, check_finding, check_sssa
from validator.protocol.strict_json import SchemaError
from validator.protocol.task import check_injections
from validator.protocol.workflow_score import WorkflowRun
from validator.scoring.claims import Claims, claims_of, majority_threshold
from validator.scoring.collusion import add_sample, auditors_are_witnesses
from validator.scoring.consensus import Member, MemberConsensus, score_members
from validator.scoring.emission import emission
from validator.scoring.keys import finding_key
from validator.scoring.quality import AnswerFacts
from validator.scoring.reputation import apply_event
from validator.scoring.weights import WINDOW_TYPES, score_weights
from validator.scoring.workflow import score_workflow

Entry = Annotated[float, Meta(ge=0, le=1_000_000)]  # far above any emission, far below where sums overflow


class GroupMember(Document, frozen=True):
    """A member of one task's group; `sssa` null means no valid SSSA."""

    hotkey: Text
    role: Role
    sssa: Sssa | None


class ConsensusCase(Document, frozen=True):
    """One task's group."""

    task_id: Text
    members: Annotated[tuple[GroupMember, ...], Meta(max_length=MAX_CASE_MEMBERS)]


class WeightsCase(Document, frozen=True):
    """Windows: hotkey, then skill type, then entries, oldest first."""

    windows: dict[Text, dict[Text, tuple[Entry, ...]]]


class Sample(Document, frozen=True):
    """One round's agreements; `auditor_agreement` null means fewer than two valid auditors."""

    with_primaries: Unit
    with_auditors: Unit
    auditor_agreement: Unit | None


class CollusionCase(Document, frozen=True):
    """Samples of one (hotkey, skill_type), oldest first."""

    samples: tuple[Sample, ...]


class ReputationCase(Document, frozen=True):
    """A value and what happened to it."""

    start: Unit
    events: tuple[ReputationKind, ...]


class KeysCase(Document, frozen=True):
    """Findings to key."""

    findings: tuple[Finding, ...]


def score_consensus_case(case: ConsensusCase) -> dict[str, Any]:
    """Return the group, and each valid member's components, consensus and agreements (SPEC 4).

    Raises:
        SchemaError: naming the field.
    """
    refuse_repeated([m.hotkey for m in case.members], "members")
    for i, m in enumerate(case.members):
        if m.sssa is not None:
            _located(m.sssa, f"$.members[{i}].sssa")
    members = [Member(m.hotkey, m.role, claims_of(m.sssa)) for m in case.members if m.sssa is not None]
    group, scores = score_members(members)
    return {
        "enabled": group is not None,
        "group": None if group is None else _group(group),
        "members": [_member(m, s) for m, s in zip(members, scores, strict=True)],
        "n_valid": len(members),
        "threshold": majority_threshold(len(members)),
    }


def _located(sssa: Sssa, where: str) -> None:
    try:
        check_sssa(sssa)
    except SchemaError as error:
        raise SchemaError(error.detail.replace("at `", f"at `{where}.")) from None


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
    """Return scores, capped weights and what is unallocated (SPEC 11).

    Raises:
        SchemaError: an unknown skill type.
    """
    for hotkey, windows in case.windows.items():
        for name in windows:
            if name not in WINDOW_TYPES:
                raise SchemaError(f"must be one of {', '.join(WINDOW_TYPES)} - at `$.windows.{hotkey}.{name}`")
    return score_weights(case.windows)._asdict()


def score_collusion_case(case: CollusionCase) -> dict[str, Any]:
    """Return which samples counted and after which (index) a flag was raised (SPEC 9)."""
    counted: list[bool] = []
    flags: list[int] = []
    window: tuple[AgreementPair, ...] = ()
    for i, sample in enumerate(case.samples):
        counted.append(auditors_are_witnesses(sample.auditor_agreement))
        if counted[-1]:
            step = add_sample(window, AgreementPair(sample.with_primaries, sample.with_auditors))
            window = step.window
            flags += [i] if step.flag else []
    return {"counted": counted, "flags": flags}


def score_reputation_case(case: ReputationCase) -> dict[str, Any]:
    """Return the value after each event (SPEC 10)."""
    value = case.start
    values = []
    for kind in case.events:
        value = apply_event(value, kind)
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


def score_emission_case(case: AnswerFacts) -> Any:
    """Return the axes that apply, epsilon, quality, the factors and the emission (SPEC 6, 7).

    Raises:
        SchemaError: naming the field.
    """
    if case.window[1] <= case.window[0]:
        raise SchemaError("the deadline must exceed t_min - at `$.window`")
    for i, finding in enumerate(case.findings):
        check_finding(finding, f"$.findings[{i}]")
    check_injections(case.truth.injections or (), "$.truth.injections")
    return msgspec.to_builtins(emission(case))


def score_workflow_case(case: WorkflowRun) -> Any:
    """Return the four parts and S (SPEC 12).

    Raises:
        SchemaError: more steps completed than there are.
    """
    try:
        return msgspec.to_builtins(score_workflow(case))
    except ValueError as error:
        raise SchemaError(str(error)) from None


def refuse_repeated(hotkeys: Sequence[str], field: str) -> None:
    """Raise SchemaError if a hotkey stands twice in `field`."""
    seen: set[str] = set()
    for i, hotkey in enumerate(hotkeys):
        if hotkey in seen:
            raise SchemaError(f"this hotkey stands in it twice - at `$.{field}[{i}].hotkey`")
        seen.add(hotkey)
