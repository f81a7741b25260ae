"""Remedies that `explain` and metrics show for unpaid windows: a sentence for each reason of SPEC 11, D-23."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sssa.protocol.reasons import Reason

REMEDIES: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.COLLUSION_FLAGS: "The operator clears the flags after looking into them; waiting does not.",
        Reason.UNDECLARED: (
            "Declare the type again: the next weights pay it if it was declared in at least half of the rounds since "
            "the weights before them."
        ),
        Reason.LOW_REPUTATION: (
            "Keep declaring the type: reputation comes back by 0.005 a round up to 0.2, then the miner may be drawn "
            "again and has to give an answer that passes the gates."
        ),
        Reason.FAILURE_RATE: (
            "Mend what fails and wait: failures count for 30 rounds, then the miner may be drawn again and has to give "
            "an answer that passes the gates."
        ),
        Reason.UNPROVEN: "The miner may be drawn again: its next answer of the type that passes the gates ends it.",
    }
)
"""Reason to sentence, in the order in which D-23 asks."""
