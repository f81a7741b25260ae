"""The command `sssa`: what anybody can check of a validator's words with nothing but files and, in the gate, HTTP.

Touches the terminal and the files that are named. Called by the console script; programs of other houses use its parts.
"""

from typing import Any, Final

from sssa.cli.errors import run_program
from sssa.cli.lazy_commands import Rows, program

COMMANDS: Final = (
    ("verify", "Check a log of receipts, as validators export it.", "sssa.cli.verify:verify"),
    ("proof", "Consensus proofs: what a group or a debate agreed on.", "sssa.cli.proof:PROOF"),
    ("attestation", "Attestations: a validator's signed answer about a skill.", "sssa.cli.attestation:ATTESTATION"),
    ("digest", "Directory digest of skills: what attestations are about.", "sssa.cli.attestation:digest"),
    ("score", "Recompute a number from a vector of the specification.", "sssa.cli.score:score"),
    ("groups", "Verification groups of the specification's vectors.", "sssa.cli.score:GROUPS"),
)


def root() -> Any:
    """Return `sssa` itself, a group that imports none of its commands."""
    about = "Checks logs, proofs and attestations of Signed Skill Safety Attestations."
    return program(Rows("sssa", "sssa.commands", COMMANDS), about, _version)


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - takes longer than to show the help

    return version("sssa")


def main() -> None:
    """Run the command line."""
    run_program(root, "sssa")
