"""The display of a run of the local network: live progress, then tables."""

from collections import Counter
from pathlib import Path
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from localnet.analysis_cost import print_effort
from localnet.executions.story import print_executions
from localnet.own.results import print_own
from localnet.result import MinerResult, NetworkResult
from sssa.protocol.text import printable
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.store.rows import FlagDetail


def print_payout(result: NetworkResult, console: Console) -> None:
    """Print every miner's weight in every row, and their aggregate."""
    rows, aggregate = result.payout.rows, result.payout.aggregate
    several = len(rows) > 1
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("hotkey", "behaviour"):
        table.add_column(column)
    numbers = [f"validator {number}" for number, _ in enumerate(rows, 1)] if several else ["on chain"]
    for column in ("sent", *numbers, *(["paid together"] if several else [])):
        table.add_column(column, justify="right")
    for miner in sorted(result.miners, key=lambda m: (-m.aggregate, -m.on_chain, m.name)):
        shares = [row.shares.get(miner.hotkey, 0.0) for row in rows]
        if miner.weight or any(shares):
            paid = [aggregate.get(miner.hotkey, 0.0)] if several else []
            cells = (f"{value:.6f}" for value in (miner.weight, *shares, *paid))
            table.add_row(f"{miner.hotkey[:10]}…", Text(miner.name), *cells)
    console.print(table)
    for line in payout_sentences(result) if several else ():
        console.print(line, soft_wrap=True)
    console.print()


def payout_sentences(result: NetworkResult) -> list[str]:
    """Return in sentences how far the validators are apart, and what paying by all of them changes."""
    rows, payout = result.payout.rows, result.payout
    if payout.spread is None or payout.distance is None:
        without = sum(not row.shares for row in rows)
        return [f"{without} of {len(rows)} validators have no row on the chain: there is nothing to compare."]
    apart = (
        f"{len(rows)} validators asked the same miners, each with its own draws. Their rows place "
        f"{payout.spread:.1%} of the weights differently."
    )
    together = (
        "Together they pay by the stake-weighted median of their rows; each row alone would place "
        f"{payout.distance:.1%} of the weights otherwise."
    )
    return [apart, together]


_WIDE: Final = 150
_COLUMNS: Final = (
    "hotkey",
    "behaviour",
    "tasks",
    "mean Q",
    "mean cons.",
    "mean S",
    "reputation",
    "flags",
    "score",
    "weight",
    "reasons",
)


class Screen:
    """Progress of a run: a bar on a terminal, a line per round everywhere.

    Args:
        rounds: how many there will be; None where nobody knows.
        console: where it goes; standard error keeps standard output for results.
    """

    def __init__(self, rounds: int | None, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID = self._progress.add_task("starting", total=rounds)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take it away."""
        self._progress.stop()

    def stage(self, text: str) -> None:
        """Say what is being done now."""
        self._progress.update(self._task, description=text)
        self._console.print(Text(f"{text} …", style="dim"), soft_wrap=True)

    def doing(self, text: str) -> None:
        """Show what is being done now, where there is a bar."""
        self._progress.update(self._task, description=printable(text, 80))

    def started(self, prepared: Prepared) -> None:
        """Say which round is in hand."""
        many = sum(len(group.members) for group in prepared.plan.groups)
        self._progress.update(self._task, description=f"round {prepared.frozen.round_id}: {many} dispatches out")

    def ended(self, end: EndedRound, validator: int = 1) -> None:
        """Print the round's line, and whose it is unless it is the first validator's."""
        self._progress.advance(self._task)
        whose = "" if validator == 1 else f"  validator {validator}"
        self._console.print(Text(round_line(end) + whose), soft_wrap=True)


def round_line(end: EndedRound) -> str:
    """Return a round as one line: how many answers passed, why others did not, flags."""
    if end.returned is None or end.outcome is None:
        return f"round {end.round_id:>3}  {end.seconds:5.1f} s  {end.reason}"
    counts = Counter(judged.reason for judged in end.returned.judged.values())
    passed = sum(many for reason, many in counts.items() if not reason.gate)
    failed = ", ".join(f"{many} {reason}" for reason, many in sorted(counts.items()) if reason.gate)
    flags = f"  FLAGS {len(end.outcome.flags)}" if end.outcome.flags else ""
    total = sum(counts.values())
    return (
        f"round {end.round_id:>3}  {end.seconds:5.1f} s  {len(end.outcome.groups)} tasks, {total} dispatches "
        f"({end.returned.most_open} open at once), {passed} passed" + (f"; {failed}" if failed else "") + flags
    )


def print_result(result: NetworkResult, console: Console, *, cohort: bool = False) -> None:
    """Print the final table, the weights on chain, flags, and at the end what the cohort was paid if that is asked."""
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    table = Table(title="The local network, by score", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column in ("hotkey", "behaviour", "reasons") else "right")
    for miner in result.miners:
        table.add_row(*(Text(value) for value in _row(miner)))
    console.print(table)
    _print_chain(result, console)
    for detail in result.flags:
        _print_flag(result, detail, console)
    full = sum(most >= many > 0 for most, many in zip(result.most_open, result.dispatches, strict=False))
    console.print(
        f"{result.settled} of {result.rounds} rounds settled, {result.tasks} tasks, {result.full_groups} with groups "
        f"of 3+2; in {full} rounds every dispatch was open at once (most: {max(result.most_open, default=0)}); "
        f"rotation promoted an auditor {sum(miner.promotions for miner in result.miners)} times.",
        soft_wrap=True,
    )
    console.print(
        f"{result.plans} workflow plans were run on local services; their planners got "
        f"{result.planners_weight:.1%} of the weights.",
        soft_wrap=True,
    )
    print_executions(result.executions, console)
    print_effort(result.effort, console)
    if result.own is not None:
        print_own(result.own.types, result.own.tasks, console)
    if cohort:
        _print_cohort(result, console)


def _print_cohort(result: NetworkResult, console: Console) -> None:
    """Print what each epoch paid the cohort, and a sentence about the last epoch."""
    names = {miner.hotkey: miner.name for miner in result.miners}
    table = Table(title="\nWhat the cohort is paid", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("epoch", "ejected", "the cohort's weight", "that of the ejected"):
        table.add_column(column, justify="right")
    for pay in result.cohort.paid:
        table.add_row(str(pay.epoch), str(pay.ejected), f"{pay.weight:.6f}", f"{pay.ejected_weight:.6f}")
    console.print(table)
    for hotkey, round_id in sorted(result.cohort.ejections.items(), key=lambda ejection: ejection[1]):
        console.print(f"{names[hotkey]} was ejected in round {round_id}.")
    console.print(verdict(result), soft_wrap=True)


def verdict(result: NetworkResult) -> str:
    """Return in a sentence what the cohort is paid at the end."""
    story, members = result.cohort, len(result.cohort.members)
    if not story.paid:
        return "No vector was computed."
    last = story.paid[-1]
    parts = []
    if last.ejected:
        paid = "are paid nothing" if last.ejected_weight == 0 else f"hold {last.ejected_weight:.1%} of the weights"
        parts.append(f"the {last.ejected} that were ejected {paid}")
    if remaining := members - last.ejected:
        fair = remaining / len(result.miners)
        parts.append(
            f"the {remaining} of the cohort that were not ejected hold {last.weight - last.ejected_weight:.1%} of the "
            f"weights; an equal share would be {fair:.1%}"
        )
    return f"In epoch {last.epoch} {', '.join(parts)}."


def _row(miner: MinerResult) -> tuple[str, ...]:
    return (
        f"{miner.hotkey[:10]}…",
        miner.name,
        str(miner.tasks),
        _number(miner.mean_quality),
        _number(miner.mean_consensus),
        _number(miner.mean_workflow),
        f"{miner.reputation:.3f}",
        str(miner.flags),
        f"{miner.score:.4f}",
        f"{miner.weight:.4f}",
        ", ".join(f"{many} {reason}" for reason, many in miner.reasons.items()),
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _print_chain(result: NetworkResult, console: Console) -> None:
    submission = result.submission
    if submission is None:
        console.print("No weights were sent: no miner had a positive score, or the run was cut short.")
        return
    console.print(
        f"\nWeights of epoch {submission.epoch}: {submission.state} at block {submission.block}, "
        f"sum {result.weights_sum:.12f}, unallocated {submission.unallocated:.4f}. Read back from the simulated chain:",
        soft_wrap=True,
    )
    print_payout(result, console)


def _print_flag(result: NetworkResult, detail: FlagDetail, console: Console) -> None:
    flag = detail.flag
    name = next((miner.name for miner in result.miners if miner.hotkey == flag.hotkey), "?")
    console.print(
        f"Flag {flag.id} in round {flag.round_id}: {name} ({flag.hotkey[:10]}…) for "
        f"{flag.skill_type}: {flag.mean_with_primaries:.3f} with primaries, {flag.mean_with_auditors:.3f} with auditors"
    )
    pairs = (f"{s.round_id}: {_number(s.with_primaries)}/{_number(s.with_auditors)}" for s in detail.agreements)
    console.print(Text("   round: primaries/auditors  " + "  ".join(pairs), style="dim"))


_NEXT: Final = (
    ("explain 7 --config {config}", "why uid 7 earned what it earned"),
    ("rounds list --config {config}", "the rounds"),
    ("rounds show 0 --config {config}", "groups, answers and scores of one"),
    ("neurons list --config {config}", "what the validator thinks of everybody"),
    ("flags list --config {config}", "who agrees too much with whom"),
    ("weights show --config {config}", "the last vector and why"),
    ("waiting list --config {config}", "which tasks were executed, with the results"),
    ("audit export --config {config} --out log.jsonl", "the signed log of all rounds, in a file"),
    ("audit verify log.jsonl", "every draw, score and proof computed again from that file alone"),
    ("devnet --scenario collusion", "the three miners on top start to lie"),
    ("devnet --scenario collusion-fair", "the same without their head start"),
    ("devnet --scenario invented", "what inventing traces is worth (with a container engine)"),
)


def print_next(config: Path, validator: str, console: Console) -> None:
    """Print what to look at after a run.

    Args:
        config: the settings of the run.
        validator: the program as it was called.
        console: where to.
    """
    commands = [f"{validator} {command.format(config=config)}" for command, _ in _NEXT]
    width = max(map(len, commands))
    lines = (f"  {command:{width}}  {what}" for command, (_, what) in zip(commands, _NEXT, strict=True))
    console.print("\nWhat to try next:", *lines, sep="\n", soft_wrap=True, markup=False)
