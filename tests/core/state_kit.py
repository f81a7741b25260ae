"""The stored state as tests ask for it, and what they put into it as if rounds had left it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from builders import NOTHING_LATE
from sqlalchemy import insert

from sssa.protocol.reasons import Reason
from sssa.protocol.round import (
    ClearedFlag,
    FlagRaised,
    MetagraphSnapshot,
    MinerState,
    RoundInput,
    RoundPlan,
    TypeHistory,
)
from sssa.protocol.skill_types import SkillType
from sssa.state.inputs import freeze_miner
from sssa.state.mechanism_state import ENTRIES, ROUNDS, SAMPLES
from sssa.state.round_end import Change, Ended, step_unscored
from validator.store import Store, Transaction
from validator.store.repositories.state import NOTHING
from validator.store.stepping import steps
from validator.store.tables import flags


async def windows_of(tx: Transaction) -> dict[str, dict[str, list[float]]]:
    """Hotkey to skill type to the values of its window, oldest first."""
    found = {
        hotkey: {str(name): [*pair.window.newest(ENTRIES)] for name, pair in miner.pairs.items() if pair.window.added}
        for hotkey, miner in (await tx.state.whole()).miners.items()
    }
    return {hotkey: of_types for hotkey, of_types in found.items() if of_types}


async def reputations_of(tx: Transaction) -> dict[tuple[str, SkillType], float]:
    miners = (await tx.state.whole()).miners
    return {(hotkey, name): value for hotkey, miner in miners.items() for name, value in miner.reputations.items()}


async def histories_of(
    tx: Transaction, round_id: int, history_rounds: int = ROUNDS
) -> dict[tuple[str, SkillType], TypeHistory]:
    state = await tx.state.whole()
    frozen = [
        freeze_miner(
            state,
            hotkey,
            round_id,
            history_rounds=history_rounds,
            samples=SAMPLES,
            skill_types=(),
            max_concurrent=1,
        )
        for hotkey in state.miners
    ]
    return {(one.hotkey, name): history for one in frozen for name, history in one.history.items()}


async def assert_state_follows(store: Store) -> None:
    """Compare the stored state with the steps of all rounds, taken one after the other and never stored."""
    async with store.read() as tx:
        states = [state async for _, state in steps(tx, None, NOTHING)]
        assert await tx.state.whole() == states[-1]


async def plant(tx: Transaction, change: Callable[[Change], None]) -> None:
    """Change the stored state as no round did."""
    state = await tx.state.whole()
    made = Change(state)
    change(made)
    await tx.state.write(state.shared, made.delta())


async def plant_flag(tx: Transaction, flag: FlagRaised, round_id: int, at: datetime) -> None:
    await plant(tx, lambda change: change.flag(flag.hotkey, ClearedFlag(flag.skill_type, str(round_id))))
    values = {name: getattr(flag, name) for name in flag.__struct_fields__}
    await tx.connection.execute(insert(flags).values(**values, round_id=round_id, raised_at=at))


async def plant_windows(tx: Transaction, values: Mapping[str, Mapping[str, Sequence[float]]], round_id: int) -> None:
    """Enter values of tasks `task-0`, `task-1`, … into windows."""

    def enter(change: Change) -> None:
        for hotkey, of_types in values.items():
            for name, its in of_types.items():
                key = hotkey, SkillType(name)
                for number, value in enumerate(its):
                    change.update(key, window=change.pair(key).window.entered(round_id, f"task-{number}", value))

    await plant(tx, enter)


async def enter_scores(  # noqa: PLR0913 - a round without tasks, and what it leaves
    tx: Transaction,
    snapshot: MetagraphSnapshot,
    validator: str,
    scores: Mapping[str, float],
    at: datetime,
    *,
    round_id: int = 0,
    skill_type: str = "declarative",
) -> None:
    """Fill windows of a type as of a void round without tasks in which all of these hotkeys declared every type."""
    miners = tuple(MinerState(hotkey, tuple(SkillType), 2, {}, 0, {}, {}) for hotkey in sorted(scores))
    frozen = RoundInput(
        "1", "1.0.0", str(round_id), validator, snapshot, "00" * 32, "00" * 32, miners, (), **NOTHING_LATE
    )
    plan = RoundPlan(frozen.round_id, ())
    await tx.rounds.open(frozen, plan, at)
    await tx.rounds.settle(round_id, "void", Reason.VOID_OFFLINE, None, at)
    await tx.state.step(Ended(frozen, plan, "void"), step_unscored, at)
    await plant_windows(tx, {hotkey: {skill_type: [score] * 20} for hotkey, score in scores.items()}, round_id)
