"""What may have become of work that is done beside the rounds: reruns, code checks."""

from typing import Final, Literal, get_args

WorkState = Literal["pending", "running", "done", "inconclusive"]
WORK_STATES: Final[tuple[str, ...]] = get_args(WorkState)
