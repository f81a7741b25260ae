"""An explained round as a page."""

from validator.audit.explain import RoundExplanation
from validator.audit.explain.standing import Collusion, ReputationChange
from validator.audit.explain.window import TypeWindow, WeightEffect
from validator.cli.execution_text import write_execution
from validator.cli.explain_page import Page
from validator.cli.kinds.pages import page_of
from validator.cli.kinds.parts import ROLES
from validator.cli.output import cell
from validator.cli.tables import Column
from validator.scoring import Rules, version


def print_round_explanation(explained: RoundExplanation) -> None:
    """Print why the round was worth to the miner what it was."""
    page, rules = Page(), version(explained.round.scoring_version).rules
    _write_header(page, explained)
    for task in explained.tasks:
        page_of(task.skill_type).explained(page, rules, task, explained.miner.hotkey)
    if explained.executions:
        page.section("Executed")
        for execution in explained.executions:
            write_execution(page, execution)
    if explained.reputation or explained.collusion or explained.windows:
        page.section("What the round left behind")
        for change in explained.reputation:
            _write_reputation(page, change)
        for sample in explained.collusion:
            _write_collusion(page, rules, sample)
        for window in explained.windows:
            _write_window(page, rules, window)
        for weight in explained.weights:
            _write_weight(page, weight)
    page.write()


def _write_header(page: Page, explained: RoundExplanation) -> None:
    facts, miner = explained.round, explained.miner
    page.title(
        f"Round {facts.round_id}, {facts.state}: epoch {facts.epoch}, block {facts.block} of {cell(facts.block_time)}"
    )
    page.line(f"miner {miner.hotkey}, {'not registered' if miner.uid is None else f'uid {miner.uid}'}", indent=0)
    if miner.max_concurrent is not None:
        page.line(
            f"declared {', '.join(miner.skill_types) or 'nothing usable'}; takes {miner.max_concurrent} of a type at "
            f"once; collusion flags {miner.flags}",
            indent=0,
        )
    if explained.tasks:
        page.blank()
        columns = (Column("type"), Column("slot", right=True), Column("part"), Column("worth", right=True))
        page.table(
            (*columns, Column("outcome")),
            (
                (task.skill_type, task.slot, ROLES[task.selection.place], task.entry, task.entry_reason or task.reason)
                if task.gates is not None
                else (task.skill_type, task.slot, ROLES[task.selection.place], None, task.selection.excluded)
                for task in explained.tasks
            ),
            indent=0,
        )
    if explained.not_candidate:
        page.blank()
        for why in dict.fromkeys(other.why for other in explained.not_candidate):
            kinds = ", ".join(other.skill_type for other in explained.not_candidate if other.why == why)
            page.line(f"no candidate for {kinds}: {why}", indent=0)


def _write_reputation(page: Page, change: ReputationChange) -> None:
    page.heading(f"Reputation for {change.skill_type}: {change.before:.4f} to {change.after:.4f}")
    if not change.steps:
        page.line("no event")
    for step in change.steps:
        cause = f" by {step.cause}" if step.cause else ""
        page.line(f"{step.kind}{cause}: {step.before:.4f} to {step.after:.4f}")


def _write_collusion(page: Page, rules: Rules, sample: Collusion) -> None:
    page.heading(f"Agreement for {sample.skill_type}: {'counted' if sample.counted else 'not counted'}")
    page.line(
        f"with primaries {cell(sample.with_primaries)}, with auditors {cell(sample.with_auditors)}; "
        f"{sample.reason}: {sample.meaning}"
    )
    if len(sample.tasks) > 1:
        for task in sample.tasks:
            page.line(
                f"task {task.task_id}: {cell(task.with_primaries)}, {cell(task.with_auditors)}; {task.reason}",
                indent=4,
            )
    page.line(
        f"window {sample.samples}, {sample.window_before} before; mean with primaries "
        f"{cell(sample.mean_with_primaries)}, with auditors {cell(sample.mean_with_auditors)}"
    )
    limits = f"from {rules.collusion.min_samples} on, above {rules.collusion.primaries_above:.2f} and below "
    limits += f"{rules.collusion.auditors_below:.2f} raise a flag"
    if sample.flag is None:
        page.line(f"no flag: {limits}")
    else:
        page.line(f"a flag was raised: {limits}; the window begins anew (D-9)", style="red")


def _write_window(page: Page, rules: Rules, window: TypeWindow) -> None:
    page.heading(f"Score of the type {window.skill_type}: {window.score_before:.4f} to {window.score_after:.4f}")
    warm = "" if window.warm_up == 1 else f" (warm-up {window.length} of {rules.pay.warm_up} entries)"
    page.line(
        f"mean {window.mean:.4f} of {window.length} entries, at most the newest {rules.pay.window}, times "
        f"{window.warm_up:.4f}{warm}"
    )
    for entry in window.entries:
        now = "has left the window since" if entry.position_now is None else f"now {entry.position_now}"
        late = "" if entry.answered_in is None else f" of round {entry.answered_in}, judged since"
        page.line(f"task {entry.task_id}{late}: {entry.value:.4f}, entry {entry.position}; {now}")


def _write_weight(page: Page, weight: WeightEffect) -> None:
    mechanism = f" in mechanism {weight.mechid}" if weight.mechid else ""
    page.heading(f"Weight{mechanism} when the round had settled: {weight.weight:.4f}")
    page.line(
        f"its score in the vector {weight.score:.4f}; without this round's entries of the miner it would have been "
        f"{weight.score_without:.4f} and the weight {weight.weight_without:.4f}"
    )
