"""Who was ever seen on the subnet."""

from collections import Counter
from datetime import datetime

from sqlalchemy import func, select

from validator.protocol.round import MetagraphSnapshot
from validator.store.records import MinerRecord
from validator.store.repositories.base import Repository
from validator.store.repositories.capabilities import CapabilityDocuments, usable_types
from validator.store.repositories.flags import Flags
from validator.store.repositories.state import States
from validator.store.tables import dispatches, miners


class Miners(Repository):
    """Hotkeys, with the uid and block of their last sight."""

    async def seen(self, snapshot: MetagraphSnapshot) -> None:
        """Note every neuron of the snapshot; an older snapshot never overwrites a newer one."""
        rows = [
            {
                "hotkey": neuron.hotkey,
                "uid": neuron.uid,
                "first_seen_block": snapshot.block,
                "last_seen_block": snapshot.block,
            }
            for neuron in snapshot.neurons
        ]
        await self._upsert(miners, rows, newest="last_seen_block", keep=("first_seen_block",))

    async def uids(self) -> tuple[tuple[str, int, bool], ...]:
        """Return (hotkey, uid of its last sight, whether the newest stored metagraph names it), by hotkey."""
        found = await self._all(select(miners).order_by(miners.c.hotkey))
        newest = max((row.last_seen_block for row in found), default=0)
        return tuple((row.hotkey, row.uid, row.last_seen_block == newest) for row in found)

    async def listing(self, now: datetime) -> tuple[MinerRecord, ...]:
        """Return everyone ever seen, by hotkey, validators included.

        Args:
            now: moment at which a declaration must be valid to give the types.
        """
        documents = await CapabilityDocuments(self._connection, self._packing).valid(now)
        standing = await Flags(self._connection, self._packing).standing()
        state = await States(self._connection, self._packing).whole()
        counts = await self._all(
            select(dispatches.c.hotkey, func.count().label("planned")).group_by(dispatches.c.hotkey)
        )
        planned = Counter({row.hotkey: row.planned for row in counts})
        return tuple(
            MinerRecord(
                hotkey=row.hotkey,
                uid=row.uid,
                first_seen_block=row.first_seen_block,
                last_seen_block=row.last_seen_block,
                skill_types=usable_types(documents.get(row.hotkey)),
                reputations=state.miner(row.hotkey).reputations,
                flags=standing.get(row.hotkey, 0),
                dispatches=planned[row.hotkey],
            )
            for row in await self._all(select(miners).order_by(miners.c.hotkey))
        )
