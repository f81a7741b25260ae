"""One miner's part of a round's input: frozen from a state, or learned from the input if the state does not know."""

from collections import Counter
from types import MappingProxyType
from typing import Final

from msgspec import structs

from sssa.protocol.answer import Role
from sssa.protocol.round import MinerState, RoundInput, TypeHistory
from sssa.protocol.skill_types import SkillType
from sssa.state.mechanism_state import NO_PAST, ROLES, SAMPLES, Miner, Pair, State

_ROLES: Final[dict[str, Role]] = {"p": "primary", "a": "auditor"}
_LETTERS: Final = MappingProxyType[Role, str]({"primary": "p", "auditor": "a"})


def freeze_miner(  # noqa: PLR0913 - whose past, as of when, how far back, and what it declared
    state: State,
    hotkey: str,
    round_id: int,
    *,
    history_rounds: int,
    samples: int,
    skill_types: tuple[SkillType, ...],
    max_concurrent: int,
) -> MinerState:
    """Return a miner as the input of a round has it.

    Args:
        state: before the round; acts in its input are applied.
        hotkey: whose.
        round_id: of the round.
        history_rounds: how many rounds before it dispatches and failures are counted over.
        samples: how many agreements its version looks at.
        skill_types: as declared.
        max_concurrent: as declared.
    """
    miner = state.miner(hotkey)
    pairs = miner.pairs
    since = round_id - history_rounds
    return MinerState(
        hotkey=hotkey,
        skill_types=skill_types,
        max_concurrent=max_concurrent,
        reputations=miner.reputations,
        flags=len(miner.flags) + miner.earlier,
        history={
            name: TypeHistory(_roles(pair.roles), *pair.dispatched(since)) for name, pair in pairs.items() if pair.roles
        },
        agreements={name: pair.agreements[-samples:] for name, pair in pairs.items() if pair.agreements},
    )


def _roles(letters: str) -> tuple[Role, ...]:
    return tuple([_ROLES[letter] for letter in letters])


def learn_miners(state: State, frozen: RoundInput) -> State:
    """Return the state with the unknown miners of a round's input added."""
    learned = {one.hotkey: one for one in frozen.miners if not state.miner(one.hotkey).known}
    if not learned:
        return state
    acts = Counter(dict.fromkeys(learned, 0))
    for act in frozen.acts:
        acts[act.hotkey] += len(act.flags)
    miners = {hotkey: _learned(state.miner(hotkey), one, acts[hotkey]) for hotkey, one in learned.items()}
    return structs.replace(state, miners={**state.miners, **miners})


def _learned(miner: Miner, learned: MinerState, cleared: int) -> Miner:
    pairs = dict(miner.pairs)
    for name in {*learned.reputations, *learned.history, *learned.agreements}:
        pairs[name] = _with_past(pairs.get(name, NO_PAST), learned, name)
    return Miner(pairs, (), learned.flags + cleared)


def _with_past(pair: Pair, learned: MinerState, name: SkillType) -> Pair:
    roles = learned.history[name].recent_roles if name in learned.history else ()
    return structs.replace(
        pair,
        reputation=learned.reputations.get(name),
        agreements=learned.agreements.get(name, ())[-SAMPLES:],
        roles="".join(map(_LETTERS.__getitem__, roles[:ROLES])),
    )
