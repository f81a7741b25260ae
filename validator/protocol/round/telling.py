"""A round's values as the log tells them: truths that it commits to are left out (SPEC 16, D-31)."""

from collections.abc import Mapping

from validator.protocol.round.frozen import RoundInput
from validator.protocol.round.outcome import RoundOutcome
from validator.protocol.round.tasks import is_committed
from validator.protocol.round.truths import told_outcome
from validator.protocol.task import Truth


def outcome_as_told(frozen: RoundInput, outcome: RoundOutcome) -> RoundOutcome:
    """Return what a round came to as the log tells it."""
    committed = {task.task_id for task in frozen.tasks if is_committed(task)}
    return told_outcome(outcome, committed) if committed else outcome


def expected_commands(frozen: RoundInput) -> Mapping[str, tuple[str, ...]]:
    """Return the commands that truths ask for, by task; of tasks alone whose truth is committed to and known here."""
    truths = {task.task_id: task.secret for task in frozen.tasks if is_committed(task)}
    return {task_id: truth.shell_commands or () for task_id, truth in truths.items() if isinstance(truth, Truth)}
