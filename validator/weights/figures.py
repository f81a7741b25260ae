"""This validator's own figures on the subnet: how far others agree with its weights, and what it earns."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Final, NamedTuple

from sssa.protocol.round import Neuron
from sssa.sources import Clock
from validator.cancellation import within
from validator.chain.interface import Chain, ChainError, SubnetParameters, ValidatorFigures
from validator.telemetry.metrics import Metrics
from validator.telemetry.reports import Reports
from validator.weights.chain_view import READ_S

_EVERY_S: Final = 300.0
_BELOW: Final = 0.2
_EPOCHS: Final = 3


class OwnFigures(NamedTuple):
    """Figures of this hotkey after the subnet's last step, as in `ValidatorFigures`, and values to compare them with.

    `median_trust` is of the `validators`, those with a permit; `rank` is its place among them by dividends, from 1.
    """

    trust: float
    median_trust: float
    dividends: float
    emission_alpha: float
    rank: int
    validators: int
    stake_tao: float
    min_stake_tao: float

    @property
    def is_low(self) -> bool:
        """True if the trust is far below that of most validators."""
        return self.trust < self.median_trust - _BELOW


def own_figures(
    everybody: Sequence[ValidatorFigures], me: Neuron | None, parameters: SubnetParameters
) -> OwnFigures | None:
    """Return this hotkey's figures; None without a slot or a permit. Pure."""
    mine = next((one for one in everybody if me is not None and one.uid == me.uid), None)
    if me is None or mine is None:
        return None
    return OwnFigures(
        trust=mine.trust,
        median_trust=median(one.trust for one in everybody),
        dividends=mine.dividends,
        emission_alpha=mine.emission_alpha,
        rank=1 + sum(one.dividends > mine.dividends for one in everybody),
        validators=len(everybody),
        stake_tao=me.stake_tao,
        min_stake_tao=parameters.min_stake_tao,
    )


@dataclass(slots=True)
class OwnFiguresWatch:
    """Reads the own figures once an epoch, for metrics and one condition; a service of the daemon."""

    chain: Chain
    clock: Clock
    hotkey: str
    metrics: Metrics
    board: Reports
    _epoch: int | None = field(init=False, default=None)
    _low_epochs: int = field(init=False, default=0)

    async def run(self) -> None:
        """Read every epoch until cancelled; a read that fails is repeated."""
        while True:
            with suppress(ChainError, TimeoutError):  # the chain's watch reports it
                await within(self.clock, READ_S, self.look())
            await self.clock.sleep(_EVERY_S)

    async def look(self) -> None:
        """Read the figures if the epoch is another one (ChainError)."""
        epoch = (await self.chain.head()).epoch
        if epoch == self._epoch:
            return
        reads = await asyncio.gather(self.chain.validators(), self.chain.snapshot(), self.chain.parameters())
        everybody, snapshot, parameters = reads
        self._epoch = epoch
        figures = own_figures(everybody, snapshot.by_hotkey(self.hotkey), parameters)
        if figures is None:
            return  # the condition `no_standing` reports it
        self.metrics.own_figures(figures._asdict())
        self._low_epochs = self._low_epochs + 1 if figures.is_low else 0
        trust = f"trust {figures.trust:.2f}, median {figures.median_trust:.2f} of {figures.validators} validators"
        low = self._low_epochs >= _EPOCHS
        self.board.mark("trust_low", f"{trust}, for {self._low_epochs} epochs" if low else None)
