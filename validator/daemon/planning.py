"""`validator weights plan`: the chain that the settings describe, looked at once."""

from validator.chain.opening import chain_of
from validator.chain.wallet import load_signer
from validator.settings import Settings
from validator.sources import SystemClock
from validator.store import Transaction
from validator.store.belonging import require_chain
from validator.weights.preview import PlanView, planned_weights


async def plan_of(tx: Transaction, settings: Settings) -> tuple[PlanView, ...]:
    """Return what would be sent now, per mechanism; nothing is.

    Raises:
        ValidatorError: the hotkey or the chain cannot be used.
    """
    clock, signer = SystemClock(), load_signer(settings.wallet)
    chain = chain_of(settings, signer, clock)
    try:
        await require_chain(tx, await chain.genesis(), settings.validator.netuid)
        return await planned_weights(tx, settings, chain, clock, signer.hotkey)
    finally:
        await chain.close()
