"""What executions came to in a run of the local network: read back from the store, as anybody could."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from localnet.roster import Resident
from validator.protocol.execution import AnswerResult
from validator.protocol.means import mean
from validator.protocol.skill_types import SkillType, is_runtime
from validator.store import Transaction

_ALL = 1_000_000


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
    """What came of the executions.

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
    """Return what executions came to.

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
    windows, reputations = await tx.windows.all(_ALL), await tx.reputations.all()
    return ExecutionStory(
        why_not,
        states.total(),
        states,
        tuple(
            _miner(hotkey, resident, by_miner[hotkey], windows.get(hotkey, {}), reputations)
            for hotkey, resident in residents.items()
            if any(map(is_runtime, resident.skill_types))
        ),
    )


def _miner(
    hotkey: str,
    resident: Resident,
    results: list[tuple[AnswerResult, bool]],
    windows: Mapping[str, list[float]],
    reputations: Mapping[tuple[str, SkillType], float],
) -> ExecutedMiner:
    failed = [one for one, _ in results if one.event == "rerun_fail"]
    events = Counter(one.event for one, made_here in results if made_here)
    types = [skill_type for skill_type in resident.skill_types if is_runtime(skill_type)]
    entries = [value for skill_type in types for value in windows.get(skill_type, ())]
    standing = [reputations[hotkey, skill_type] for skill_type in types if (hotkey, skill_type) in reputations]
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
