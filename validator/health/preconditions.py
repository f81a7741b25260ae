"""Preconditions of a start, of weights (SPEC 11) and of a round on this machine (SPEC 16, D-26).

The check of a start also binds a new store to its chain; nothing else here writes.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from validator.chain.base import (
    Chain,
    ChainError,
    ChainUnreachableError,
    NoSubnetError,
    NotRegisteredError,
    SubnetParameters,
)
from validator.chain.clockwatch import ClockWatch
from validator.chain.runtime_rules import RULES, Asked
from validator.incoming.server import Bounds
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot, Neuron
from validator.protocol.text import printable
from validator.rounds.readiness import Check, clock_check, descriptor_check, disk_check, spool_folder
from validator.scoring import Rules, Schedule, version
from validator.settings.model import Settings
from validator.sources import Clock, within
from validator.store import Store
from validator.store.identity import adopt_chain, require_chain, require_hotkey
from validator.store.urls import parse_url
from validator.telemetry import Event
from validator.weights.plan import mechanisms

ENDPOINT_BOUNDS: Final = Bounds(connections=16, header_s=10.0, request_s=30.0)
"""Bounds of the health endpoint; a round leaves it its file descriptors."""
PASSING: Final = ("rate_limit",)
"""Preconditions that hinder now and are over by themselves."""
START_S: Final = 60.0  # for a first look at the chain, each of whose calls has its own limit
_log = structlog.get_logger()


class Precondition(NamedTuple):
    """One thing that weights depend on; `reason` is why none could be sent now, None if it is not in the way."""

    name: str
    reason: Reason | None
    detail: str


async def check_start(chain: Chain, clock: Clock, settings: Settings, hotkey: str, store: Store | None = None) -> None:
    """Refuse to start where nothing can be done, and log what keeps weights from being sent, a line for each.

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
    for name, reason, detail in preconditions(snapshot, parameters, me, max(mechanisms(settings.weights))):
        if reason is None or name in PASSING:
            _log.info(Event.PRECONDITION, name=name, detail=detail)
        else:
            _log.warning(Event.PRECONDITION, name=name, reason=reason, detail=detail)


def preconditions(
    snapshot: MetagraphSnapshot, parameters: SubnetParameters, me: Neuron, mechid: int
) -> Iterator[Precondition]:
    """Yield what weights depend on, as of the snapshot. Pure."""
    yield Precondition("registered", None, f"uid {me.uid} on netuid {snapshot.netuid}")
    asked = Asked(snapshot, parameters, me, mechid, me.last_update)
    for rule in RULES:
        verdict = rule.judge(asked)
        yield Precondition(rule.name, rule.reason if verdict.refused else None, verdict.detail)


async def settle_chain(store: Store, genesis: str, netuid: int, clock: Clock) -> None:
    """Hold the store to its chain and subnet (OtherStoreError).

    One that knows none adopts these, and the log says so.
    """
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


def round_checks(settings: Settings, schedule: Schedule, clock_watch: ClockWatch, resting: int = 0) -> Sequence[Check]:
    """Return the checks of this machine before a round, in the order in which they are asked (SPEC 16, D-26).

    `resting`: so many file descriptors a daemon has open between rounds, where another process asks.
    """

    def rules_at(epoch: int) -> Rules:
        return version(schedule.version_at(epoch)).rules

    return (
        clock_check(clock_watch),
        descriptor_check(rules_at, settings.rounds.max_open, ENDPOINT_BOUNDS.descriptors, resting),
        disk_check(rules_at, tuple(folders_of(settings).values())),
    )


def folders_of(settings: Settings) -> Mapping[str, Path]:
    """Return where the validator writes, by name: `temporary`, and `store` where that is a file."""
    database = parse_url(settings.store.url.reveal()).path
    return {"temporary": spool_folder()} | ({} if database is None else {"store": database.parent})
