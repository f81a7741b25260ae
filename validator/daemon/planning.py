"""`validator weights plan`: the world that the settings describe, looked at once."""

from validator.daemon.world import build_world
from validator.settings import Settings
from validator.store import Transaction
from validator.store.belonging import require_chain
from validator.weights.preview import PlanView, planned_weights


async def plan_of(tx: Transaction, settings: Settings) -> tuple[PlanView, ...]:
    """Return what would be sent now, per mechanism; nothing is.

    Raises:
        ValidatorError: a part of the world cannot be used.
    """
    world = build_world(settings)
    try:
        await require_chain(tx, await world.chain.genesis(), settings.validator.netuid)
        return await planned_weights(tx, settings, world.chain, world.clock, world.signer.hotkey)
    finally:
        await world.source.close()
        await world.chain.close()
