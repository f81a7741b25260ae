"""Behaviours of one reference miner, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, Protocol

from miner.assessment import Assessment, Response
from miner.broken import Garbage, Oversized, Replayed, WrongSignature
from miner.careless import Lazy, Sloppy
from miner.honest import Partial, Slow, Thorough

Conduct = Literal[
    "thorough", "partial", "sloppy", "lazy", "slow", "garbage", "oversized", "wrong_signature", "replayed"
]


class Behaviour(Protocol):
    """What a miner makes of a dispatch. Everything follows from the hotkey and the task."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return the body of the response."""


BEHAVIOURS: Final[Mapping[str, type[Behaviour]]] = MappingProxyType(
    {
        "thorough": Thorough,
        "partial": Partial,
        "sloppy": Sloppy,
        "lazy": Lazy,
        "slow": Slow,
        "garbage": Garbage,
        "oversized": Oversized,
        "wrong_signature": WrongSignature,
        "replayed": Replayed,
    }
)
