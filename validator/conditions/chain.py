"""What the chain does not give."""

from typing import Final

from validator.conditions.condition import Condition

CHAIN: Final = (
    Condition(
        "chain_away",
        "degraded",
        "No block could be read for 45 seconds.",
        "Look at the node and the network, or name a second one in `chain.endpoints`; a restart brings no chain back.",
    ),
    Condition(
        "chain_stale",
        "degraded",
        "The chain answers, and its newest block has been the same for five minutes.",
        "Compare the block with a public explorer: restart or replace a node that lags, wait for a chain that stands.",
    ),
    Condition(
        "chain_slow",
        "degraded",
        "The chain takes more than a second for an answer; all goes on, later.",
        "Look at the node's load and at the network, or put a nearer node first in `chain.endpoints`.",
    ),
    Condition(
        "chain_behind",
        "degraded",
        "The chain shows blocks far below those that it has shown before: no round, no weights.",
        "Wait until the node has caught up, or put another one first in `chain.endpoints`; if the chain itself was set "
        "back, restart.",
    ),
    Condition(
        "no_standing",
        "degraded",
        "This hotkey has no slot on the subnet or no validator permit: it sends no weights.",
        "The detail names which: register the hotkey, or see to its stake; permits come at the end of an epoch.",
    ),
    Condition(
        "weights_old",
        "degraded",
        "For more epochs than `health.weights_epochs` no weights have reached the chain.",
        "`validator weights plan` and `weights_blocked` in the log name what is in the way; a restart betters nothing.",
    ),
    Condition(
        "weights_refused",
        "degraded",
        "The chain refused the newest weights.",
        "The detail has the chain's words; `validator doctor` asks what a submission asks. The next epoch tries again.",
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
