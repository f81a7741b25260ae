"""The executions of a run of the local network: read back from the store, as anybody could, and shown."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localnet.roster import Resident
from sssa.protocol.arithmetic import mean
from sssa.protocol.execution import AnswerResult
from sssa.protocol.skill_types import is_runtime
from sssa.state.mechanism_state import ENTRIES, Miner
from validator.store import Transaction


@dataclass(frozen=True, slots=True)
class ExecutedMiner:
    """The executions of one miner; the means are over the runtime types, None where it has nothing there.

    Attributes:
        hotkey, name, behaviour: who.
        passed, failed: executions that ended with an event.
        made_passed, made_failed: those of them in tasks that were made here for the round.
        reasons: why those that failed did.
        mean_entry: of its window entries, those that a failed execution took included (they are 0).
        reputation: of the types that it serves.
    """

    hotkey: str
    name: str
    behaviour: str
    passed: int
    failed: int
    made_passed: int
    made_failed: int
    reasons: Mapping[str, int]
    mean_entry: float | None
    reputation: float | None


@dataclass(frozen=True, slots=True)
class ExecutionStory:
    """Results of the executions.

    Attributes:
        why_not: why nothing was run again; empty if it was.
        queued: answers of tasks that a settled round had executed.
        states: state to how many of them are in it.
        miners: those that serve runtime types, in the roster's order.
    """

    why_not: str
    queued: int
    states: Mapping[str, int]
    miners: tuple[ExecutedMiner, ...]


async def execution_story(tx: Transaction, residents: Mapping[str, Resident], why_not: str) -> ExecutionStory:
    """Return the results of the executions.

    Args:
        tx: reads.
        residents: hotkey to who that is.
        why_not: why nothing was run again.
    """
    by_miner: dict[str, list[tuple[AnswerResult, bool]]] = defaultdict(list)
    states: Counter[str] = Counter()
    for round_id in await tx.rounds.ids():
        stored = await tx.rounds.get(round_id)
        made = {task.task_id for task in stored.input.tasks if task.made_here} if stored and stored.input else set()
        for execution in await tx.executions.of_round(round_id):
            states[str(execution.state)] += len(execution.hotkeys)
            for result in execution.results:
                by_miner[result.hotkey].append((result, execution.task_id in made))
    state = await tx.state.whole()
    return ExecutionStory(
        why_not,
        states.total(),
        states,
        tuple(
            _miner(hotkey, resident, by_miner[hotkey], state.miner(hotkey))
            for hotkey, resident in residents.items()
            if any(map(is_runtime, resident.skill_types))
        ),
    )


def _miner(
    hotkey: str,
    resident: Resident,
    results: list[tuple[AnswerResult, bool]],
    state: Miner,
) -> ExecutedMiner:
    failed = [one for one, _ in results if one.event == "rerun_fail"]
    events = Counter(one.event for one, made_here in results if made_here)
    types = [skill_type for skill_type in resident.skill_types if is_runtime(skill_type)]
    pairs = [state.pairs[skill_type] for skill_type in types if skill_type in state.pairs]
    entries = [value for pair in pairs for value in pair.window.newest(ENTRIES)]
    standing = [pair.reputation for pair in pairs if pair.reputation is not None]
    return ExecutedMiner(
        hotkey=hotkey,
        name=resident.name,
        behaviour=resident.kind,
        passed=len(results) - len(failed),
        failed=len(failed),
        made_passed=events["rerun_pass"],
        made_failed=events["rerun_fail"],
        reasons=Counter(fault for one in failed for fault in one.report.faults),
        mean_entry=mean(entries) if entries else None,
        reputation=mean(standing) if standing else None,
    )


HONEST: Final = frozenset({"thorough", "partial"})
INVENTING: Final = frozenset({"inventing", "pretending", "sleeping"})
_LEFT_ALIGNED: Final = ("miner", "why")


def print_executions(story: ExecutionStory, console: Console) -> None:
    """Print whose bundles were run again and the results; without an engine one line that says so."""
    console.print(Text(summary(story)), soft_wrap=True)
    if story.why_not:
        return
    table = Table(title="\nCompared with runs in containers", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("miner", "passed", "failed", "of canaries passed", "mean entry", "reputation", "why"):
        table.add_column(column, justify="left" if column in _LEFT_ALIGNED else "right")
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
    counts = f"{passed} did what their traces claim, {failed} did not, {waiting} wait or are inconclusive"
    return f"{story.queued} answers were to be compared: {counts}."


def verdict(miner: ExecutedMiner, story: ExecutionStory) -> str:
    """Return in a sentence what inventing its traces is worth, relative to honest work."""
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
