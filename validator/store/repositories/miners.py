"""Miners that were seen on the subnet, what they declared last (SPEC 13), and their collusion flags (SPEC 9)."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec
from sqlalchemy import Row, Select, and_, func, select, update

from sssa.protocol import typed
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.limits import CLOCK_TOLERANCE_S
from sssa.protocol.reasons import meaning_of
from sssa.protocol.round import MAX_ACTS, ClearedFlag, FlagsCleared, MetagraphSnapshot
from sssa.protocol.skill_types import SkillType
from sssa.protocol.times import format_time
from validator.store.errors import EmptyReasonError
from validator.store.repositories.records import Records
from validator.store.repositories.repository import ROUND, Repository
from validator.store.repositories.state import States
from validator.store.rows import AgreementRecord, FlagDetail, FlagRecord, MinerRecord
from validator.store.tables import acts, capabilities, dispatches, flags, miners

_F: Final = flags.c
_CLEARED: Final = and_(acts.c.hotkey == _F.hotkey, acts.c.skill_type == _F.skill_type, acts.c.round_id == _F.round_id)
_LISTED: Final[Select[Any]] = (
    select(
        flags,
        acts.c.cleared_at.is_(None).label("standing"),
        acts.c.cleared_at,
        acts.c.reason.label("cleared_reason"),
    )
    .outerjoin_from(flags, acts, _CLEARED)
    .order_by(_F.id)
)


_OF_ROUND: Final = _LISTED.where(_F.round_id == ROUND)


class Flags(Repository):
    """Flags; a cleared one stays listed."""

    async def standing(self) -> dict[str, int]:
        """Return hotkey -> number of flags not cleared, over all types; hotkeys without one are absent."""
        uncleared = select(_F.hotkey, func.count().label("many")).outerjoin_from(flags, acts, _CLEARED)
        rows = await self._all(uncleared.where(acts.c.cleared_at.is_(None)).group_by(_F.hotkey))
        return {row.hotkey: row.many for row in rows}

    async def listing(self, *, include_cleared: bool = False) -> tuple[FlagRecord, ...]:
        """Return the flags, oldest first."""
        statement = _LISTED if include_cleared else _LISTED.where(acts.c.cleared_at.is_(None))
        return await self._each(FlagRecord, statement)

    async def of_round(self, round_id: int) -> tuple[FlagRecord, ...]:
        """Return the flags that a round raised, cleared ones too, oldest first."""
        return await self._each(FlagRecord, _OF_ROUND, {"round_id": round_id})

    async def get(self, which: int | str) -> tuple[FlagDetail, ...]:
        """Return the flag with this id, or all flags of this hotkey (cleared ones too), with their samples."""
        wanted = _F.id == which if isinstance(which, int) else _F.hotkey == which
        records = await self._each(FlagRecord, _LISTED.where(wanted))
        return tuple([FlagDetail(flag, await self._agreements(flag)) for flag in records])

    async def _agreements(self, flag: FlagRecord) -> tuple[AgreementRecord, ...]:
        """Return the samples that a flag consumed, oldest first: the newest counted ones, as many as it says."""
        agreements, d = list[AgreementRecord](), dispatches.c
        its = select(d.round_id).where(d.hotkey == flag.hotkey, d.skill_type == flag.skill_type)
        rounds = its.where(d.round_id <= flag.round_id, d.state != "void").distinct().order_by(d.round_id.desc())
        for row in await self._all(rounds):
            if len(agreements) == flag.samples:
                break
            outcome = await self._as(Records).outcome(row.round_id)
            for one in () if outcome is None else outcome.samples:
                if (one.hotkey, one.skill_type) == (flag.hotkey, flag.skill_type) and one.counted:
                    agreed = one.with_primaries, one.with_auditors, one.own, one.witnesses
                    agreements.append(
                        AgreementRecord(row.round_id, *agreed, one.counted, one.reason, meaning_of(one.reason))
                    )
        return tuple(reversed(agreements))


a = acts.c


class OperatorActs(Repository):
    """Acts by the round whose input has them: the first that is frozen after them."""

    async def clear(self, hotkey: str, reason: str, at: datetime) -> int:
        """Clear a miner's flags and return how many there were.

        They count until a round with the act in its input has ended (EmptyReasonError).
        """
        if not reason.strip():
            raise EmptyReasonError("write down why, it is stored with the flags")
        standing = (await self._as(States).of([hotkey])).miner(hotkey).flags
        rows = [
            {
                "hotkey": hotkey,
                "skill_type": flag.skill_type,
                "round_id": int(flag.round_id),
                "cleared_at": at,
                "reason": reason.strip(),
            }
            for flag in standing
        ]
        return sum([await self._insert_new(acts, row) for row in rows])

    async def take(self, round_id: int) -> tuple[FlagsCleared, ...]:
        """Return the acts for the input that is being frozen, by time, then hotkey: what no other input has.

        If not all fit, the oldest.
        """
        pending = a.input_round.is_(None)
        oldest = select(a.hotkey).where(pending).group_by(a.hotkey).order_by(func.min(a.cleared_at), a.hotkey)
        hotkeys = [row.hotkey for row in await self._all(oldest.limit(MAX_ACTS))]
        if not hotkeys:
            return ()
        await self._changed(update(acts).where(pending, a.hotkey.in_(hotkeys)).values(input_round=round_id))
        taken = select(acts).where(a.input_round == round_id)
        rows = await self._all(taken.order_by(a.cleared_at, a.hotkey, a.round_id, a.skill_type))
        return tuple(
            _cleared(list(together)) for _, together in groupby(rows, key=attrgetter("cleared_at", "hotkey", "reason"))
        )

    async def take_back(self, round_id: int) -> None:
        """Leave the acts of a round whose input the log cannot show to the next one."""
        await self._changed(update(acts).where(a.input_round == round_id).values(input_round=None))


def _cleared(together: list[Row[Any]]) -> FlagsCleared:
    first = together[0]
    return FlagsCleared(
        hotkey=first.hotkey,
        at=format_time(first.cleared_at),
        reason=first.reason,
        flags=tuple(ClearedFlag(row.skill_type, str(row.round_id)) for row in together),
    )


class CapabilityDocuments(Repository):
    """The last valid declaration of each miner, as the signed bytes that arrived."""

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
    """Hotkeys, with the uid and block when last seen."""

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
        """Return (hotkey, uid when last seen, whether the newest stored metagraph names it), by hotkey."""
        rows = await self._all(select(miners).order_by(miners.c.hotkey))
        newest = max((row.last_seen_block for row in rows), default=0)
        return tuple((row.hotkey, row.uid, row.last_seen_block == newest) for row in rows)

    async def listing(self, now: datetime) -> tuple[MinerRecord, ...]:
        """Return every hotkey in any stored metagraph, validators included.

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
