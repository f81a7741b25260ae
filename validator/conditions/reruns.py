"""What keeps answers from being run again."""

from typing import Final

from validator.conditions.condition import Condition

RERUNS: Final = (
    Condition(
        "sandbox_away",
        "degraded",
        "The container engine does not run what miners attest: reruns wait.",
        "Look at the engine and at what the detail names; reruns are tried again for hours, and count against nobody.",
    ),
)
