"""The chain, this hotkey's standing on it, and weights."""

from typing import Final

from validator.telemetry.catalogue.entry import Entry, Subject

CHAIN_AND_WEIGHTS: Final[Subject] = {
    "chain_unreachable": Entry(
        "The chain does not answer; said once until it does.",
        "reason",
        todo="Look at the endpoint, the network and the firewall; name a second one in `chain.endpoints`.",
    ),
    "chain_old_runtime": Entry(
        "The chain's runtime lacks something newer, which is done without; said once for each.",
        "netuid missing",
        todo="Nothing; on a public network: is it the right endpoint?",
    ),
    "chain_back": Entry("The chain answers again.", "block seconds"),
    "standing_lost": Entry(
        "This hotkey has no slot or no permit any more; said once per change, with what rounds do meanwhile.",
        "block reason rounds",
        todo="Register the hotkey, or see to its stake: [weights](../operators/weights.md#what-the-chain-asks-for).",
    ),
    "standing_back": Entry("This hotkey has its slot and its permit again.", "block"),
    "weights_submitted": Entry(
        "What one submission came to: the canonical line of an epoch.",
        "netuid mechid epoch attempt block extrinsic reason message seconds scoring_version"
        " weights uids scores unpaid unallocated owner",
        todo="`weights_rejected`: read `message`; version key, mechanism, balance. Else nothing.",
    ),
    "weights_blocked": Entry(
        "Weights cannot be sent now; said once per change of the reason.",
        "netuid mechid epoch block reason detail",
        todo="Its `reason` has a row in [At three in the morning](../operators/three-in-the-morning.md).",
    ),
    "weights_unblocked": Entry("The chain or the store answers the weights loop again.", "netuid mechid block seconds"),
    "weights_found": Entry(
        "The chain shows that a submission of unknown fate had arrived.", "netuid mechid epoch block"
    ),
    "weights_planned": Entry(
        "A dry run: what would have been sent now.",
        "netuid mechid epoch block reason scoring_version weights uids scores unpaid unallocated owner",
    ),
    "weights_expired": Entry(
        "A submission of unknown fate can no longer arrive; the epoch may be served again.",
        "netuid mechid epoch attempt block",
        todo="Nothing: the epoch is served again if there is room. Often: another endpoint.",
    ),
    "weights_marked": Entry(
        "The chain's last update of this hotkey is taken for known: the first look, or a new registration.",
        "netuid mechid block uid detail",
        todo="Nothing; on an old store: was the hotkey registered again?",
    ),
    "weights_mode": Entry(
        "The subnet now has weights committed first and revealed later, or set in the open again.",
        "netuid mechid block commit_reveal",
    ),
    "log_anchored": Entry(
        "The digest of the log's newest receipt stands on chain.", "netuid sequence digest block extrinsic"
    ),
    "log_anchor_blocked": Entry(
        "The log is not anchored now (`audit.anchor`); said once per change of the cause.",
        "netuid cause detail repeats",
        todo="Its `cause` has a row in [Anchoring the log](../operators/prove.md#anchor-the-log).",
    ),
    "log_anchor_replaced": Entry(
        "An anchor gives way that names a receipt which this store's log does not have.",
        "netuid sequence digest block by",
        todo="Was the store restored from a backup, or does another one use this hotkey? Its readers will ask.",
    ),
    "weights_failed": Entry(
        "An error of the validator; said once per change.",
        "reason repeats exception",
        todo="Report it with the traceback; it is tried again.",
    ),
}
