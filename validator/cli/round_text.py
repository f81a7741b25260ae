"""Rounds as text."""

from collections.abc import Iterable, Sequence

from validator.audit.views import DispatchView, RoundView, TaskView
from validator.cli.output import Column, cell, print_line, print_table
from validator.protocol.scoring_version import SkillType
from validator.store.records import RoundRecord


def print_rounds(rounds: Sequence[RoundRecord]) -> None:
    """Print one line per round."""
    if not rounds:
        print_line("no rounds")
        return
    columns = (
        Column("round", right=True),
        Column("state"),
        Column("reason"),
        Column("epoch", right=True),
        Column("block", right=True),
        Column("started"),
        Column("tasks", right=True),
        Column("dispatches", right=True),
        Column("accepted", right=True),
        Column("failed", right=True),
        Column("mean Q", right=True),
        Column("mean consensus", right=True),
    )
    print_table(
        columns,
        (
            (
                one.round_id,
                one.state,
                one.reason,
                one.epoch,
                one.block,
                one.started_at,
                one.task_count,
                one.dispatch_count,
                one.accepted_count,
                one.failed_count,
                one.mean_quality,
                one.mean_consensus,
            )
            for one in rounds
        ),
    )


def print_round(view: RoundView) -> None:
    """Print a whole round; what its reason codes mean comes last."""
    record = view.round
    reason = f" ({record.reason})" if record.reason and record.reason != record.state else ""
    print_line(f"Round {record.round_id}: {record.state}{reason}, epoch {record.epoch}, block {record.block}")
    print_line(f"started {cell(record.started_at)}, ended {cell(record.settled_at)}")
    print_line(
        f"{record.task_count} tasks, {record.dispatch_count} dispatches, {cell(record.accepted_count)} accepted, "
        f"{cell(record.failed_count)} failed, mean Q {cell(record.mean_quality)}, "
        f"mean consensus {cell(record.mean_consensus)}"
    )
    for task in view.tasks:
        _print_task(task)
    _print_flags(view)
    _print_reputation(view)
    _print_meanings(view)


def _print_task(task: TaskView) -> None:
    print_line()
    ended = task.reason if task.reason and task.reason != task.state else None
    print_line(
        f"Task {task.task_id}: {task.skill_type}, slot {task.slot}, mode {task.mode}, {task.state}"
        + (f" ({ended})" if ended else "")
    )
    plans = task.skill_type == SkillType.WORKFLOW
    print_line(f"goal {task.bundle_sha256}" if plans else f"bundle {task.bundle_sha256}, provenance {task.provenance}")
    outcome = task.outcome
    if outcome is not None and plans:
        print_line(f"{outcome.n_valid} plans were run")
    elif outcome is not None:
        print_line(
            f"{outcome.n_valid} valid, threshold {outcome.threshold}, group verdict {cell(outcome.verdict)}, mean risk "
            f"{cell(outcome.mean_risk)}, scored against {cell(outcome.scored_verdict)} ({cell(outcome.provenance)}), "
            f"auditors agree {cell(outcome.auditor_agreement)}"
        )
    if task.dispatches:
        _print_plans(task.dispatches) if plans else _print_dispatches(task.dispatches)
    for word, hotkeys in (("promoted", task.promoted), ("demoted", task.demoted)):
        for hotkey in hotkeys:
            print_line(f"{word} {cell(hotkey)}")
    for out in task.excluded:
        print_line(f"excluded {cell(out.hotkey)}: {out.reason}")


def _print_dispatches(dispatches: Sequence[DispatchView]) -> None:
    columns = (
        Column("role"),
        Column("hotkey"),
        Column("uid", right=True),
        Column("outcome"),
        Column("seconds", right=True),
        Column("Q", right=True),
        Column("consensus", right=True),
        Column("emission", right=True),
        Column("detail", fold=True),
    )
    shown = len(columns) if any(one.detail for one in dispatches) else len(columns) - 1
    print_table(
        columns[:shown],
        (
            (
                one.role,
                one.hotkey,
                one.uid,
                _outcome(one),
                one.seconds,
                one.quality,
                one.consensus,
                one.emission,
                one.detail,
            )[:shown]
            for one in dispatches
        ),
    )


def _print_plans(dispatches: Sequence[DispatchView]) -> None:
    columns = (
        Column("role"),
        Column("hotkey"),
        Column("uid", right=True),
        Column("outcome"),
        Column("seconds", right=True),
        Column("steps", right=True),
        Column("quality", right=True),
        Column("TAO", right=True),
        Column("run s", right=True),
        Column("S", right=True),
        Column("detail", fold=True),
    )
    shown = len(columns) if any(one.detail for one in dispatches) else len(columns) - 1
    print_table(columns[:shown], ((*_plan_cells(one), one.detail)[:shown] for one in dispatches))


def _plan_cells(one: DispatchView) -> tuple[object, ...]:
    run = one.workflow.measured if one.workflow else None
    return (
        one.role,
        one.hotkey,
        one.uid,
        _outcome(one),
        one.seconds,
        f"{run.steps_completed} of {run.total_steps}" if run else None,
        run.output_quality if run else None,
        f"{run.actual_tao:g}" if run else None,
        f"{run.actual_seconds:.3f}" if run else None,
        one.emission,
    )


def _outcome(dispatch: DispatchView) -> str:
    """Return the reason alone where it says the state too."""
    if dispatch.reason and dispatch.state in ("answered", "failed"):
        return dispatch.reason
    return f"{dispatch.state} {dispatch.reason or ''}".rstrip()


def _print_flags(view: RoundView) -> None:
    for flag in view.flags:
        print_line()
        print_line(
            f"Flag {flag.id} raised: {cell(flag.hotkey)} for {flag.skill_type}, {flag.samples} samples, mean agreement "
            f"{cell(flag.mean_with_primaries)} with primaries, {cell(flag.mean_with_auditors)} with auditors"
            + ("" if flag.standing else ", cleared since")
        )


def _print_reputation(view: RoundView) -> None:
    if not view.reputation:
        return
    print_line()
    print_line("Reputation")
    columns = (
        Column("hotkey"),
        Column("type"),
        Column("event"),
        Column("before", right=True),
        Column("after", right=True),
        Column("cause"),
    )
    print_table(
        columns,
        ((e.hotkey, e.skill_type, e.kind, e.before, e.after, e.cause or None) for e in view.reputation),
    )


def _print_meanings(view: RoundView) -> None:
    meanings = dict(sorted(_meanings(view)))
    if meanings:
        print_line()
        print_line("What the reasons mean")
    for code, meaning in meanings.items():
        print_line(f"{code}: {meaning}")


def _meanings(view: RoundView) -> Iterable[tuple[str, str]]:
    found = [(view.round.reason, view.meaning)]
    for task in view.tasks:
        found.append((task.reason, task.meaning))
        found += [(out.reason, out.meaning) for out in task.excluded]
        found += [(one.reason, one.meaning) for one in task.dispatches]
    return {(code, meaning) for code, meaning in found if code and meaning}
