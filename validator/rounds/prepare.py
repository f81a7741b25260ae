"""Freezing a round: everything that decides it becomes one value, stored before the first dispatch.

The order in which a validator gives its tasks is its own: no two validators have the same (SPEC 16, D-29).
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from msgspec.structs import replace

from sssa.protocol import typed
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.draws import round_seed
from sssa.protocol.limits import MAX_FILLED
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import RoundEnd, RoundLines
from sssa.protocol.round import (
    INPUT_VERSION,
    TRUTH_BYTES,
    Acts,
    MetagraphSnapshot,
    MinerState,
    RoundInput,
    RoundPlan,
    RoundTask,
    is_submitted,
)
from sssa.protocol.runtime_image import RuntimeImages
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.scoring import DEFAULT, Schedule, Version, plan_round, version
from sssa.sources import Clock, RandomBytes
from sssa.state.inputs import freeze_miner
from sssa.state.mechanism_state import State
from sssa.state.round_end import apply_acts
from validator.chain.interface import BehindError
from validator.kinds.services import PackedTask, Supply
from validator.rounds.receipts import epoch_salt, is_over, salt_to_use, write_receipt
from validator.settings.model import Settings
from validator.store import PATIENCE_S, Store, Transaction
from validator.store.log import open_log
from validator.store.rows import SaltRecord
from validator.tasks.source import least_given

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class EpochOrder:
    """The order of one epoch's rounds. See `Order`.

    It follows from the store and the epoch's salt alone, so that it is the same after a restart; without the
    salt it cannot be predicted. The salt is secret while in use, therefore shown nowhere.
    """

    store: Store
    epoch: int
    salt: bytes = field(repr=False)

    async def rank(self, skill_type: SkillType, sources: Collection[str]) -> list[str]:
        """Return `sources` without those that are retired, the next one first."""
        async with self.store.read() as tx:
            retired = await tx.retired.among(sources) | await tx.submitted.among(sources)
            given = await tx.given_tasks.counts(skill_type, sources)
        if retired:
            _log.info(
                "tasks_retired", skill_type=str(skill_type), skipped=len(retired), left=len(sources) - len(retired)
            )
        return await asyncio.to_thread(
            least_given, given, self.salt, self.epoch, [one for one in sources if one not in retired]
        )

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:
        """Return what was given last, newest first."""
        async with self.store.read() as tx:
            return await tx.given_tasks.recent(skill_type, most)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A round that is stored and may be dispatched. `bundles`: by task id, of the tasks that have one."""

    frozen: RoundInput
    plan: RoundPlan
    bundles: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A round that had nothing to do; it is stored as skipped."""

    round_id: str
    epoch: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Preparer:
    """The freezing and opening of rounds.

    Args:
        supplies: where its tasks come from, one after the other.
        schedule: which version a round is frozen under, by the epoch of its snapshot.
        images: what runs the bundles of runtime types, by the same epoch.
        executes: whether this validator runs them (SPEC 15).
    """

    store: Store
    supplies: Sequence[Supply]
    clock: Clock
    random: RandomBytes
    signer: Signer
    schedule: Schedule = DEFAULT
    images: RuntimeImages = field(default_factory=RuntimeImages)
    executes: bool = False

    async def prepare(self, snapshot: MetagraphSnapshot) -> Prepared | Skipped:
        """Freeze the next round on `snapshot`, store it with all dispatches planned, and return it.

        Raises:
            BehindError: the snapshot is older than that of the newest round.
        """
        async with self.store.read() as tx:
            round_id = str(await tx.rounds.next_id())
            opened = await tx.receipts.count() > 0
            newest = await tx.rounds.newest_frozen()
        if newest is not None and snapshot.block < newest.block:  # the log's blocks never go back
            raise BehindError(f"block {snapshot.block}, and round {newest.round_id} is of block {newest.block}")
        if not opened:
            # On its own: what commits to the first salt is before anything is drawn from it.
            await self.store.lasting(
                lambda tx: open_log(tx, self.signer, self.clock.now(), self.random, int(round_id)),
                patience_s=PATIENCE_S,
            )
        salt = await self.store.lasting(lambda tx: self._salt(tx, round_id, snapshot), patience_s=PATIENCE_S)
        if isinstance(salt, Skipped):
            return salt
        rules = version(self.schedule.version_at(snapshot.epoch)).rules
        order = EpochOrder(self.store, snapshot.epoch, salt.salt)
        packed = [task for supply in self.supplies for task in await supply.fill(rules, round_id, order, salt.salt)]
        return await self.store.lasting(lambda tx: self._open(tx, round_id, snapshot, packed), patience_s=PATIENCE_S)

    async def _salt(self, tx: Transaction, round_id: str, snapshot: MetagraphSnapshot) -> SaltRecord | Skipped:
        if await is_over(tx, snapshot.epoch):
            return await self._skip(tx, round_id, snapshot, Reason.SKIPPED_EPOCH_OVER)
        return await salt_to_use(tx, snapshot.epoch, self.random)

    async def _open(
        self, tx: Transaction, round_id: str, snapshot: MetagraphSnapshot, packed: list[PackedTask]
    ) -> Prepared | Skipped:
        if await is_over(tx, snapshot.epoch):  # its salt may have become public meanwhile
            return await self._skip(tx, round_id, snapshot, Reason.SKIPPED_EPOCH_OVER)
        # Here and no sooner: an epoch that ends before a round of it is stored has used no salt.
        salt = await epoch_salt(tx, snapshot.epoch, self.random)
        if not packed:
            return await self._skip(tx, round_id, snapshot, Reason.SKIPPED_NO_TASKS)
        frozen = await self._freeze(tx, round_id, snapshot, salt, packed)
        plan = plan_round(version(frozen.scoring_version), frozen)
        await tx.rounds.open(frozen, plan, self.clock.now())
        await tx.given_tasks.give(int(round_id), _sources(packed))
        for task in filter(is_submitted, frozen.tasks):
            await tx.submitted.had(task.source_sha256, int(round_id))
        bundles = [(task, bundle) for task, bundle, _ in packed if bundle is not None]
        for task, bundle in bundles:
            await tx.bundles.put(task.bundle_sha256, bundle, self.clock.now())
        return Prepared(frozen, plan, {task.task_id: bundle for task, bundle in bundles})

    async def _skip(self, tx: Transaction, round_id: str, snapshot: MetagraphSnapshot, reason: Reason) -> Skipped:
        now = self.clock.now()
        await tx.rounds.skip(
            int(round_id),
            epoch=snapshot.epoch,
            block=snapshot.block,
            block_hash=snapshot.block_hash,
            reason=reason,
            at=now,
        )
        end = RoundEnd(
            round_id,
            snapshot.epoch,
            snapshot.block,
            snapshot.block_hash,
            "skipped",
            reason,
            None,
            RoundLines(),
        )
        await write_receipt(tx, self.signer, now, end)
        return Skipped(round_id, snapshot.epoch, reason)

    async def _freeze(
        self, tx: Transaction, round_id: str, snapshot: MetagraphSnapshot, salt: SaltRecord, packed: list[PackedTask]
    ) -> RoundInput:
        scoring_version = self.schedule.version_at(snapshot.epoch)
        acts = await tx.acts.take(int(round_id))
        miners, state = await miner_states(
            tx, version(scoring_version), int(round_id), snapshot, self.signer.hotkey, self.clock.now(), acts
        )
        frozen = RoundInput(
            input_version=INPUT_VERSION,
            scoring_version=scoring_version,
            round_id=round_id,
            validator_hotkey=self.signer.hotkey,
            snapshot=snapshot,
            seed=round_seed(salt.salt, round_id, snapshot.block_hash).hex(),
            salt_commitment=salt.commitment,
            miners=miners,
            tasks=tuple(self._committed(task.task) for task in packed),
            executions=await tx.executions.results(),
            filled=await tx.code_checks.results(MAX_FILLED),
            acts=acts,
            runtime_image=self.images.image_at(snapshot.epoch),
            executes=self.executes,
        )
        scored_by = version(scoring_version)
        if scored_by.pays_tallies:
            frozen = replace(frozen, curated_random=self.random.token(TRUTH_BYTES).hex())
        known = await tx.tasks.first_rounds({task.source_sha256 for task in frozen.tasks})
        return scored_by.complete(replace(state, shared=replace(state.shared, sources=known)), frozen)

    def _committed(self, task: RoundTask) -> RoundTask:
        """Return the task with the bytes that the log commits to its truth with; drawn here, once (SPEC 16, D-31)."""
        if task.secret is None:
            return task
        return replace(task, truth_random=self.random.token(TRUTH_BYTES).hex())


def _sources(packed: Sequence[PackedTask]) -> dict[SkillType, list[str]]:
    """Return the digests of tasks that sources gave, by type."""
    sources: dict[SkillType, list[str]] = {}
    for task, _, sourced in packed:
        if sourced:
            sources.setdefault(task.skill_type, []).append(task.source_sha256)
    return sources


async def miner_states(  # noqa: PLR0913, PLR0917 - whose past, as of when, and how far back
    tx: Transaction,
    scored_by: Version,
    round_id: int,
    snapshot: MetagraphSnapshot,
    own_hotkey: str,
    now: datetime,
    acts: Acts = (),
) -> tuple[tuple[MinerState, ...], State]:
    """Return the registered miners with a valid declaration, by hotkey, and the state that they were frozen from.

    The transaction is that of the round's opening; `own_hotkey` is the validator's, who is no miner; `acts` are those
    that the round's input tells.
    """
    registered = {neuron.hotkey for neuron in snapshot.neurons} - {own_hotkey}
    documents = await tx.capabilities.valid(now)
    declared = [typed.decode(documents[hotkey], Capabilities) for hotkey in sorted(documents.keys() & registered)]
    others = registered if scored_by.pays_tallies else {one.hotkey for one in declared}
    state = apply_acts(await tx.state.of({*others, *(act.hotkey for act in acts)}), acts)
    rules = scored_by.rules
    miners = tuple(
        freeze_miner(
            state,
            one.hotkey,
            round_id,
            history_rounds=rules.groups.history_rounds,
            samples=rules.collusion.window,
            skill_types=one.usable_types,
            max_concurrent=one.concurrency,
        )
        for one in declared
    )
    return miners, state


def schedule_of(settings: Settings) -> Schedule:
    """Return which version new rounds are frozen under.

    Raises:
        ScheduleError: the program cannot follow what the settings say.
    """
    starts = settings.scoring.schedule
    return DEFAULT if starts is None else Schedule(starts)


def runtime_images_of(settings: Settings) -> RuntimeImages:
    """Return which image runs the bundles of new rounds (ScheduleError: the table is out of order)."""
    starts = settings.scoring.runtime_images
    return RuntimeImages() if starts is None else RuntimeImages(starts)
