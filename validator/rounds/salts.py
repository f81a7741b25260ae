"""Epoch salts: drawn an epoch ahead, so that their commitment can be public before they are used (SPEC 8, D-8)."""

from validator.sources import RandomBytes
from validator.store import Transaction
from validator.store.log import pending_salt
from validator.store.rows import SaltRecord


async def salt_to_use(tx: Transaction, epoch: int, random: RandomBytes) -> SaltRecord:
    """Return the salt that `epoch_salt` will bind to the epoch, or did; nothing is bound."""
    return await tx.salts.current(epoch) or await pending_salt(tx, random)


async def epoch_salt(tx: Transaction, epoch: int, random: RandomBytes) -> SaltRecord:
    """Return the epoch's salt, binding the pending one to it; a fresh pending one is left for the next epoch.

    Call it in a transaction that ends with a receipt or a round of the epoch: the log must know of every bound salt.
    """
    salt = await tx.salts.current(epoch)
    if salt is None:
        salt = await pending_salt(tx, random)
        await tx.salts.assign(salt.id, epoch)
    await pending_salt(tx, random)
    return salt
