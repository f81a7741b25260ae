"""The commands by name, each with its line of help. The module of a command is imported when the command is called.

Commands of other distributions join by entry points of the group `validator.commands`.
"""

from typing import Any, Final

from sssa.cli.lazy_commands import Rows, program
from validator import __version__

JOINED: Final = "validator.commands"
COMMANDS: Final = (
    ("init", "Write validator.toml and .env.", "validator.cli.setup:init"),
    ("run", "Run the validator until SIGTERM.", "validator.cli.service:run"),
    ("drain", "Let the running validator finish its round and end.", "validator.cli.drain:drain"),
    ("worker", "Do what waits in the queue: executions and code.", "validator.cli.service:worker"),
    ("serve", "Serve the read-only API and the pages.", "sssa-publisher"),
    ("replay", "Compute rounds again and compare byte for byte.", "validator.cli.replay:replay"),
    ("explain", "Explain a miner's last rounds, or one of them.", "validator.cli.explain:explain"),
    ("doctor", "Look at everything that the validator needs.", "validator.cli.doctor:doctor"),
    ("status", "Show one validator on one screen.", "validator.cli.status:status"),
    ("health", "Ask /readyz of the running validator.", "validator.cli.health:health"),
    ("rounds", "Rounds: who got which task, and the results.", "validator.cli.rounds:ROUNDS"),
    ("neurons", "Everyone ever seen on the subnet: scores and faults.", "validator.cli.neurons:NEURONS"),
    ("flags", "Collusion flags, three of which eject a miner.", "validator.cli.flags:FLAGS"),
    ("waiting", "Executions and code checks, made after their round.", "validator.cli.waiting:WAITING"),
    ("wallet", "Wallet: the hotkey's file where a container reads it.", "validator.cli.setup:WALLET"),
    ("weights", "Weights on the chain.", "validator.cli.weights:WEIGHTS"),
    ("tasks", "Tasks: bundles with what is known of them; workflows.", "sssa-taskmaker"),
    ("tasks draft", "Draft the truth of a packed task.", "sssa-miner"),
    ("audit", "The log of receipts: export it, verify an export.", "validator.cli.audit:AUDIT"),
    ("proof", "Consensus proofs: what a group or a debate agreed on.", "validator.cli.stored_proofs:PROOF"),
    ("attestation", "Attestations: a validator's signed answer about a skill.", "sssa-publisher"),
    ("db", "The store's tables.", "validator.cli.db:DB"),
    ("score", "Recompute a number from a vector of the specification.", "sssa.cli.score:score"),
    ("groups", "Verification groups of the specification's vectors.", "sssa.cli.score:GROUPS"),
    ("devnet", "Run a simulated chain, local miners and the validator.", "sssa-localnet"),
    ("localnet", "Whole local networks on a node of the chain.", "sssa-localnet"),
    ("miner", "Reference miners for local networks; a template, a check.", "sssa-miner"),
    ("simulate", "Networks without I/O, on the rules of a scoring version.", "sssa-laboratory"),
)


def root() -> Any:
    """Return `validator` itself, a group that imports none of its commands."""
    about = "Scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet."
    return program(Rows("validator", JOINED, COMMANDS), about, lambda: __version__)
