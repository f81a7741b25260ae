"""States of the work next to the rounds: executions and code checks."""

from typing import Final, Literal, get_args

WorkState = Literal["pending", "running", "done", "inconclusive"]
WORK_STATES: Final[tuple[str, ...]] = get_args(WorkState)
