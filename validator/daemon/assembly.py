"""Assembly of one validator's services from settings, world and store. Called by `main.py`, localnet, simulation."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import structlog

from sssa.kinds.workflow.kind import WORKFLOW
from validator import __version__
from validator.chain.clockwatch import ClockWatch
from validator.chain.opening import chain_is_here
from validator.daemon.daemon import Daemon, Drains, Service
from validator.daemon.waiting_work import executes, waiting_work
from validator.daemon.watches import (
    BudgetService,
    FigureWatch,
    GateWatch,
    HeadWatch,
    LogWatch,
    LoopWatch,
    RetentionService,
    RoundWatch,
    StoreWatch,
)
from validator.daemon.world import World
from validator.health.board import Board, advice_on
from validator.health.endpoint import HealthService
from validator.health.report import HealthState
from validator.kinds.assessment.supply import Bundles
from validator.kinds.workflow.executor import PlanRunner
from validator.kinds.workflow.supply import Goals
from validator.miners.directory import CapabilityDirectory
from validator.rounds.attribution import NetworkAway, network_away, network_away_here
from validator.rounds.dispatch import Dispatcher
from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.heartbeat import Heartbeat
from validator.rounds.prepare import Preparer, runtime_images_of, schedule_of
from validator.rounds.readiness import Readiness, Standing, clock_fault, folders_of, round_checks
from validator.rounds.service import RoundService
from validator.settings.model import Settings
from validator.store import Store
from validator.store.identity import require_known_version
from validator.tasks.submitted import next_submitted
from validator.telemetry.metrics import Metrics
from validator.weights.anchoring import AnchorService
from validator.weights.figures import OwnFiguresWatch
from validator.weights.pay_watch import PayWatch
from validator.weights.plan import mechanisms
from validator.weights.service import WeightService
from validator.weights.watch import WeightsLock, stop_file_of

_log = structlog.get_logger()


@asynccontextmanager
async def assembled(settings: Settings, world: World, metrics: Metrics | None = None) -> AsyncIterator[Daemon]:
    """Open what the services need, in order; close it in reverse.

    Raises:
        ValidatorError: a part cannot start; the text says which and why.
    """
    metrics = metrics or Metrics(world.clock, __version__)
    async with AsyncExitStack() as stack:
        world.close_with(stack)
        schedule = schedule_of(settings)
        store = await stack.enter_async_context(world.open_store(settings))
        async with store.read() as tx:
            await require_known_version(tx)
            drained = await tx.drains.newest()
            if (known := await tx.chain.get()) is not None:
                world.chain.expect(known.genesis)
        heart, clock_watch = Heartbeat(world.clock), ClockWatch(world.clock)
        chain_is_local = await asyncio.to_thread(chain_is_here, settings)
        board = Board(world.clock, metrics.condition)
        if world.canary_fault:
            board.raise_("canaries_unavailable", world.canary_fault)
        health = HealthState(world.clock, settings.rounds.interval_s, __version__, board)
        away = partial(network_away, None if chain_is_local else world.chain, world.source, lambda: health.block_age_s)
        compared = None if chain_is_local and settings.tasks.server_url is None else away
        submitted = partial(next_submitted, store) if settings.attestations.submissions else None
        if chain_is_local:
            away = partial(network_away_here, world.source, lambda: health.block_age_s, world.clock)
        dispatcher = _dispatcher(world, store, heart, away)
        pay = PayWatch(store, world.clock, board, world.signer.hotkey, compared, health.record)
        watch = RoundWatch(health, board, metrics, pay)
        rounds = RoundService(
            store=store,
            chain=world.chain,
            source=world.source,
            clock=world.clock,
            signer=world.signer,
            directory=CapabilityDirectory(
                world.miners, store, world.clock, world.signer.hotkey, world.workers, watch.declared
            ),
            preparer=Preparer(
                store=store,
                supplies=(
                    Bundles(world.source, world.canary, world.random, submitted),
                    Goals(world.goals, world.random),
                ),
                clock=world.clock,
                random=world.random,
                signer=world.signer,
                schedule=schedule,
                images=runtime_images_of(settings),
                executes=executes(world),
            ),
            dispatcher=dispatcher,
            gates=dispatcher.gates,
            interval_s=settings.rounds.interval_s,
            refresh_s=settings.rounds.capabilities_refresh_s,
            standing=Standing(world.signer.hotkey, settings.rounds.without_permit, watch.standing),
            readiness=Readiness(round_checks(settings, schedule, clock_watch), board, health.waits),
            board=board,
            advice=advice_on,
            unpaid=metrics.unpaid_windows,
            listeners=(watch, *world.listeners),
        )
        waiting = await waiting_work(world, store, metrics, health, stack)
        services = _services(settings, world, store, metrics, health, heart, clock_watch, waiting, pay)
        yield Daemon(settings, store, metrics, board, health, rounds, services, Drains(store, world.clock, drained))


def _dispatcher(world: World, store: Store, heart: Heartbeat, away: NetworkAway) -> Dispatcher:
    gates = Gatekeeper(world.workers, store)
    runners = {WORKFLOW.name: PlanRunner(world.steps, world.clock, world.workers, heart.since)}
    return Dispatcher(world.miners, store, world.clock, gates, runners, heart.since, away)


def _services(  # noqa: PLR0913, PLR0917 - the parts of which they are made
    settings: Settings,
    world: World,
    store: Store,
    metrics: Metrics,
    health: HealthState,
    heart: Heartbeat,
    clock_watch: ClockWatch,
    waiting: Sequence[Service],
    pay: PayWatch,
) -> Sequence[Service]:
    watch = StoreWatch(store, world.clock, health.board, metrics.store_write.observe)
    store.on_outage = watch.report_outage
    metrics.interval.set(settings.rounds.interval_s)
    sends = settings.weights.enabled and not settings.weights.dry_run
    mechids, most_epochs = tuple(mechanisms(settings.weights)) if sends else (), settings.health.weights_epochs
    figures = FigureWatch(
        store, world.clock, metrics, health, settings.validator.netuid, mechids, most_epochs, folders_of(settings)
    )
    return (
        heart,
        HealthService(settings.health, health, metrics, world.listen),
        watch,
        HeadWatch(world.chain, world.clock, health, clock_watch, metrics),
        LoopWatch(world.clock, metrics),
        LogWatch(world.clock, health.board),
        BudgetService(world.workers),
        GateWatch(world.workers, world.clock, health),
        figures,
        OwnFiguresWatch(world.chain, world.clock, world.signer.hotkey, metrics, health.board),
        RetentionService(store, world.clock, settings.store.retention_raw_days, settings.store.retention_bundles_days),
        pay,
        *waiting,
        *_signing_services(settings, world, store, metrics, clock_watch, health.board, pay),
    )


def _signing_services(  # noqa: PLR0913, PLR0917 - the parts of which they are made
    settings: Settings,
    world: World,
    store: Store,
    metrics: Metrics,
    clock_watch: ClockWatch,
    board: Board,
    pay: PayWatch,
) -> Sequence[Service]:
    """Return the services that sign for the chain, one after the other: one per mechanism, and the anchor's."""
    lock, signing = WeightsLock(store, world.clock, stop_file_of(settings)), asyncio.Lock()
    anchor = AnchorService(
        store=store,
        chain=world.chain,
        clock=world.clock,
        hotkey=world.signer.hotkey,
        netuid=settings.validator.netuid,
        settings=settings.weights,
        lock=lock,
        signing=signing,
        metrics=metrics,
    )
    weights = [
        WeightService(
            store=store,
            chain=world.chain,
            clock=world.clock,
            signer=world.signer,
            random=world.random,
            netuid=settings.validator.netuid,
            mechid=mechid,
            kinds=kinds,
            settings=settings.weights,
            lock=lock,
            clock_fault=partial(clock_fault, clock_watch),
            signing=signing,
            metrics=metrics,
            board=board,
            pay=pay,
        )
        for mechid, kinds in mechanisms(settings.weights).items()
    ]
    return [*weights, anchor] if settings.audit.anchor and not settings.weights.dry_run else weights
