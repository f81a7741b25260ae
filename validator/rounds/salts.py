"""Epoch salts: drawn an epoch ahead, so that their commitment can be public before they are used (SPEC 8, D-8)."""

from validator.protocol.draws import salt_commitment
from validator.sources import RandomBytes
from validator.store import Transaction
from validator.store.records import SaltRecord

_SALT_BYTES = 32


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


async def pending_salt(tx: Transaction, random: RandomBytes) -> SaltRecord:
    """Return the salt that is committed to for the next epoch, drawing it if there is none."""
    pending = await tx.salts.pending()
    if pending is None:
        salt = random.token(_SALT_BYTES)
        await tx.salts.add(salt, salt_commitment(salt))
        pending = await tx.salts.pending()
    if pending is None:
        raise RuntimeError("a salt that was just added is not there")
    return pending
