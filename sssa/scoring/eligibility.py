"""Inputs of a weight vector, read off a state by store and laboratory: windows and standing (SPEC 11; D-23)."""

from collections.abc import Iterable, Sequence
from typing import Any

from sssa.scoring.scoring_types import MinerStanding, TypeStanding
from sssa.scoring.v1.rules import Rules
from sssa.scoring.versions import Version
from sssa.state.mechanism_state import Declarations, Pair, State


def windows_of(version: Version, state: State, hotkeys: Iterable[str]) -> dict[str, dict[str, Sequence[Any]]]:
    """Return {hotkey: {skill_type: entries, oldest first}} of those of the hotkeys that have any, in order."""
    return {
        hotkey: {
            str(name): entries
            for name, pair in sorted(state.miner(hotkey).pairs.items())
            if (entries := version.entries_of(pair, str(name)))
        }
        for hotkey in sorted(hotkeys)
        if state.miner(hotkey).has_window
    }


def standing_of(
    version: Version, state: State, hotkeys: Iterable[str], declared: Declarations, following: int
) -> dict[str, MinerStanding]:
    """Return the standing of the hotkeys that have a window; `following` is the next round's number."""
    return {
        hotkey: MinerStanding(
            collusion_flags=len(miner.flags) + miner.earlier,
            types={
                str(name): _of_type(pair, declared, version.rules, following)
                for name, pair in miner.pairs.items()
                if pair.window.added or pair.tallies.added
            },
        )
        for hotkey, miner in ((one, state.miner(one)) for one in hotkeys)
        if miner.has_window
    }


def _of_type(pair: Pair, declared: Declarations, rules: Rules, following: int) -> TypeStanding:
    dispatches, failures = pair.dispatched(following - rules.groups.history_rounds)
    limits = rules.execution
    return TypeStanding(
        declared=declared.holds(pair.number),
        reputation=rules.reputation.start if pair.reputation is None else pair.reputation,
        dispatches=dispatches,
        failures=failures,
        proven=pair.excluded is None,
        execution_fails=sum(pair.executed(following - limits.rounds, limits.results)),
    )
