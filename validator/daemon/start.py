"""Check of chain and store before any service starts; it binds a new store to its chain."""

import asyncio
from typing import Final

import structlog

from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.cancellation import within
from validator.chain.interface import (
    Chain,
    ChainError,
    ChainUnreachableError,
    NoSubnetError,
    NotRegisteredError,
    SubnetParameters,
)
from validator.chain.runtime_rules import preconditions
from validator.settings.model import Settings
from validator.store import Store
from validator.store.identity import adopt_chain, require_chain, require_hotkey
from validator.telemetry import Event
from validator.weights.plan import mechanisms

START_S: Final = 60.0  # for a first look at the chain, each of whose calls has its own limit
_log = structlog.get_logger()


async def check_start(chain: Chain, clock: Clock, settings: Settings, hotkey: str, store: Store | None = None) -> None:
    """Raise if the validator cannot work; log each precondition of weights.

    A store that belongs to no chain yet belongs to this one from then on.

    Raises:
        ChainUnreachableError: nothing that can be used answers at the endpoints.
        NoSubnetError: no subnet of this netuid.
        OtherStoreError: the store belongs to another chain, subnet or hotkey.
        NotRegisteredError: the hotkey has no slot on it.
    """
    place = _place(settings)
    try:
        genesis, snapshot, parameters = await within(clock, START_S, _look(chain))
    except NoSubnetError:
        netuid = settings.validator.netuid
        raise NoSubnetError(f"netuid {netuid} at {place}; check validator.netuid and chain.endpoints") from None
    except (ChainUnreachableError, TimeoutError) as error:
        raise ChainUnreachableError(f"{place}: {_short(error)}; check chain.endpoints and the network") from None
    except ChainError as error:
        raise ChainUnreachableError(
            f"{place}: no usable answer: {_short(error)}; check chain.endpoints: is this a subtensor node?"
        ) from None
    if store is not None:
        await settle_chain(store, genesis, settings.validator.netuid, clock)
        async with store.read() as tx:
            await require_hotkey(tx, hotkey)
    me = snapshot.by_hotkey(hotkey)
    if me is None:
        raise NotRegisteredError(
            f"{hotkey} on netuid {snapshot.netuid} at {place}; register it, or check [wallet] and validator.netuid"
        )
    _log.info(Event.PRECONDITION, name="registered", detail=f"uid {me.uid} on netuid {snapshot.netuid}")
    for rule, verdict in preconditions(snapshot, parameters, me, max(mechanisms(settings.weights))):
        if verdict.refused and not verdict.passes:
            _log.warning(Event.PRECONDITION, name=rule.name, reason=rule.reason, detail=verdict.detail)
        else:
            _log.info(Event.PRECONDITION, name=rule.name, detail=verdict.detail)


async def settle_chain(store: Store, genesis: str, netuid: int, clock: Clock) -> None:
    """Check that the store belongs to this chain and subnet (OtherStoreError); a new store adopts them."""
    async with store.read() as tx:
        if await require_chain(tx, genesis, netuid):
            return  # without a write, which a store in trouble would not take now
    async with store.begin() as tx:
        adopted = await adopt_chain(tx, genesis, netuid, clock.now())
    if adopted:
        _log.info(Event.STORE_CHAIN_ADOPTED, genesis=genesis, netuid=netuid)


async def _look(chain: Chain) -> tuple[str, MetagraphSnapshot, SubnetParameters]:
    return await asyncio.gather(chain.genesis(), chain.snapshot(), chain.parameters())


def _place(settings: Settings) -> str:
    if settings.chain.kind == "simulated":
        return printable(f"the simulated chain in {settings.chain.state}")
    return ", ".join(str(endpoint) for endpoint in settings.chain.endpoints)


def _short(error: Exception) -> str:
    return printable(error.detail if isinstance(error, ChainError) else str(error), 300) or type(error).__name__
