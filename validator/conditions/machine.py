"""What this machine lacks for a round: none starts until it is there (SPEC 16, D-26)."""

from typing import Final

from validator.conditions.condition import Condition

MACHINE: Final = (
    Condition(
        "local_descriptors",
        "unhealthy",
        "Too few file descriptors are left for a round's requests: no round starts.",
        "Raise the limit (`ulimit -n`, `LimitNOFILE`, `ulimits`) to what the detail names.",
    ),
    Condition(
        "local_disk",
        "unhealthy",
        "Too little disk space is left for a round's answers: no round starts.",
        "Free space where the detail says. Raw answers go with retention, the rest stays: `validator db forecast`.",
    ),
    Condition(
        "local_clock",
        "unhealthy",
        "The clock is more than 30 s off the chain's, or nothing shows yet that it is not: no round, no weights.",
        "Set the clock right, by NTP for good.",
    ),
)
