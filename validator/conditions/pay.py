"""Who answers and who is paid: states in which few take what many earned.

Miners alone can bring each of them about, so none makes the validator unhealthy or fails `/readyz`, and the log names
each cause at most once an hour.
"""

from typing import Final

from validator.conditions.condition import Condition

_QUIET_S: Final = 3600.0

PAY: Final = (
    Condition(
        "miners_out",
        "degraded",
        "Most miners that answered in the last day are excluded or fail: the others and the owner take their pay.",
        "Look at this machine's network and at the reasons in `validator rounds show`. If the fault is here, "
        "`weights.enabled = false` and a restart keep the row on chain until the miners are back.",
        quiet_s=_QUIET_S,
    ),
    Condition(
        "weights_few_paid",
        "degraded",
        "Fewer than 7 miners are paid, and at least 7 answered in the last day: the cap leaves the rest to the owner.",
        "`validator weights plan` names the unpaid windows and what brings each back; look for what they share.",
        quiet_s=_QUIET_S,
    ),
    Condition(
        "weights_concentrated",
        "degraded",
        "The subnet's owner or one hotkey gets more than half of a mechanism's row.",
        "`validator weights plan` shows the row; it is sent all the same. Compare it with what miners answered.",
        quiet_s=_QUIET_S,
    ),
)
