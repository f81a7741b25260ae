"""The consensus proof and its forms: data, JSON, a report (SPEC 14)."""

import json
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from validator.proofs import report
from validator.proofs.consensus import Consensus, checksum_of

DERIVED: Final = ("checksum", "agreement_ratio", "has_strong_consensus", "partial_consensus")


@dataclass(slots=True)
class ConsensusProof(Consensus):
    """What a group or a debate agreed on, who did not, and why; `Consensus` describes the fields.

    Raises:
        ProofError: a value out of range.
    """

    def get_dissent_summary(self) -> str:
        """Return the dissenting views as a Markdown section, or one line that there are none."""
        return report.dissents(self.dissents)

    def get_tension_summary(self) -> str:
        """Return the unresolved tensions as a Markdown section, or one line that there are none."""
        return report.tensions(self.unresolved_tensions)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data: every field by its name, enums by value, and what follows from them (`DERIVED`)."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        found["checksum"] = checksum_of(found["final_claim"], found["votes"], found["claims"])
        return found | {
            "agreement_ratio": self.agreement_ratio,
            "has_strong_consensus": self.has_strong_consensus,
            "partial_consensus": msgspec.to_builtins(self.get_partial_consensus()),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_markdown(self) -> str:
        """Return a report for people; text from outside is escaped and shows as text."""
        return report.markdown(self)
