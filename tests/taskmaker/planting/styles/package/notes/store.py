"""Keeps notes."""

from dataclasses import dataclass, field

from .text import clean


@dataclass
class Store:
    """Stored notes."""

    notes: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Keep one more."""
        self.notes.append(clean(text))
