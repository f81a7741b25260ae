"""The mechanism's state: read in parts, written as the delta of a step and in no other way."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import delete, func, select

from sssa.protocol.round import RoundInput
from sssa.protocol.text import printable
from sssa.state.mechanism_state import (
    FROZEN_ROUNDS,
    LATE_ROUNDS,
    Delta,
    FrozenRound,
    Late,
    Mechanism,
    Miner,
    Shared,
    State,
)
from sssa.state.round_end import Ended, mark_unknown_plan, record_vector
from validator.store.codec import compressed, expanded
from validator.store.errors import DamagedError
from validator.store.repositories.repository import Repository
from validator.store.tables import flags, state_copies, state_late, state_miners, state_rounds, state_shared

T = TypeVar("T")
Step = Callable[[State, Ended], Delta]
NOTHING: Final = State(shared=Shared(since=0))
"""The state before the first round."""
COPY_ROUNDS: Final = 256
"""A copy of the state is kept every so many rounds."""
_COPIES: Final = 2  # that stay, besides the one from which the store's oldest record can be reached
_ENCODER: Final = msgspec.msgpack.Encoder()


class States(Repository):
    """The state that all rounds that have ended left, and copies of older ones (DamagedError)."""

    async def whole(self) -> State:
        """Return everything, those who left included."""
        return await self._read(None, None, every_round=True)

    async def of(self, hotkeys: Collection[str]) -> State:
        """Return the state of these miners; it has no rounds but the last."""
        return await self._read(hotkeys, ())

    async def step(self, ended: Ended, step: Step, at: datetime) -> None:
        """Take in a round that ends, by the step of its scoring version, or what all versions share."""
        frozen = ended.frozen
        late = {int(one.round_id) for one in frozen.executions} | {int(one.round_id) for one in frozen.filled}
        before = await self._read(_named(frozen), late)
        await self.write(before.shared, step(before, ended))
        for flag in () if ended.outcome is None else ended.outcome.flags:
            values = {name: getattr(flag, name) for name in flag.__struct_fields__}
            await self._insert(flags, [{**values, "round_id": frozen.index, "raised_at": at}])
        newest = await self._scalar(select(func.max(state_copies.c.round_id)))
        if frozen.index // COPY_ROUNDS > (newest or 0) // COPY_ROUNDS:
            await self.copy(frozen.index, await self.whole())

    async def cloud(self, round_id: int) -> None:
        """Note that a round with an unreadable plan was abandoned."""
        before = await self.of(())
        await self.write(before.shared, Delta({}, mark_unknown_plan(before, round_id).shared))

    async def pay(self, mechanism: Mechanism, epoch: int, round_id: int | None) -> None:
        """Note that a vector was computed (see `paid`)."""
        before = await self.of(())
        after = record_vector(before, mechanism, epoch, None if round_id is None else str(round_id))
        await self.write(before.shared, Delta({}, after.shared))

    async def write(self, before: Shared, delta: Delta) -> None:
        """Write what changed from the state as it was read."""
        encode = _ENCODER.encode
        miners = [{"hotkey": hotkey, "miner": encode(one)} for hotkey, one in delta.miners.items()]
        await self._upsert(state_miners, miners)
        after = delta.shared
        if after.rounds[-1:] != before.rounds[-1:]:
            place = await self._next(state_rounds, "place")
            await self._insert(state_rounds, [{"place": place, "round": encode(after.rounds[-1])}])
            await self._changed(delete(state_rounds).where(state_rounds.c.place <= place - FROZEN_ROUNDS))
        gone = before.late.keys() - after.late.keys()
        if gone:
            await self._changed(delete(state_late).where(state_late.c.round_id.in_(gone)))
        changed = {number: one for number, one in after.late.items() if before.late.get(number) != one}
        late = [{"round_id": number, "late": encode(one)} for number, one in changed.items()]
        await self._upsert(state_late, late)
        rest = msgspec.structs.replace(after, rounds=(), late={}, sources=None)  # which have rows of their own
        await self._upsert(state_shared, [{"id": 1, "shared": encode(rest)}])

    async def copies(self) -> tuple[int, ...]:
        """Return the rounds after which a copy was kept, oldest first."""
        rows = await self._all(select(state_copies.c.round_id).order_by(state_copies.c.round_id))
        return tuple(row.round_id for row in rows)

    async def copied(self, round_id: int) -> State:
        """Return the copy that was kept after a round."""
        blob = await self._scalar(select(state_copies.c.state).where(state_copies.c.round_id == round_id))
        if blob is None:
            raise DamagedError(f"no copy of the state after round {round_id}")
        return _decoded(_STATE, expanded(blob))

    async def copy(self, round_id: int, state: State) -> None:
        """Keep the state after a round, and delete all but the newest copies."""
        blob = await asyncio.to_thread(lambda: compressed(_ENCODER.encode(state)))
        await self._upsert(state_copies, [{"round_id": round_id, "state": blob}])
        gone = (await self.copies())[:-_COPIES]
        await self._changed(delete(state_copies).where(state_copies.c.round_id.in_(gone)))

    async def _read(
        self, hotkeys: Collection[str] | None, late: Collection[int] | None, *, every_round: bool = False
    ) -> State:
        """Return the state of these miners, and the late results of these rounds; None: of all.

        What is forgotten when there is too much of it needs all of it.
        """
        statement = select(state_miners)
        if hotkeys is not None:
            statement = statement.where(state_miners.c.hotkey.in_(hotkeys))
        stored = [] if hotkeys is not None and not hotkeys else await self._all(statement.order_by("hotkey"))
        miners = {row.hotkey: _decoded(_MINER, row.miner) for row in stored}
        blob = await self._scalar(select(state_shared.c.shared))
        if blob is None:
            return NOTHING
        newest = select(state_rounds.c.round).order_by(state_rounds.c.place.desc())
        rounds = await self._all(newest if every_round else newest.limit(1))
        rows = select(state_late).order_by(state_late.c.round_id)
        if late is not None and await self._scalar(select(func.count()).select_from(state_late)) < LATE_ROUNDS:
            rows = rows.where(state_late.c.round_id.in_(late))
        shared = msgspec.structs.replace(
            _decoded(_SHARED, blob),
            rounds=_as_one(_decoded(_ROUND, row.round) for row in reversed(rounds)),
            late={row.round_id: _decoded(_LATE, row.late) for row in await self._all(rows)},
        )
        return State(miners, shared)


def _named(frozen: RoundInput) -> set[str]:
    """Return everybody whom a step of a round may change."""
    late = (*(one.hotkey for one in frozen.executions), *(one.hotkey for one in frozen.filled))
    return {*(one.hotkey for one in frozen.miners), *(act.hotkey for act in frozen.acts), *late}


def _as_one(rounds: Iterable[FrozenRound]) -> tuple[FrozenRound, ...]:
    """Return the rounds; those that declare the same share the bytes."""
    known: dict[bytes, bytes] = {}
    return tuple(msgspec.structs.replace(one, declared=known.setdefault(one.declared, one.declared)) for one in rounds)


def _decoded(decoder: "msgspec.msgpack.Decoder[T]", data: Any) -> T:
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise DamagedError(f"the state cannot be read: {printable(str(error))}") from None


_MINER: Final = msgspec.msgpack.Decoder(Miner)
_SHARED: Final = msgspec.msgpack.Decoder(Shared)
_ROUND: Final = msgspec.msgpack.Decoder(FrozenRound)
_LATE: Final = msgspec.msgpack.Decoder(Late)
_STATE: Final = msgspec.msgpack.Decoder(State)
