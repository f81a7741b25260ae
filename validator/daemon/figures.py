"""Figures that nobody tells: read now and then from the store and the disk, for the metrics and /readyz."""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from validator.health.report import HealthState
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import DamagedError, StoreAwayError
from validator.store.forecast import KEPT_ROUNDS
from validator.store.signed import LogHead
from validator.telemetry import Metrics

_EVERY_S: Final = 15.0
_MIB: Final = 1024 * 1024


@dataclass(slots=True)
class FigureWatch:
    """Reads the figures; a service of the daemon.

    Args:
        store, clock: what it reads, and how often.
        metrics, health: told of them.
        netuid: the subnet.
        mechids: the mechanisms that weights are sent for; empty where none are.
        most_epochs: after so many without weights on chain a condition stands.
        folders: where the validator writes, by the name that the metrics give them.
    """

    store: Store
    clock: Clock
    metrics: Metrics
    health: HealthState
    netuid: int
    mechids: Sequence[int]
    most_epochs: int
    folders: Mapping[str, Path]
    _first_epoch: int | None = field(init=False, default=None)

    async def run(self) -> None:
        """Read all the time."""
        self.metrics.in_hand.follow(lambda: self.health.in_hand_s)
        self.metrics.chain_age.follow(lambda: self.health.block_age_s)
        while True:
            with suppress(StoreAwayError):  # the store's own watch tells it
                await self._stored()
            await self._disk()
            await self.clock.sleep(_EVERY_S)

    async def _stored(self) -> None:
        async with self.store.read() as tx:
            self.metrics.standing_flags.set(sum((await tx.flags.standing()).values()))
            if not self.metrics.last_settled.known and (moment := await tx.rounds.last_settled()) is not None:
                self.metrics.last_settled.set(moment.timestamp())
            if not self.metrics.last_dispatched.known and (moment := await tx.rounds.last_settled(1)) is not None:
                self.metrics.last_dispatched.set(moment.timestamp())
            with suppress(DamagedError):  # whoever writes the next receipt stops at it
                self._log(await tx.receipts.head())
            self.metrics.keeps(await tx.dispatches.kept_bytes(KEPT_ROUNDS))
            confirmed = {}
            for mechid in self.mechids:
                confirmed[mechid] = await tx.weights.confirmed_epoch(self.netuid, mechid)
                vector = await tx.vectors.newest(self.netuid, mechid)
                if vector is not None:
                    self.metrics.pays(mechid, [one.reason for one in vector.unpaid])
        self._weights(confirmed)
        size = await self.store.size()
        self.metrics.store_bytes.set(size)

    def _log(self, head: LogHead | None) -> None:
        """Tell the newest receipt: the number to the metrics, its digest to /readyz alone."""
        self.health.log = head
        if head is not None:
            self.metrics.receipts.set(head.sequence + 1)

    def _weights(self, confirmed: Mapping[int, int | None]) -> None:
        """Tell how many epochs ago each mechanism's weights were confirmed; where none were, since the start."""
        if (epoch := self.health.epoch) is None or not confirmed:
            return
        if self._first_epoch is None:
            self._first_epoch = epoch
        ages = {mechid: epoch - (self._first_epoch if last is None else last) for mechid, last in confirmed.items()}
        for mechid, age in ages.items():
            self.metrics.weights_epochs.labels(str(mechid)).set(age)
        worst = max(ages.values())
        self.health.saw("weights", epochs=worst, limit=self.most_epochs)
        if worst > self.most_epochs:
            self.health.board.raise_("weights_old", f"none for {worst} epochs")
        else:
            self.health.board.clear("weights_old")

    async def _disk(self) -> None:
        free: dict[str, int] = {}
        for name, folder in self.folders.items():
            try:
                free[name] = (await asyncio.to_thread(shutil.disk_usage, folder)).free
            except OSError:
                continue  # what asks before a round tells it
            self.metrics.disk_free.labels(name).set(free[name])
        self.health.saw("disk", **{f"{name}_free_mib": number // _MIB for name, number in free.items()})
