"""The epochs' salts (SPEC 8): committed to one epoch ahead, secret while in use, published afterwards."""

from typing import Any, Final

from sqlalchemy import Row, bindparam, func, select, update

from validator.protocol.canonical import sha256_hex
from validator.store.errors import MismatchError, WrongStateError
from validator.store.records import SaltRecord
from validator.store.repositories.base import Repository, inserted_id
from validator.store.tables import rounds, salts

_OF_EPOCH: Final = select(salts).where(salts.c.epoch == bindparam("epoch"))


class Salts(Repository):
    """At most one salt per epoch; `epoch` None is the one committed to for the next."""

    async def current(self, epoch: int) -> SaltRecord | None:
        """Return the epoch's salt."""
        return _record(await self._first(_OF_EPOCH, {"epoch": epoch}))

    async def pending(self) -> SaltRecord | None:
        """Return the oldest salt that no epoch uses yet."""
        return _record(await self._first(select(salts).where(salts.c.epoch.is_(None)).order_by(salts.c.id).limit(1)))

    async def add(self, salt: bytes, commitment: str) -> int:
        """Keep a fresh salt and return its id.

        Args:
            salt: 32 random bytes.
            commitment: hex sha256 of them.

        Raises:
            MismatchError: the commitment is not to this salt.
        """
        if sha256_hex(salt) != commitment:
            raise MismatchError("`commitment` is not the sha256 of `salt`")
        return int(await self._scalar(inserted_id(salts).values(salt=salt, commitment=commitment)))

    async def assign(self, salt_id: int, epoch: int) -> None:
        """Bind a pending salt to the epoch that uses it; for good.

        Raises:
            WrongStateError: no such salt, or it has an epoch, or the epoch has a salt.
        """
        others = salts.alias()
        taken = select(others.c.id).where(others.c.epoch == epoch).exists()
        free = (salts.c.id == salt_id) & salts.c.epoch.is_(None) & ~taken
        if not await self._changed(update(salts).where(free).values(epoch=epoch)):
            raise WrongStateError(f"salt {salt_id} cannot become that of epoch {epoch}: one of them is bound already")

    async def newest(self) -> SaltRecord | None:
        """Return the salt of the highest epoch that has one."""
        statement = select(salts).where(salts.c.epoch.is_not(None)).order_by(salts.c.epoch.desc()).limit(1)
        return _record(await self._first(statement))

    async def over(self, before: int) -> tuple[SaltRecord, ...]:
        """Return the salts of epochs before `before` that no receipt has made public, by epoch.

        An epoch with a round that is still open is not over.
        """
        still_open = select(rounds.c.epoch).where(rounds.c.state == "open")
        mine = (salts.c.epoch < before) & salts.c.revealed_in.is_(None) & salts.c.epoch.not_in(still_open)
        found = [_record(row) for row in await self._all(select(salts).where(mine).order_by(salts.c.epoch))]
        return tuple(record for record in found if record is not None)

    async def revealed(self, salt_id: int, sequence: int) -> None:
        """Note the receipt that made a salt public."""
        await self._changed(update(salts).where(salts.c.id == salt_id).values(revealed_in=sequence))

    async def used(self, commitment: str, round_id: int) -> None:
        """Note that a round draws from the salt with this commitment (none: nothing happens)."""
        values = {"first_round": func.coalesce(salts.c.first_round, round_id), "last_round": round_id}
        await self._changed(update(salts).where(salts.c.commitment == commitment).values(values))


def _record(row: Row[Any] | None) -> SaltRecord | None:
    if row is None:
        return None
    return SaltRecord(row.id, row.salt, row.commitment, row.epoch, row.first_round, row.last_round, row.revealed_in)
