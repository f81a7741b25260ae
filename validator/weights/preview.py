"""Preview of the next vector next to the one on chain, for `weights plan` and the API; sends nothing (SPEC 11)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import Kind
from sssa.sources import Clock, SystemClock
from validator.chain.interface import Chain
from validator.chain.opening import chain_of
from validator.chain.wallet import load_signer
from validator.settings.model import Settings
from validator.store import Transaction
from validator.store.identity import require_chain
from validator.store.rows import DescribedUnpaid
from validator.store.vector_inputs import basis_of
from validator.weights.chain_view import ChainReader, ChainView, chain_blocker, due_block
from validator.weights.figures import OwnFigures, own_figures
from validator.weights.guard import KnownUpdates, rule
from validator.weights.plan import Vector, mechanisms, plan_vector
from validator.weights.watch import known_updates, read_stop_file, stop_file_of


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One uid: its current holder if any, score and capped weight, and its share of the planned and the stored row.

    The owner's unallocated share is not in `weight`; the `_u16` are the values that the chain would store, and stores.
    """

    uid: int
    hotkey: str | None
    score: float | None
    weight: float
    planned_u16: int
    planned: float
    on_chain_u16: int
    on_chain: float
    difference: float


@dataclass(frozen=True, slots=True)
class BlockerView:
    """A reason why weights are not sent now."""

    reason: Reason
    meaning: str
    detail: str


@dataclass(frozen=True, slots=True)
class PlanView:
    """One mechanism.

    Attributes:
        block, epoch, epoch_end: the newest block and its epoch; the end is None where the chain does not tell.
        due_block: from which on the epoch's weights are sent; `blocks_until` is 0 when they are due, also if sent.
        state: of the epoch's submission, None if there is none.
        commit_reveal: whether weights are committed first, so that what is on chain lags behind.
        unallocated: share that no miner takes; `owner` gets it, or nobody (D-11).
        unpaid: windows that it would not pay, and the remedy of each (SPEC 11, D-23).
        blockers: reasons why nothing is sent now; empty if there is none.
        figures: of this hotkey as a validator; None without a permit.
        lines: by planned weight, then by what is on chain, then by uid.
    """

    netuid: int
    mechid: int
    block: int
    epoch: int
    epoch_end: int | None
    due_block: int
    blocks_until: int
    state: str | None
    commit_reveal: bool
    unallocated: float
    owner: str | None
    scoring_version: str
    unpaid: tuple[DescribedUnpaid, ...]
    blockers: tuple[BlockerView, ...]
    figures: OwnFigures | None
    lines: tuple[PlanLine, ...]


async def planned_weights(
    tx: Transaction, settings: Settings, chain: Chain, clock: Clock, hotkey: str
) -> tuple[PlanView, ...]:
    """Return the plan of each mechanism as of now (ChainError, TimeoutError). A validator may be running."""
    wanted = mechanisms(settings.weights).items()
    return tuple(
        [await _view(tx, settings, ChainReader(chain, clock, hotkey, mechid), kinds) for mechid, kinds in wanted]
    )


async def _view(tx: Transaction, settings: Settings, reader: ChainReader, kinds: Sequence[Kind]) -> PlanView:
    netuid, mechid = settings.validator.netuid, reader.mechid
    head = await reader.read(reader.chain.head())
    view = await reader.look()
    validators = await reader.read(reader.chain.validators())
    snapshot = view.snapshot
    basis = await basis_of(tx, netuid, mechid, snapshot.epoch, snapshot.block)
    vector = plan_vector(basis, snapshot, reader.hotkey, kinds)
    known = await known_updates(tx, netuid, reader)
    record = await tx.weights.of_epoch(netuid, mechid, head.epoch)
    due = due_block(head, settings.weights.blocks_before_epoch_end)
    blockers = [*_blockers(settings, known, view, reader, vector)]
    lock = await tx.weight_guard.locked()
    lock_reason = read_stop_file(stop_file_of(settings)) if lock is None else lock.seen
    if lock_reason is not None:
        blockers.insert(0, _blocker_view(Reason.WEIGHTS_LOCKED, lock_reason))
    if not vector.positive:
        blockers.append(_blocker_view(Reason.WEIGHTS_NONE_POSITIVE, ", ".join(kinds)))
    return PlanView(
        netuid=netuid,
        mechid=mechid,
        block=head.number,
        epoch=head.epoch,
        epoch_end=head.epoch_end,
        due_block=due,
        blocks_until=max(0, due - head.number),
        state=None if record is None else record.shown_state,
        commit_reveal=view.parameters.commit_reveal,
        unallocated=vector.unallocated,
        owner=vector.owner,
        scoring_version=vector.scoring_version,
        unpaid=tuple(one.described for one in vector.unpaid),
        blockers=tuple(blockers),
        figures=own_figures(validators, snapshot.by_hotkey(reader.hotkey), view.parameters),
        lines=_lines(view, vector),
    )


def _blockers(
    settings: Settings, known: KnownUpdates, view: ChainView, reader: ChainReader, vector: Vector
) -> list[BlockerView]:
    blockers = []
    if not settings.weights.enabled:
        blockers.append(_blocker_view(Reason.WEIGHTS_DISABLED, ""))
    if settings.weights.dry_run:
        blockers.append(_blocker_view(Reason.WEIGHTS_DRY_RUN, ""))
    row = vector.row if vector.positive else None
    of_ours, of_the_chain = rule(known, view, reader.clock.now()).blocker, chain_blocker(view, reader.mechid, row)
    return blockers + [_blocker_view(each.reason, each.detail) for each in (of_ours, of_the_chain) if each is not None]


def _blocker_view(reason: Reason, detail: str) -> BlockerView:
    return BlockerView(reason, reason.meaning, detail)


def _lines(view: ChainView, vector: Vector) -> tuple[PlanLine, ...]:
    holders = {neuron.uid: neuron.hotkey for neuron in view.snapshot.neurons}
    planned = vector.row
    stored = {} if view.slot is None else view.slot.weights
    scored = {uid for uid, hotkey in holders.items() if hotkey in vector.scores}
    total, total_stored = sum(planned.values()), sum(stored.values())
    lines = []
    for uid in planned.keys() | stored.keys() | scored:
        hotkey = holders.get(uid)
        share = planned.get(uid, 0) / total if total else 0.0
        now = stored.get(uid, 0) / total_stored if total_stored else 0.0
        score = None if hotkey is None else vector.scores.get(hotkey)
        weight = 0.0 if hotkey is None else vector.weights.get(hotkey, 0.0)
        lines.append(
            PlanLine(uid, hotkey, score, weight, planned.get(uid, 0), share, stored.get(uid, 0), now, share - now)
        )
    return tuple(sorted(lines, key=lambda line: (-line.planned_u16, -line.on_chain_u16, line.uid)))


async def plan_of(tx: Transaction, settings: Settings) -> tuple[PlanView, ...]:
    """Return the plan of each mechanism as of now, with a chain opened for it; nothing is sent.

    Raises:
        ValidatorError: the hotkey or the chain cannot be used.
    """
    clock, signer = SystemClock(), load_signer(settings.wallet)
    chain = chain_of(settings, signer, clock)
    try:
        if (known := await tx.chain.get()) is not None:
            chain.expect(known.genesis)
        await require_chain(tx, await chain.genesis(), settings.validator.netuid)
        return await planned_weights(tx, settings, chain, clock, signer.hotkey)
    finally:
        await chain.close()
