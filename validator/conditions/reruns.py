"""What keeps answers from being run again, and what nobody sees then."""

from typing import Final

from validator.conditions.condition import Condition

RERUNS: Final = (
    Condition(
        "reruns_off",
        "note",
        "There is no sandbox: whether miners ran what they attest stays unseen, and traces written by hand pass.",
        "Name a container engine in `sandbox.engine`, or leave it: miners lose nothing by it.",
    ),
    Condition(
        "sandbox_away",
        "degraded",
        "The container engine does not run what miners attest: reruns wait.",
        "Look at the engine and at what the detail names; reruns are tried again for hours, and count against nobody.",
    ),
    Condition(
        "reruns_full",
        "degraded",
        "So many reruns wait that a round's own may not fit: such a round has none of its answers run again.",
        "Look at what `validator reruns list` says of their tries; give the engine more, or more machines.",
    ),
)
