"""The process, its store and its servers."""

from typing import Final

from validator.telemetry.catalogue.entry import Entry, Subject

PROCESS: Final[Subject] = {
    "daemon_started": Entry("All parts run.", "version scoring_version hotkey settings python"),
    "daemon_stopping": Entry("Asked to stop: the round in hand may finish within the grace time.", "grace_s"),
    "daemon_draining": Entry("Asked to drain: the round in hand finishes, however long it takes, no other begins."),
    "daemon_stopped": Entry("Everything is closed.", "finished seconds"),
    "daemon_failed": Entry(
        "The validator ends because it cannot go on; `exit_code` is what its process ends with.",
        "reason exit_code exception",
        todo="Look up `exit_code` in [exit codes](exit-codes.md); with `exception`: report it.",
    ),
    "daemon_parked": Entry(
        "In a container: the program ended and a restart would end the same way, so it waits; said once an hour.",
        "exit_code reason advice",
        todo="What `advice` says: [the container waits](../operators/stop.md#when-the-container-waits-for-you).",
    ),
    "daemon_cut_off": Entry(
        "The time to stop is over: the process ends where it stands, and the next start takes up what was open.",
        "requests",
        todo="Nothing. Regularly: whoever stops it must wait ten seconds longer than `rounds.grace_s`.",
    ),
    "precondition": Entry(
        "What the chain asks of this validator's weights, a line for each at the start; a reason: none can be sent.",
        "name reason detail",
        todo="With a `reason`: see [weights](../operators/weights.md#what-the-chain-asks-for); without one nothing.",
    ),
    "store_chain_adopted": Entry(
        "The store belongs to this chain and this subnet from now on; a start on another one is refused.",
        "genesis netuid",
    ),
    "store_lost": Entry(
        "The store must not be used any more: the validator stops, nothing is written.",
        "reason detail",
        todo="`local_store_taken`: find the second validator. Else put a moved file back, or restore a backup.",
    ),
    "condition_raised": Entry(
        "Something keeps the validator from its work, or pay from miners: said when it appears or has another cause, "
        "with what was seen and what to do.",
        "condition severity detail advice changes",
        todo="What `advice` in the line says.",
    ),
    "condition_cleared": Entry(
        "A condition is over; `changes` counts how often it went and came since the last line.",
        "condition seconds changes",
    ),
    "stalled": Entry(
        "The validator stood still for so long; what miners lost by it does not count against them (D-26).",
        "seconds",
        todo="Look at the machine's load, its memory and swap, and the host of a virtual machine.",
    ),
    "loop_lag": Entry(
        "The event loop was blocked for longer than it should be.",
        "seconds",
        todo="Look for what else uses processor and disk; steal time on a virtual machine.",
    ),
}
SERVERS: Final[Subject] = {
    "accept_failed": Entry(
        "A server cannot take a connection, mostly for want of a file descriptor; tried again every second, said once.",
        "server reason repeats exception",
        todo="Raise `ulimit -n`, and see what has the descriptors (`ls /proc/PID/fd`). With a traceback: report it.",
    ),
    "request_malformed": Entry(
        "What reached a server's port was no HTTP request; said once an hour, `repeats` counts the others.",
        "server peer reason repeats",
        todo="Nothing; many `repeats`: find out who reaches that port, and why.",
    ),
    "request_failed": Entry(
        "An error of the validator while it answered a request; said once per change.",
        "server reason repeats exception",
        todo="Report it with the traceback.",
    ),
}
