"""Hostility of every kind, by subject; `KINDS` has them all, each with the reason codes it may end in."""

from hostile import (
    archives,
    attestations,
    declarations,
    documents,
    framing,
    plans,
    services,
    traces,
    transport,
)
from hostile.kinds import KINDS, Kind, of_channel

__all__ = [
    "KINDS",
    "Kind",
    "archives",
    "attestations",
    "declarations",
    "documents",
    "framing",
    "of_channel",
    "plans",
    "services",
    "traces",
    "transport",
]
