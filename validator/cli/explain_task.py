"""One task of an explained round, as a page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from validator.cli.explain_page import LISTED
from validator.cli.output import Column, cell

if TYPE_CHECKING:
    from validator.audit.explain import AssessmentExplanation
    from validator.audit.explain.consensus import Consensus, Difference
    from validator.audit.explain.emission import Product
    from validator.audit.explain.gates import Gates
    from validator.audit.explain.quality import Quality
    from validator.audit.explain.round import TaskExplanation
    from validator.audit.explain.selection import Selection
    from validator.audit.explain.task import Group
    from validator.cli.explain_page import Page
    from validator.scoring import Rules

ROLES: Final = {
    "primary_by_rank": "primary",
    "primary_by_rotation": "primary, by rotation",
    "auditor_by_draw": "auditor",
    "not_drawn": "not drawn",
    "excluded": "excluded",
}
_WORDS: Final = {"not_reached": "not reached", "not_applicable": "does not apply"}
_KEY: Final = 8


def write_task(page: "Page", rules: "Rules", task: "AssessmentExplanation", hotkey: str) -> None:
    """Write how the miner `hotkey` came to the task, what became of its answer, and what that was worth."""
    page.section(f"{task.skill_type}, slot {task.slot}: {ROLES[task.selection.place]}{worth(task)}")
    page.line(f"task {task.task_id}, {task.provenance} truth, {ended(task)}", indent=0)
    write_selection(page, rules, task.selection)
    if task.gates is not None:
        write_gates(page, task.gates)
    if task.group is not None and task.gates is not None:
        _write_group(page, task.group, hotkey)
    if task.consensus is not None and task.group is not None:
        _write_consensus(page, task.consensus, task.group)
    elif task.group is not None and task.group.verdict is None and task.entry is not None:
        page.line("consensus is off: fewer than three valid answers, so quality alone counts (D-3)")
    if task.quality is not None:
        _write_quality(page, task.quality)
    if task.emission is not None:
        _write_emission(page, task.emission)
    elif task.gates is not None:
        write_entry(page, task)
    write_check(page, task)


def write_entry(page: "Page", task: "TaskExplanation") -> None:
    """Write what entered the window of a member whose answer was not scored."""
    page.heading("What entered the score window")
    page.line(f"{'nothing' if task.entry is None else cell(task.entry)}: {task.entry_meaning or task.meaning}")


def write_check(page: "Page", task: "TaskExplanation") -> None:
    """Warn where the stored numbers are not those that the task is worth."""
    if not task.as_stored:
        page.line("scoring this task again gives other numbers than are stored; run `validator replay`", style="red")


def worth(task: "TaskExplanation") -> str:
    """Return what the task was worth, for a heading."""
    if task.gates is None:
        return ""
    return f", {'nothing counts' if task.entry is None else cell(task.entry)}"


def ended(task: "TaskExplanation") -> str:
    """Return how the task ended."""
    return str(task.state) if task.reason == task.state else f"{task.state} ({task.reason})"


def write_selection(page: "Page", rules: "Rules", chosen: "Selection") -> None:
    """Write why the miner got its place."""
    page.heading("Why " + ROLES[chosen.place])
    page.line(chosen.why)
    if chosen.meaning is not None:
        page.line(f"{chosen.excluded}: {chosen.meaning}")
    others = "other has" if chosen.tied == 1 else "others have"
    tied = f"; {chosen.tied} {others} the same, among them the rank draw decides" if chosen.tied else ""
    page.line(f"reputation {chosen.reputation:.4f}{tied}")
    draws = [f"{name} draw {draw}…" for name, draw in _draws(chosen) if draw is not None]
    page.line(
        "; ".join(
            [
                f"{chosen.pool} of {chosen.candidates} candidates in the pool",
                *draws,
                f"in flight {chosen.in_flight} of {chosen.max_concurrent}",
                f"failures {chosen.failures} of {chosen.dispatches} in the last {rules.groups.history_rounds} rounds",
                f"flags {chosen.flags}",
                f"auditor streak {chosen.auditor_streak}",
            ]
        ),
        style="dim",
    )


def _draws(chosen: "Selection") -> Sequence[tuple[str, str | None]]:
    return ("rank", chosen.rank_draw), ("auditor", chosen.auditor_draw)


def write_gates(page: "Page", gates: "Gates") -> None:
    """Write how the answer went through the gates."""
    page.heading("Gates")
    window = f"window {gates.t_min:g} to {gates.deadline:g} s as {gates.role}"
    if gates.seconds is None:
        page.line(f"nothing was sent; {window}")
    else:
        early = "; too early" if gates.part is not None and gates.part < 0 else ""
        size = "" if gates.body_bytes is None else f", {gates.body_bytes} bytes"
        status = "" if gates.http_status is None else f", HTTP {gates.http_status}"
        page.line(f"{gates.seconds:.3f} s{status}{size}; {window}, f = {cell(gates.part)}{early}")
    page.line("; ".join(f"{gate.number} {gate.name} {_WORDS.get(gate.result, gate.result)}" for gate in gates.gates))
    subset = gates.semantic_subset
    page.line(f"7 semantics {'does not apply' if subset is None else f'subset {subset:.4f}'}")
    failed = any(gate.result == "failed" for gate in gates.gates)
    page.line(f"{gates.reason or 'not judged'}: {gates.meaning or ''}", style="red" if failed else "")
    if gates.detail:
        page.line(f"in detail: {gates.detail}")


def _write_group(page: "Page", group: "Group", hotkey: str) -> None:
    page.heading("The group")
    page.line(
        f"{group.mode}, {group.n_valid} valid"
        + (f", {group.threshold} make it the group's" if group.verdict is not None else "")
        + f"; verdict {cell(group.verdict)}, mean risk {cell(group.mean_risk)}"
        + f"; scored against {cell(group.scored_verdict)} ({cell(group.provenance)})"
        + ("" if group.auditor_agreement is None else f"; the auditors agree {group.auditor_agreement:.4f}")
    )
    columns = (
        Column(""),
        Column("role"),
        Column("hotkey"),
        Column("uid", right=True),
        Column("verdict"),
        Column("risk", right=True),
        Column("consensus", right=True),
        Column("worth", right=True),
        Column("outcome", fold=True),
    )
    page.table(
        columns,
        (
            (
                ">" if m.hotkey == hotkey else "",
                m.role,
                short(m.hotkey),
                m.uid,
                m.verdict,
                m.risk_score,
                m.consensus,
                m.entry,
                m.reason,
            )
            for m in group.members
        ),
    )


def _write_consensus(page: "Page", consensus: "Consensus", group: "Group") -> None:
    page.heading(f"Consensus {consensus.score:.4f}")
    write_parts(
        page,
        "component",
        [(part.name, part.weight, part.value, part.contribution, part.why) for part in consensus.components],
    )
    columns = (
        Column(""),
        Column("finding", fold=True),
        Column("key"),
        Column("reported by (P primary, A auditor)", fold=True),
    )
    roles = {member.hotkey: "P" if member.role == "primary" else "A" for member in group.members}
    if consensus.findings:
        page.blank()
        page.table(
            columns,
            (
                (
                    finding.side,
                    " ".join(
                        part
                        for part in (
                            f"{finding.category}, {finding.severity}",
                            finding.evidence and f"at {finding.evidence}",
                            finding.cves,
                            finding.target and f"on {finding.target}",
                        )
                        if part
                    ),
                    finding.key[:_KEY],
                    ", ".join(f"{roles[who]}:{short(who)}" for who in finding.reported_by),
                )
                for finding in consensus.findings[: 2 * LISTED]
            ),
        )
        if len(consensus.findings) > 2 * LISTED:
            page.line(f"and {len(consensus.findings) - 2 * LISTED} more (--json has them all)", style="dim")
    for name in ("capabilities", "dependencies", "cves", "rules"):
        _write_difference(page, "CVEs" if name == "cves" else name, getattr(consensus, name))


def _write_difference(page: "Page", name: str, difference: "Difference") -> None:
    for side, things in (("missed", difference.missed), ("extra", difference.extra)):
        page.things(
            f"{name} {side}", [f"{' '.join(thing.what)} (reported by {len(thing.reported_by)})" for thing in things]
        )


def _write_quality(page: "Page", quality: "Quality") -> None:
    page.heading(f"Quality Q = {quality.quality:.4f}")
    write_parts(
        page,
        "axis",
        [
            (axis.name, axis.weight, axis.value, None if axis.value is None else axis.weight * axis.value, axis.why)
            for axis in quality.axes
        ],
    )
    for axis in quality.axes:
        page.things(f"{axis.name} missed", [" ".join(parts) for parts in axis.missed])
        page.things(f"{axis.name} beyond the truth", [" ".join(parts) for parts in axis.extra])
    page.line(f"epsilon {quality.epsilon:.4f}, the part of the evidence that holds:")
    columns = (Column("check"), Column("weight", right=True), Column("held", right=True), Column("why", fold=True))
    page.table(columns, ((p.name, p.weight, p.held, p.why) for p in quality.epsilon_parts), indent=4)
    if quality.below_floor:
        page.line("epsilon is below 0.10, so Q is 0", style="red")
    else:
        page.line(
            f"Q = epsilon {quality.epsilon:.4f} × the axes' sum / {quality.weight_sum:.4f}, the weights that apply"
        )


def write_parts(page: "Page", name: str, rows: Sequence[tuple[str, float, float | None, float | None, str]]) -> None:
    """Write parts with their weights, and what each adds."""
    columns = (
        Column(name),
        Column("weight", right=True),
        Column("value", right=True),
        Column("adds", right=True),
        Column("why", fold=True),
    )
    page.table(columns, ((part, f"{weight:.2f}", value, adds, why) for part, weight, value, adds, why in rows))


def _write_emission(page: "Page", product: "Product") -> None:
    page.heading(f"Emission {product.emission:.4f}")
    columns = (Column("factor"), Column("value", right=True), Column("why", fold=True))
    page.table(columns, ((factor.name, factor.value, factor.why) for factor in product.factors))
    page.line(
        " × ".join(f"{factor.value:.4f}".rstrip("0").rstrip(".") for factor in product.factors)
        + f" = {product.emission:.4f}"
        + (": the answer came before t_min, so its emission is 0" if product.early else "")
    )


def short(hotkey: str) -> str:
    """Return the beginning of a hotkey."""
    from validator.audit.explain.words import short

    return short(hotkey)
