"""Miners that were seen on the subnet, and what they declared last (SPEC 13)."""

from collections import Counter
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import func, select

from validator.protocol import typed
from validator.protocol.capabilities import Capabilities
from validator.protocol.limits import CLOCK_TOLERANCE_S
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.skill_types import SkillType
from validator.store.repositories.base import Repository
from validator.store.repositories.conduct import Flags
from validator.store.repositories.state import States
from validator.store.rows import MinerRecord
from validator.store.tables import capabilities, dispatches, miners


class CapabilityDocuments(Repository):
    """The last valid declaration of each miner, as the signed bytes that came."""

    async def put(
        self, hotkey: str, document: bytes, issued_at: datetime, expires_at: datetime, fetched_at: datetime
    ) -> None:
        """Keep a declaration that was checked; one fetched earlier never replaces one fetched later."""
        row = {
            "hotkey": hotkey,
            "document": document,
            "issued_at": issued_at,
            "expires_at": expires_at,
            "fetched_at": fetched_at,
        }
        await self._upsert(capabilities, [row], newest="fetched_at")

    async def valid(self, now: datetime) -> dict[str, bytes]:
        """Return hotkey -> document of the declarations that count at `now` (clock tolerance 60 s)."""
        earliest = now - timedelta(seconds=CLOCK_TOLERANCE_S)
        statement = select(capabilities.c.hotkey, capabilities.c.document).where(capabilities.c.expires_at >= earliest)
        return {row.hotkey: row.document for row in await self._all(statement.order_by(capabilities.c.hotkey))}


def usable_types(document: bytes | None) -> tuple[SkillType, ...]:
    """Return the usable types of a stored declaration; none for no document or one of another version's form."""
    if document is None:
        return ()
    try:
        return typed.decode(document, Capabilities).usable_types
    except msgspec.MsgspecError:
        return ()


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

        Types are of declarations that are valid at `now`.
        """
        documents = await self._as(CapabilityDocuments).valid(now)
        standing = await self._as(Flags).standing()
        state = await self._as(States).whole()
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
