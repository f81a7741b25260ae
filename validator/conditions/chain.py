"""What the chain does not give."""

from typing import Final

from validator.conditions.condition import Condition

CHAIN: Final = (
    Condition(
        "chain_away",
        "degraded",
        "No block could be read for ten minutes.",
        "Look at the node and the network, or name a second one in `chain.endpoints`; a restart brings no chain back.",
    ),
    Condition(
        "subnet_gone",
        "unhealthy",
        "The chain has no subnet of this netuid any more.",
        "Check `validator.netuid` and `chain.endpoints`; a subnet that was removed from the chain needs no validator.",
    ),
    Condition(
        "other_chain",
        "unhealthy",
        "What answers is another chain than the store's: no round, no weights.",
        "Check `chain.endpoints`: all must lead to one chain; one that was begun anew needs a new store.",
    ),
)
