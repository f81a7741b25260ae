"""What this process itself does not get done."""

from typing import Final

from validator.conditions.condition import Condition

PROCESS: Final = (
    Condition(
        "parked",
        "unhealthy",
        "The validator ended, a restart would end the same way, and its container waits.",
        "`daemon_parked` in the log says what to do; start the container again then.",
    ),
    Condition(
        "rounds_silent",
        "unhealthy",
        "No round began or ended for longer than one may take.",
        "Look at the last lines of the log; a restart is safe.",
    ),
    Condition(
        "rounds_failing",
        "unhealthy",
        "Rounds end in an error of the validator.",
        "`round_failed` in the log has the traceback: report it; a restart is safe.",
    ),
    Condition(
        "weights_failing",
        "unhealthy",
        "The weights loop ends in an error of the validator.",
        "`weights_failed` in the log has the traceback: report it; a restart is safe.",
    ),
    Condition(
        "loop_stuck",
        "unhealthy",
        "The event loop stood still.",
        "Look at the machine's load and swap; a restart is safe.",
    ),
    Condition(
        "gates_behind",
        "degraded",
        "Answers wait long for a worker that judges them.",
        "Give the machine more cores, or look for what else uses them; `worker_ended` names answers that are too dear.",
    ),
)
