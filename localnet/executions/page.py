"""What a run of the local network shows of its executions."""

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localnet.executions.story import ExecutedMiner, ExecutionStory
from validator.protocol.means import mean

HONEST: Final = frozenset({"thorough", "partial"})
INVENTING: Final = frozenset({"inventing", "pretending", "sleeping"})
_LEFT: Final = ("miner", "why")


def print_executions(story: ExecutionStory, console: Console) -> None:
    """Print who was run again and what that came to; without an engine one line that says so."""
    console.print(Text(summary(story)), soft_wrap=True)
    if story.why_not:
        return
    table = Table(title="\nCompared with runs in containers", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("miner", "passed", "failed", "of canaries passed", "mean entry", "reputation", "why"):
        table.add_column(column, justify="left" if column in _LEFT else "right")
    for miner in sorted(story.miners, key=lambda one: (-one.failed, -one.passed, one.name)):
        if miner.passed or miner.failed:
            table.add_row(*(Text(value) for value in _row(miner)))
    console.print(table)
    for miner in _inventing(story):
        console.print(Text(verdict(miner, story)), soft_wrap=True)


def summary(story: ExecutionStory) -> str:
    """Return in one line what was run again, or why nothing was and what that leaves unseen."""
    if story.why_not:
        names = ", ".join(miner.name for miner in _inventing(story))
        unseen = f": nothing shows who invents traces ({names})" if names else ""
        return f"No answer was run again ({story.why_not}){unseen}."
    passed, failed = (sum(getattr(miner, name) for miner in story.miners) for name in ("passed", "failed"))
    waiting = story.queued - passed - failed
    told = f"{passed} did what their traces claim, {failed} did not, {waiting} wait or are inconclusive"
    return f"{story.queued} answers were to be compared: {told}."


def verdict(miner: ExecutedMiner, story: ExecutionStory) -> str:
    """Return in a sentence what inventing its traces is worth, beside honest work."""
    honest = [one for one in story.miners if one.behaviour in HONEST]
    entries = [one.mean_entry for one in honest if one.mean_entry is not None]
    reputations = [one.reputation for one in honest if one.reputation is not None]
    if miner.mean_entry is None or miner.reputation is None or not entries or not reputations:
        return f"{miner.name} was not asked for anything that can be run again."
    least = min(one.reputation for one in story.miners if one.reputation is not None)
    lowest = ", the lowest of all" if miner.reputation == least else ""
    return (
        f"{miner.name} invents its traces: {miner.failed} of {miner.passed + miner.failed} comparisons failed, an "
        f"entry is worth {miner.mean_entry:.3f} (honest miners': {mean(entries):.3f}), its reputation for the runtime "
        f"types is {miner.reputation:.3f}{lowest} (honest miners': {mean(reputations):.3f})."
    )


def _inventing(story: ExecutionStory) -> list[ExecutedMiner]:
    return [miner for miner in story.miners if miner.behaviour in INVENTING]


def _row(miner: ExecutedMiner) -> tuple[str, ...]:
    return (
        miner.name,
        str(miner.passed),
        str(miner.failed),
        f"{miner.made_passed} of {miner.made_passed + miner.made_failed}",
        "-" if miner.mean_entry is None else f"{miner.mean_entry:.3f}",
        "-" if miner.reputation is None else f"{miner.reputation:.3f}",
        ", ".join(f"{many} {reason}" for reason, many in sorted(miner.reasons.items())),
    )
