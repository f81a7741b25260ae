"""All that a run says of an owner's tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localnet.effort import BundleEffort
from localnet.own.ledger import Ledger
from localnet.own.results import Heard, TaskResult, TypeResult
from localnet.own.tasks import OwnTasks
from localnet.own.telling import task_result, type_results
from localnet.roster import Resident


@dataclass(frozen=True, slots=True)
class OwnStory:
    """What came of an owner's tasks.

    Attributes:
        pace: how many times faster than on chain the network's time ran.
        types: what was scored of each type.
        tasks: the tasks, in the order of their paths.
    """

    pace: float
    types: tuple[TypeResult, ...]
    tasks: tuple[TaskResult, ...]


def own_story(
    tasks: OwnTasks, ledger: Ledger, effort: Sequence[BundleEffort], residents: Mapping[str, Resident]
) -> OwnStory:
    """Return what a run says of the tasks.

    Args:
        tasks: the owner's.
        ledger: their answers.
        effort: what analyses cost.
        residents: who answered, by hotkey.
    """
    seconds = {(row.bundle, row.skill_type): row.median_s for row in effort}
    results = [
        task_result(
            sha256,
            task,
            ledger.of((kind, sha256)),
            Heard(
                given=ledger.given.get((kind, sha256), 0),
                skipped=ledger.skipped.get((kind, sha256), 0),
                analysis_s=seconds.get((task.name, kind)),
                pace=tasks.pace.times,
            ),
            residents,
        )
        for (kind, sha256), task in tasks.known.items()
    ]
    return OwnStory(tasks.pace.times, type_results(results), tuple(results))
