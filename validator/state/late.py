"""Late results of a round: executions of tasks and qualities of answers that are still to come (SPEC 12, 15)."""

from msgspec import Struct

from validator.protocol.workflow_run import WorkflowRun


class ExecutedTask(Struct, frozen=True):
    """A task that is executed: what its results must say.

    Attributes:
        task_id, skill_type: which one.
        position: in the round's plan.
        primaries: the valid ones, in group order: all of them have a result, or none has.
        made_here: a fail needs nobody's pass.
    """

    task_id: str
    skill_type: str
    position: int
    primaries: tuple[str, ...]
    made_here: bool


class DeferredAnswer(Struct, frozen=True):
    """An answer whose quality is judged after its round.

    Attributes:
        task_id, hotkey: which one.
        check_id: of the check of its code.
        version: scoring version of its round.
        measured: what is known of its run.
    """

    task_id: str
    hotkey: str
    check_id: str
    version: str
    measured: WorkflowRun


class Late(Struct, frozen=True):
    """What is still to come of one round; both in the order of its plan or draws."""

    executed: tuple[ExecutedTask, ...] = ()
    deferred: tuple[DeferredAnswer, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.executed or self.deferred)

    def execution(self, task_id: str) -> ExecutedTask | None:
        """Return the task whose results are to come; None: they came, or it was not executed."""
        return next((one for one in self.executed if one.task_id == task_id), None)

    def quality(self, task_id: str, hotkey: str) -> DeferredAnswer | None:
        """Return the answer whose quality is to come; None: it came, or was never deferred."""
        return next((one for one in self.deferred if (one.task_id, one.hotkey) == (task_id, hotkey)), None)

    def without(self, task_id: str, hotkey: str | None) -> "Late | None":
        """Return what is left when the results of a task came, or a late quality of `hotkey`; None: none were to."""
        came = self.execution(task_id) if hotkey is None else self.quality(task_id, hotkey)
        if came is None:
            return None
        return Late(
            tuple(one for one in self.executed if one is not came),
            tuple(one for one in self.deferred if one is not came),
        )


def late_key(round_id: int, task_id: str, hotkey: str | None) -> tuple[str, ...]:
    """Return the name of a task's results of execution, or of a late quality."""
    return (str(round_id), task_id) if hotkey is None else (str(round_id), task_id, hotkey)
