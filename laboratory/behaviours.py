"""Behaviours of simulated miners: honest, lazy, copying, … : what each answers to a task, and the work it spent."""

import math
from typing import Final, NamedTuple

from laboratory.population import Player, World
from laboratory.simulated_answers import NOTHING, Answer, Laboratory, Skill, invented, perfect, sprayed
from laboratory.streams import stream
from laboratory.world import Latent
from sssa.protocol.answer import Role
from sssa.protocol.sssa import Analysis

_SHARES: Final = 8  # an omission is one of so many


class Deed(NamedTuple):
    """A miner's response to a task.

    Attributes:
        answer: None where it fails a gate.
        analyst: whose analysis it is; None where there was none.
        runs: it ran the bundle.
        void: without an answer: the miner made the dispatch void, and no gate judged it.
    """

    answer: Answer | None
    analyst: str | None
    runs: bool
    void: bool = False


class Crowd:
    """All miners of a population, and how each answers."""

    def __init__(self, players: list[Player], world: World, seed: int, place: str) -> None:
        self.players = {player.name: player for player in players}
        self.laboratory = Laboratory(world, seed, place)
        self._seed, self._place = seed, place
        self._skills = {player.name: Skill(player.level, player.group.tool) for player in players}

    def deed(self, player: Player, latent: Latent, role: Role, *, majority: bool) -> Deed:
        """Return a miner's response to a task in a role; `majority`: its group has most members of the task's."""
        group, task = player.group, latent.task.task_id
        draws = stream(self._seed, self._place, "behaviour", player.name, task)
        fails, knows = draws.random() < group.fails, draws.random() < group.knows and latent.planted
        acts = stream(self._seed, self._place, "together", group.name, task).random() < group.share
        acts = acts and group.role in {"", role} and (majority or not group.majority)
        void = _is_hard(latent) if group.voids == "hard" else group.voids == "ordinary" and not knows
        if fails or void:
            return Deed(None, None, runs=False, void=void)
        match group.behaviour:
            case "lazy" if draws.random() >= group.effort:
                return Deed(Answer(NOTHING), None, runs=True)
            case "constant":
                return Deed(Answer(Analysis(group.verdict, group.risk, (), (), ())), None, runs=True)
            case "sharer" if acts:
                return self._analysed(player, latent, group.name, again=group.redone)
            case "copier" | "framer" if acts:
                return self._of_another(player, latent)
            case "fabricator" if acts:
                answer = perfect(latent) if knows else invented(latent, group.name)
                return Deed(answer, None, runs=True)
            case "poisoner" if acts and not knows:
                return Deed(invented(latent, group.name, "ALLOW"), None, runs=True)
            case "inventor":
                return self._analysed(player, latent, player.name)._replace(runs=False)
            case _:
                analyst = f"tool {group.tool}" if group.stock else player.name
                return self._analysed(player, latent, analyst)

    def _of_another(self, player: Player, latent: Latent) -> Deed:
        """Return what the named miner says: a copier is given it, a framer runs the same tool itself."""
        other = self.players[player.group.of]
        skill = self._skills[other.name]
        answer = self.laboratory.analysis(latent, other.name, skill, (player.name, player.group.redone))
        analyst = None if player.group.behaviour == "copier" else player.name
        return Deed(answer, analyst, runs=True)

    def _analysed(self, player: Player, latent: Latent, analyst: str, again: float = 0.0) -> Deed:
        skill, omitted = self._skills[player.name], self._omitted(player, latent)
        answer = self.laboratory.analysis(latent, analyst, skill, (player.name, again), omitted)
        sprays = player.group.sprays
        return Deed(sprayed(answer, sprays) if sprays else answer, analyst, runs=True)

    def _omitted(self, player: Player, latent: Latent) -> set[int]:
        """Return the places of the faults that a miner leaves out of its answer."""
        omits, share = player.group.omits, player.number % _SHARES
        if not omits:
            return set()
        draws = stream(self._seed, self._place, "omits", player.name, latent.task.task_id)
        return {
            place
            for place, kind in enumerate(latent.kinds)
            if (omits == "place" and place % _SHARES == share)
            or (omits == "kind" and kind.number % _SHARES == share)
            or (omits == "chance" and draws.random() < 1 / _SHARES)
            or (omits == "easy" and kind.odds > 1)
        }


def _is_hard(latent: Latent) -> bool:
    """Return whether a task's faults are harder to find than those of middling difficulty, in the mean of log odds."""
    return math.fsum(math.log(kind.odds) for kind in latent.kinds) < 0
