"""Parts of the text pages that all kinds share: `write_…` adds to a page, `print_members` prints at once."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sssa.cli.output import cell
from sssa.cli.rendering import Page, cells_of, columns, print_table
from sssa.kinds.task_explanation import Gates, Selection, TaskExplanation
from sssa.protocol.reasons import GATE_NAMES, meaning_of
from sssa.protocol.text import short
from sssa.scoring import Rules
from validator.audit.documents import DispatchDocument

ROLES: Final = {
    "primary_by_rank": "primary",
    "primary_by_rotation": "primary, by rotation",
    "auditor_by_draw": "auditor",
    "not_drawn": "not drawn",
    "excluded": "excluded",
}
PARTS: Final = "weight:.2f> value> adds=contribution> why~"
"""Columns of parts with their weights, and what each adds."""
_VOID: Final = (
    "Nothing of it counts, for you or against you: no entry in your score window, no reputation event, no failure in "
    "your failure rate. For rotation it was an assignment. The others of the group were scored as if you had not been "
    "in it, and nobody took your place. There is nothing to mend at your side."
)
_GATE_RESULTS: Final = {"not_reached": "not reached", "not_applicable": "does not apply"}


def write_entry(page: Page, task: TaskExplanation) -> None:
    """Write the window entry of a member whose answer was not scored."""
    page.heading("What entered the score window")
    page.line(f"{'nothing' if task.entry is None else cell(task.entry)}: {task.entry_meaning or task.meaning}")


def write_check(page: Page, task: TaskExplanation) -> None:
    """Warn where the stored numbers are not those that the task is worth."""
    if not task.as_stored:
        page.line("scoring this task again gives other numbers than are stored; run `validator replay`", style="red")


def write_beginning(page: Page, rules: Rules, task: TaskExplanation, kind: str, *about: str) -> None:
    """Write which task it is, why the miner got its place, and how its answer went through the gates."""
    worth = "nothing counts" if task.entry is None else cell(task.entry)
    shown = "" if task.gates is None else f", {worth}"
    page.section(f"{task.skill_type}, slot {task.slot}: {ROLES[task.selection.place]}{shown}")
    ended = str(task.state) if task.reason == task.state else f"{task.state} ({task.reason})"
    for line in (f"task {task.task_id}, {kind}, {ended}", *about):
        page.line(line, indent=0)
    _write_selection(page, rules, task.selection)
    if task.gates is not None:
        _write_gates(page, task.gates)


def _write_selection(page: Page, rules: Rules, chosen: Selection) -> None:
    page.heading("Why " + ROLES[chosen.place])
    page.line(chosen.why)
    if chosen.meaning is not None:
        page.line(f"{chosen.excluded}: {chosen.meaning}")
    others = "other has" if chosen.tied == 1 else "others have"
    tied = f"; {chosen.tied} {others} the same, among them the rank draw decides" if chosen.tied else ""
    page.line(f"reputation {chosen.reputation:.4f}{tied}")
    draws = {"rank": chosen.rank_draw, "auditor": chosen.auditor_draw}
    page.line(
        "; ".join(
            [
                f"{chosen.pool} of {chosen.candidates} candidates in the pool",
                *(f"{name} draw {draw}…" for name, draw in draws.items() if draw is not None),
                f"in flight {chosen.in_flight} of {chosen.max_concurrent}",
                f"failures {chosen.failures} of {chosen.dispatches} in the last {rules.groups.history_rounds} rounds",
                f"flags {chosen.flags}",
                f"auditor streak {chosen.auditor_streak}",
            ]
        ),
        style="dim",
    )


def _write_gates(page: Page, gates: Gates) -> None:
    page.heading("Gates")
    dispatch = gates.dispatch
    window = f"window {gates.window.t_min:g} to {gates.window.deadline:g} s as {dispatch.role}"
    if dispatch.seconds is None:
        page.line(f"nothing was sent; {window}")
    else:
        part = gates.part
        early = "; too early" if part is not None and part < 0 else ""
        size = "" if dispatch.body_bytes is None else f", {dispatch.body_bytes} bytes"
        status = "" if dispatch.http_status is None else f", HTTP {dispatch.http_status}"
        page.line(f"{dispatch.seconds:.3f} s{status}{size}; {window}, f = {cell(part)}{early}")
        if dispatch.stalled:
            page.line(
                f"{dispatch.stalled:.3f} s more were measured while the validator stood still: not on your time (D-26)"
            )
    page.line(
        "; ".join(f"{gate.number} {gate.name} {_GATE_RESULTS.get(gate.result, gate.result)}" for gate in gates.gates)
    )
    subset = gates.semantic_subset
    page.line(f"{len(GATE_NAMES)} {GATE_NAMES[-1]} {'does not apply' if subset is None else f'subset {subset:.4f}'}")
    failed = any(gate.result == "failed" for gate in gates.gates)
    page.line(f"{dispatch.reason or 'not judged'}: {meaning_of(dispatch.reason) or ''}", style="red" if failed else "")
    if dispatch.detail:
        page.line(f"in detail: {dispatch.detail}")
    if dispatch.void_alone:
        page.heading("Void: the cause was on the validator's side")
        page.line(_VOID)


def write_members(page: Page, names: str, members: Sequence[Any], hotkey: str) -> None:
    """Write a row per member of a group, the miner `hotkey` marked; `names` are the columns of a kind's own results."""
    shown = columns(f". role hotkey uid> {names} outcome=reason~")
    rows = [
        (">" if one.hotkey == hotkey else "", one.role, short(one.hotkey), *cells_of(shown[3:], one)) for one in members
    ]
    page.table(shown, rows)


def print_members(dispatches: Sequence[DispatchDocument], names: str, results: Iterable[tuple[object, ...]]) -> None:
    """Print a row per member of a group: place and outcome, then a kind's own results by `names`.

    Details where any are.
    """
    shown = columns(f"role hotkey uid> outcome seconds> {names} detail~")
    shown = shown if any(one.detail for one in dispatches) else shown[:-1]
    members = (
        (one.role, one.hotkey, one.uid, _outcome(one), one.seconds, *result, one.detail)
        for one, result in zip(dispatches, results, strict=True)
    )
    print_table(shown, (member[: len(shown)] for member in members))


def _outcome(dispatch: DispatchDocument) -> str:
    """Return the reason alone where it says the state too."""
    if dispatch.reason and dispatch.state in ("answered", "failed"):
        return dispatch.reason
    return f"{dispatch.state} {dispatch.reason or ''}".rstrip()
