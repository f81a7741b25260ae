"""`validator explain …`: a miner's results in a round with their reasons, or its state. Reads the store."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from msgspec import UNSET

from sssa.cli.errors import say_no
from sssa.cli.options import Config, Json
from sssa.cli.output import NONE, cell, print_json
from sssa.cli.rendering import Page
from sssa.kinds.task_explanation import TaskExplanation
from sssa.protocol.limits import MAX_ROUND_ID
from sssa.protocol.round import AgreementPair, AgreementSample
from sssa.scoring import Rules, version
from validator.audit.documents import explanation_document
from validator.audit.explain.effects import Collusion, ReputationChange, TaskAgreement, TypeWindow, WeightEffect
from validator.audit.explain.miner import MinerExplanation, Point, TallyPayment, explain_miner
from validator.audit.explain.round_explanation import NothingToExplainError, RoundExplanation, explain_round
from validator.cli.kinds import page_of
from validator.cli.kinds.page_parts import ROLES
from validator.cli.session import ask_store
from validator.cli.waiting import write_execution
from validator.store.rows import DescribedUnpaid
from validator.weights.plan import mechanisms

_BARS: Final = "▁▂▃▄▅▆▇█"
_FAILED: Final = "×"
_NOTHING: Final = "·"
_LONGEST: Final = 60


def explain(
    who: Annotated[str, typer.Argument(metavar="MINER", help="A uid, a hotkey, or the beginning of one.")],
    round_id: Annotated[
        int | None,
        typer.Option("--round", metavar="N", min=0, max=MAX_ROUND_ID, help="This round alone, as it was settled."),
    ] = None,
    last: Annotated[int, typer.Option(min=1, max=1_000, help="Most rounds, without --round.")] = 30,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Explain a miner's last rounds, or with --round its results in that one.

    With --round a uid is that of the round. Exit 1: no such round or miner, or the round was not settled.
    """
    now = datetime.now(UTC)
    try:
        if round_id is None:
            miner = ask_store(
                config, lambda tx, settings: explain_miner(tx, who, last, now, mechanisms(settings.weights))
            )
            print_json(miner) if as_json else print_miner_explanation(miner)
        else:
            explained = ask_store(
                config, lambda tx, settings: explain_round(tx, round_id, who, mechanisms(settings.weights))
            )
            print_json(explanation_document(explained)) if as_json else print_round_explanation(explained)
    except NothingToExplainError as error:
        say_no(error.detail)


def print_round_explanation(explained: RoundExplanation) -> None:
    """Print the miner's results in the round and the reasons for them."""
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
        page.table("type slot> part worth> outcome", map(_task_cells, explained.tasks), indent=0)
    if explained.not_candidate:
        page.blank()
        for why in dict.fromkeys(other.why for other in explained.not_candidate):
            kinds = ", ".join(other.skill_type for other in explained.not_candidate if other.why == why)
            page.line(f"no candidate for {kinds}: {why}", indent=0)


def _task_cells(task: TaskExplanation) -> tuple[object, ...]:
    place = task.selection.place
    if task.gates is None:
        return task.skill_type, task.slot, ROLES[place], None, task.selection.excluded
    return task.skill_type, task.slot, ROLES[place], task.entry, task.entry_reason or task.reason


def _write_reputation(page: Page, change: ReputationChange) -> None:
    page.heading(f"Reputation for {change.skill_type}: {change.before:.4f} to {change.after:.4f}")
    if not change.steps:
        page.line("no event")
    for step in change.steps:
        cause = f" by {step.cause}" if step.cause else ""
        page.line(f"{step.kind}{cause}: {step.before:.4f} to {step.after:.4f}")


def _write_collusion(page: Page, rules: Rules, explained: Collusion) -> None:
    sample = explained.sample
    page.heading(f"Agreement for {sample.skill_type}: {'counted' if sample.counted else 'not counted'}")
    page.line(f"{_agreements(sample)}; {sample.reason}: {explained.meaning}")
    if len(explained.tasks) > 1:
        for task in explained.tasks:
            page.line(f"task {task.task_id}: {_agreements(task)}; {task.reason}", indent=4)
    page.line(f"window {explained.samples}, {explained.window_before} before; means: {_agreements(explained.means)}")
    limits = f"from {rules.collusion.min_samples} on, above {rules.collusion.primaries_above:.2f} and below "
    limits += f"{rules.collusion.auditors_below:.2f} raise a flag, with a quality under "
    limits += f"{rules.collusion.worse:.2f} of the auditors'"
    if explained.flag is None:
        page.line(f"no flag: {limits}")
    else:
        page.line(f"a flag was raised: {limits}; the window begins anew (D-9)", style="red")


def _agreements(of: AgreementSample | TaskAgreement | AgreementPair | None) -> str:
    if of is None:
        return NONE
    return (
        f"with primaries {cell(of.with_primaries)}, with auditors {cell(of.with_auditors)}, quality {cell(of.own)}, "
        f"that of the other auditors {cell(of.witnesses)}"
    )


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


def print_miner_explanation(explained: MinerExplanation) -> None:
    """Print the miner's state and how its last rounds went, with a sparkline for each type."""
    page = Page()
    page.title(f"Miner {explained.hotkey}")
    uid = f"uid {explained.uid}" if explained.registered else "not registered any more"
    ejected = ", ejected" if explained.ejected else ""
    page.line(f"{uid}; collusion flags {explained.flags}{ejected}", indent=0)
    weights = ", ".join(f"{weight:.4f} (mechanism {mechid})" for mechid, weight in explained.weights.items()) or NONE
    page.line(f"score over all types {explained.score:.4f}, weight {weights} from the windows as they are", indent=0)
    rounds = explained.rounds
    if rounds:
        page.line(f"below: the last {len(rounds)} rounds in which it was scored, {rounds[-1]} to {rounds[0]}", indent=0)
    else:
        page.line("it was never scored", indent=0)
    page.blank()
    _write_types(page, explained)
    if explained.tallies is not UNSET:
        _write_tallies(page, explained.tallies)
    if explained.unpaid:
        page.heading("Not paid now")
        page.line("These windows keep their entries, but count as 0 in the weights while the reason holds.")
        for window in explained.unpaid:
            _write_unpaid(page, window)
    if explained.failures:
        page.heading("Last failures")
        for failure in explained.failures:
            page.line(f"round {failure.round_id}, {failure.skill_type}, {failure.role}: {failure.reason}")
            page.line(f"{failure.meaning}{f' ({failure.detail})' if failure.detail else ''}", indent=4)
    page.write()


def _write_tallies(page: Page, tallies: TallyPayment) -> None:
    parts = f"of {tallies.entries} entries, ramp {tallies.ramp:.4f}, factor {tallies.factor:.4f}"
    page.heading(f"Tallies: {tallies.score:.4f} {parts}")
    page.line(f"they decide {tallies.share:.0%} of the assessments' pay; entries of earlier versions the rest")
    for one in tallies.types:
        made = f"quality {one.quality:.4f}, epsilon {one.epsilon:.4f}, presence {one.presence:.4f}"
        page.line(f"{one.skill_type}: {made}, adds {one.worth:.4f}")
        page.rows(
            "component=name weight:.2f> got:g> offered:g> pool> own> ratio> counts=value>", one.components, indent=4
        )


def _write_types(page: Page, explained: MinerExplanation) -> None:
    page.rows(
        "type=skill_type declared score> entries=window_entries> reputation> tasks> failed=failure_rate:.0%> "
        "mean=mean_emission>",
        explained.types,
        indent=0,
    )
    if scored := [one for one in explained.types if one.points]:
        page.blank()
        lines = ((one.skill_type, sparkline(one.points)) for one in scored)
        page.table("type its_tasks,_oldest_to_newest~", lines, indent=0)
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


def _write_unpaid(page: Page, window: DescribedUnpaid) -> None:
    since = f"since the weights of epoch {window.since_epoch}"
    if window.since_round is not None:
        since += f" (round {window.since_round} was the newest then)"
    page.line(f"{window.skill_type}: {window.reason}, {since}")
    page.line(f"why: {window.meaning or 'this program does not know the reason'} ({window.detail})", indent=4)
    if window.remedy:
        page.line(f"what brings it back: {window.remedy}", indent=4)
