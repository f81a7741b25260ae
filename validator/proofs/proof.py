"""The consensus proof and its forms: data and a report (SPEC 14)."""

from dataclasses import dataclass
from typing import Any

import msgspec

from validator.proofs import report
from validator.proofs.consensus import Consensus


@dataclass(slots=True)
class ConsensusProof(Consensus):
    """What a group or a debate agreed on, who did not, and why; `Consensus` describes the fields.

    Raises:
        ProofError: a value out of range.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data: every field by its name, enums by value, and the checksum."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found | {"checksum": self.checksum}

    def to_markdown(self) -> str:
        """Return a report for people; text from outside is escaped and shows as text."""
        return report.markdown(self)
