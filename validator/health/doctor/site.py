"""What is examined: the settings, and what several checks look at, looked at once."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from validator.protocol.signatures import Signer
from validator.settings import Settings
from validator.sources import Clock
from validator.unless import ended
from validator.workers.interface import Workers

T = TypeVar("T")


class Limits(NamedTuple):
    """How long things may take, seconds.

    Attributes:
        whole: the whole examination.
        wallet: reading the hotkey's file, and unlocking it.
        endpoint: connecting to an endpoint, and each of its answers.
        chain: a first look at the subnet: connecting, and half a dozen answers.
        database: connecting, and each statement.
        engine: a call to the container engine.
        miners: all miners together.
        fresh_block: waiting for blocks that tell whether the clock is right.
    """

    whole: float = 26.0
    wallet: float = 6.0
    endpoint: float = 8.0
    chain: float = 18.0
    database: float = 12.0
    engine: float = 6.0
    miners: float = 9.0
    fresh_block: float = 14.0


LIMITS = Limits()


@dataclass(frozen=True)
class Site:
    """One validator's settings and surroundings.

    Args:
        settings: the operator's.
        file: where they were read, as far as they stand in a file.
        signer: its hotkey; None where that cannot be read, which the check of the wallet tells.
        environ: variables.
        clock: local time.
        workers: makes a pool of processes where what strangers send is judged.
        limits: how long things may take.
    """

    settings: Settings
    file: Path
    signer: Signer | None
    environ: Mapping[str, str]
    clock: Clock
    workers: Callable[[], Workers]
    limits: Limits = LIMITS
    _looks: dict[object, asyncio.Task[Any]] = field(default_factory=dict)

    async def once(self, look: Callable[["Site"], Coroutine[Any, Any, T]]) -> T:
        """Return what `look` returns of this site, or raise what it raises; it is done once, whoever asks first."""
        if look not in self._looks:
            self._looks[look] = asyncio.create_task(look(self))
        return cast("T", await asyncio.shield(self._looks[look]))

    async def close(self) -> None:
        """End the looks that are under way."""
        await ended(self._looks.values())
