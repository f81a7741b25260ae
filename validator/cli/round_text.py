"""Rounds as text."""

from collections.abc import Iterable, Mapping, Sequence

from validator.audit.views import RoundView, TaskView
from validator.cli.kinds.pages import page_of
from validator.cli.output import cell, print_line
from validator.cli.tables import Column, print_table
from validator.protocol.reasons import meaning_of
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
    for stall in view.stalls:
        print_line(f"the validator stood still from {cell(stall.started_at)} for {stall.seconds:.1f} s (D-26)")
    for task in view.tasks:
        _print_task(task, view.uids)
    _print_flags(view)
    _print_reputation(view)
    _print_meanings(view)


def _print_task(task: TaskView, uids: Mapping[str, int]) -> None:
    print_line()
    ended = task.reason if task.reason and task.reason != task.state else None
    print_line(
        f"Task {task.task_id}: {task.skill_type}, slot {task.slot}, mode {task.mode}, {task.state}"
        + (f" ({ended})" if ended else "")
    )
    page = page_of(task.skill_type)
    print_line(page.subject(task))
    if task.outcome is not None:
        print_line(page.came_to(task.outcome))
    if task.dispatches:
        page.dispatches(task.dispatches, uids)
    for word, hotkeys in (("promoted", task.promoted), ("demoted", task.demoted)):
        for hotkey in hotkeys:
            print_line(f"{word} {cell(hotkey)}")
    for out in task.excluded:
        print_line(f"excluded {cell(out.hotkey)}: {out.reason}")


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
        found += [(one.end, meaning_of(one.end)) for one in task.dispatches]
    return {(code, meaning) for code, meaning in found if code and meaning}
