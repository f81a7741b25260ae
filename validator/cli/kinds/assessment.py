"""An assessment as lines of text: `write_assessment` for `validator explain`, a row per member for `rounds show`."""

from collections.abc import Mapping, Sequence
from typing import Final

from sssa.cli.output import cell
from sssa.cli.rendering import LISTED, Page
from sssa.kinds.assessment.explanation import (
    AssessmentExplanation,
    Consensus,
    FindingLine,
    KnownFaults,
    MemberLine,
    Product,
    Quality,
)
from sssa.protocol.round import GroupOutcome
from sssa.protocol.text import count, plain, short
from sssa.scoring import Rules
from validator.audit.documents import DispatchDocument, TaskDocument
from validator.cli.kinds.page_parts import (
    PARTS,
    print_members,
    write_beginning,
    write_check,
    write_entry,
    write_members,
)

_KEY: Final = 8


def write_assessment(page: Page, rules: Rules, task: AssessmentExplanation, hotkey: str) -> None:
    """Write why the miner `hotkey` got the task, the result of its answer, and its score."""
    write_beginning(page, rules, task, f"{task.provenance} truth")
    if task.outcome is not None and task.gates is not None:
        _write_group(page, task.outcome, task.members, hotkey)
    if task.consensus is not None:
        _write_consensus(page, task.consensus, task.members)
    elif task.outcome is not None and task.outcome.verdict is None and task.entry is not None:
        page.line("consensus is off: fewer than three valid answers, so quality alone counts (D-3)")
    if task.quality is not None:
        _write_quality(page, task.quality)
    if task.faults is not None:
        _write_faults(page, task.faults)
    if task.emission is not None:
        _write_emission(page, task.emission)
    elif task.gates is not None:
        write_entry(page, task)
    write_check(page, task)


def _write_group(page: Page, group: GroupOutcome, members: Sequence[MemberLine], hotkey: str) -> None:
    page.heading("The group")
    page.line(
        f"{group.mode}, {group.n_valid} valid"
        + (f", {group.threshold} make it the group's" if group.verdict is not None else "")
        + f"; verdict {cell(group.verdict)}, mean risk {cell(group.mean_risk)}"
        + f"; scored against {cell(group.scored_verdict)} ({cell(group.provenance)})"
        + ("" if group.auditor_agreement is None else f"; the auditors agree {group.auditor_agreement:.4f}")
    )
    write_members(page, "verdict risk=risk_score> consensus> worth=entry>", members, hotkey)


def _write_consensus(page: Page, consensus: Consensus, members: Sequence[MemberLine]) -> None:
    page.heading(f"Consensus {consensus.score:.4f}")
    page.rows(f"component=name {PARTS}", consensus.components)
    roles = {member.hotkey: "P" if member.role == "primary" else "A" for member in members}
    if consensus.findings:
        page.blank()
        page.table(
            ". finding~ key reported_by_(P_primary,_A_auditor)~",
            [(one.side, _finding(one), one.key[:_KEY], _reporters(one, roles)) for one in consensus.findings],
            most=2 * LISTED,
        )
    differences: dict[str, list[str]] = {}
    for name in ("capabilities", "dependencies", "cves", "rules"):
        shown, difference = "CVEs" if name == "cves" else name, getattr(consensus, name)
        for side, things in (("missed", difference.missed), ("extra", difference.extra)):
            differences[f"{shown} {side}"] = [
                f"{' '.join(thing.what)} (reported by {len(thing.reported_by)})" for thing in things
            ]
    page.lists(differences)


def _finding(one: FindingLine) -> str:
    place = one.evidence and f"at {one.evidence}"
    target = one.target and f"on {one.target}"
    return " ".join(part for part in (f"{one.category}, {one.severity}", place, one.cves, target) if part)


def _reporters(one: FindingLine, roles: Mapping[str, str]) -> str:
    return ", ".join([f"{roles[who]}:{short(who)}" for who in one.reported_by])


def _write_quality(page: Page, quality: Quality) -> None:
    page.heading(f"Quality Q = {quality.quality:.4f}")
    page.rows(f"axis=name {PARTS}", quality.axes)
    differences: dict[str, list[str]] = {}
    for axis in quality.axes:
        differences[f"{axis.name} missed"] = [" ".join(parts) for parts in axis.missed]
        differences[f"{axis.name} beyond the truth"] = [" ".join(parts) for parts in axis.extra]
    page.lists(differences)
    page.line(f"epsilon {quality.epsilon:.4f}, the part of the evidence that holds:")
    page.rows("check=name weight> held> why~", quality.epsilon_parts, indent=4)
    if quality.below_floor:
        page.line("epsilon is below 0.10, so Q is 0", style="red")
    else:
        page.line(
            f"Q = epsilon {quality.epsilon:.4f} × the axes' sum / {quality.weight_sum:.4f}, the weights that apply"
        )


def _write_faults(page: Page, faults: KnownFaults) -> None:
    page.heading(f"Known faults: {faults.matched} of {len(faults.faults)} found")
    page.table(
        "kind~ what where~ found_at~",
        (
            (
                fault.kind,
                f"{fault.category}, {fault.severity}",
                " ".join((fault.evidence_ref, *fault.cve_ids)),
                fault.reported_at or "not found",
            )
            for fault in faults.faults
        ),
        most=2 * LISTED,
    )
    page.line(f"{count(faults.unmatched, 'finding')} next to them; none of this is scored (SPEC 16, D-33)")


def _write_emission(page: Page, product: Product) -> None:
    page.heading(f"Emission {product.emission:.4f}")
    page.rows("factor=name value> why~", product.factors)
    page.line(
        " × ".join(plain(factor.value) for factor in product.factors)
        + f" = {product.emission:.4f}"
        + (": the answer came before t_min, so its emission is 0" if product.early else "")
    )


def subject(task: TaskDocument) -> str:
    """Return the assessed bundle in a line."""
    return f"bundle {task.bundle_sha256}, provenance {task.provenance}"


def outcome_line(outcome: GroupOutcome) -> str:
    """Return the group's outcome in a line."""
    return (
        f"{outcome.n_valid} valid, threshold {outcome.threshold}, group verdict {cell(outcome.verdict)}, mean risk "
        f"{cell(outcome.mean_risk)}, scored against {cell(outcome.scored_verdict)} ({cell(outcome.provenance)}), "
        f"auditors agree {cell(outcome.auditor_agreement)}"
    )


def print_dispatches(dispatches: Sequence[DispatchDocument]) -> None:
    """Print a row per member."""
    results = ((one.quality, one.consensus, one.emission) for one in dispatches)
    print_members(dispatches, "Q> consensus> emission>", results)
