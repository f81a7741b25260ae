"""Behaviours of simulated miners: honest, lazy, copying, … : what each answers to a task, and the work it spent."""

import math
from typing import NamedTuple

from laboratory.population import Player, World
from laboratory.simulated_answers import NOTHING, Answer, Laboratory, Skill, invented, perfect
from laboratory.streams import stream
from laboratory.world import Kind, Latent
from validator.protocol.sssa import Analysis


class Deed(NamedTuple):
    """A miner's response to a task.

    Attributes:
        answer: None where it fails a gate.
        analyst: whose analysis it is; None where there was none.
        runs: it ran the bundle.
    """

    answer: Answer | None
    analyst: str | None
    runs: bool


class Crowd:
    """All miners of a population, and how each answers."""

    def __init__(self, players: list[Player], world: World, seed: int, place: str, kinds: tuple[Kind, ...]) -> None:
        self.players = {player.name: player for player in players}
        self.laboratory = Laboratory(world, seed, place)
        self._seed, self._place = seed, place
        self._skills = {player.name: _skill(player, seed, kinds) for player in players}

    def deed(self, player: Player, latent: Latent) -> Deed:
        """Return what a miner says of a task."""
        group, task = player.group, latent.task.task_id
        draws = stream(self._seed, self._place, "behaviour", player.name, task)
        fails, knows = draws.random() < group.fails, draws.random() < group.knows and latent.planted
        acts = stream(self._seed, self._place, "together", group.name, task).random() < group.share
        if fails:
            return Deed(None, None, runs=False)
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
        shared = self._skills[player.name]
        return Deed(self.laboratory.analysis(latent, analyst, shared, (player.name, again)), analyst, runs=True)


def _skill(player: Player, seed: int, kinds: tuple[Kind, ...]) -> Skill:
    group = player.group
    draws = stream(seed, "skill", player.name)
    odds = {kind.name: math.exp(draws.gauss(0, group.spread)) for kind in kinds} if group.spread else {}
    return Skill(player.level, group.tool, odds)
