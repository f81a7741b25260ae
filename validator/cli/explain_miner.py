"""An explained miner as a page, with a sparkline per type."""

from collections.abc import Sequence
from typing import Final

from validator.audit.explain import MinerExplanation
from validator.audit.explain.miner import Failure, Point
from validator.cli.explain_page import Page
from validator.cli.output import NONE
from validator.cli.tables import Column
from validator.store.computed import UnpaidTold

_BARS: Final = "▁▂▃▄▅▆▇█"
_FAILED: Final = "×"
_NOTHING: Final = "·"
_LONGEST: Final = 60


def print_miner_explanation(explained: MinerExplanation) -> None:
    """Print where the miner stands and how its last rounds went."""
    page = Page()
    page.title(f"Miner {explained.hotkey}")
    uid = f"uid {explained.uid}" if explained.registered else "not registered any more"
    ejected = ", ejected" if explained.ejected else ""
    page.line(f"{uid}; collusion flags {explained.flags}{ejected}", indent=0)
    of_mechanisms = [f"{weight:.4f} (mechanism {mechid})" for mechid, weight in explained.weights.items()]
    weights = ", ".join(of_mechanisms) or NONE
    page.line(f"score over all types {explained.score:.4f}, weight {weights} from the windows as they are", indent=0)
    rounds = explained.rounds
    if rounds:
        page.line(f"below: the last {len(rounds)} rounds in which it was scored, {rounds[-1]} to {rounds[0]}", indent=0)
    else:
        page.line("it was never scored", indent=0)
    page.blank()
    _write_types(page, explained)
    if explained.unpaid:
        page.heading("Not paid now")
        page.line("These windows keep their entries, but count as 0 in the weights while the reason holds.")
        for window in explained.unpaid:
            _write_unpaid(page, window)
    if explained.failures:
        page.heading("Last failures")
        for failure in explained.failures:
            _write_failure(page, failure)
    page.write()


def _write_types(page: Page, explained: MinerExplanation) -> None:
    columns = (
        Column("type"),
        Column("declared"),
        Column("score", right=True),
        Column("entries", right=True),
        Column("reputation", right=True),
        Column("tasks", right=True),
        Column("failed", right=True),
        Column("mean", right=True),
    )
    page.table(
        columns,
        (
            (
                one.skill_type,
                one.declared,
                one.score,
                one.window_entries,
                one.reputation,
                one.tasks,
                None if one.failure_rate is None else f"{one.failure_rate:.0%}",
                one.mean_emission,
            )
            for one in explained.types
        ),
        indent=0,
    )
    scored = [one for one in explained.types if one.points]
    if not scored:
        return
    page.blank()
    page.table(
        (Column("type"), Column("its tasks, oldest to newest", fold=True)),
        ((one.skill_type, sparkline(one.points)) for one in scored),
        indent=0,
    )
    page.line(
        f"{_FAILED} failed a gate, {_NOTHING} entered nothing; the highest bar is the type's largest",
        indent=0,
        style="dim",
    )


def sparkline(points: Sequence[Point]) -> str:
    """Return one character per task of the newest 60, the highest bar being the largest emission among them."""
    newest = points[-_LONGEST:]
    largest = max((point.value for point in newest if point.value is not None), default=0.0)
    return "".join(_bar(point, largest) for point in newest)


def _bar(point: Point, largest: float) -> str:
    if point.failed:
        return _FAILED
    if point.value is None:
        return _NOTHING
    return _BARS[round(point.value / largest * (len(_BARS) - 1))] if largest > 0 else _BARS[0]


def _write_unpaid(page: Page, window: UnpaidTold) -> None:
    since = f"since the weights of epoch {window.since_epoch}"
    if window.since_round is not None:
        since += f" (round {window.since_round} was the newest then)"
    page.line(f"{window.skill_type}: {window.reason}, {since}")
    page.line(f"why: {window.meaning or 'this program does not know the reason'} ({window.detail})", indent=4)
    if window.remedy:
        page.line(f"what brings it back: {window.remedy}", indent=4)


def _write_failure(page: Page, failure: Failure) -> None:
    page.line(f"round {failure.round_id}, {failure.skill_type}, {failure.role}: {failure.reason}")
    page.line(f"{failure.meaning}{f' ({failure.detail})' if failure.detail else ''}", indent=4)
