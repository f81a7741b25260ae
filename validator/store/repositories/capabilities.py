"""What miners declared last (SPEC 13)."""

from datetime import datetime, timedelta

import msgspec
from sqlalchemy import select

from validator.protocol import typed
from validator.protocol.capabilities import Capabilities
from validator.protocol.limits import CLOCK_TOLERANCE_S
from validator.protocol.skill_types import SkillType
from validator.store.repositories.base import Repository
from validator.store.tables import capabilities


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
