"""Answers of simulated miners: the faults of a task that an analyst of some skill finds, as claims of an answer."""

from collections.abc import Collection
from random import Random
from typing import Final, NamedTuple

from msgspec import structs

from laboratory.population import World
from laboratory.streams import poisson, stream
from laboratory.world import ADVISORIES, ANYTHING, Kind, Latent, false_alarm
from sssa.protocol.findings import risk_of, verdict_of
from sssa.protocol.sssa import Analysis, Dependency, Finding, Rule, Verdict

NOTHING: Final = Analysis("ALLOW", 0.0, (), (), ())


class Answer(NamedTuple):
    """Content of an answer: an analysis, the rules that follow from it, and the number of faults that it names."""

    analysis: Analysis
    rules: tuple[Rule, ...] = ()
    hits: int = 0


class Skill(NamedTuple):
    """An analyst's ability.

    Attributes:
        level: chance of finding a fault of middling difficulty, in (0, 1).
        tool: whose draws it shares; empty for none.
    """

    level: float
    tool: str = ""

    def chance(self, kind: Kind) -> float:
        """Return the chance of finding a fault of a kind."""
        odds = self.level / (1 - self.level) * kind.odds
        return odds / (1 + odds)


class Laboratory:
    """Analyses of one round's tasks; those of the same analyst are the same, however often they are asked for."""

    def __init__(self, world: World, seed: int, place: str) -> None:
        self._world, self._seed, self._place = world, seed, place
        self._blind: dict[tuple[str, str], bool] = {}
        self._luck: dict[tuple[str, str], list[float]] = {}

    def begin(self) -> None:
        """Forget the tasks of the last round."""
        self._luck.clear()

    def analysis(
        self,
        latent: Latent,
        analyst: str,
        skill: Skill,
        redone: tuple[str, float] = ("", 0.0),
        omitted: Collection[int] = (),
    ) -> Answer:
        """Return an analyst's answer to a task.

        Args:
            latent: the task.
            analyst: whose draws decide.
            skill: of the analyst.
            redone: who does the analysis again, and in which part of the faults.
            omitted: places of faults that are left out of the answer.
        """
        world, name = self._world, latent.task.task_id
        draws = stream(self._seed, self._place, "analysis", analyst, name)
        anew = stream(self._seed, self._place, "again", redone[0], name) if redone[1] else None
        tool = self._tool(skill.tool, name) if skill.tool else None
        findings: list[Finding] = []
        for place, kind in enumerate(latent.kinds):
            own, shares, text_draw = draws.random(), draws.random(), draws.random()
            luck = tool[place] if tool is not None and shares < world.tool_share else own
            if anew is not None and anew.random() < redone[1]:
                luck = anew.random()
            blind = bool(skill.tool) and self._is_blind(skill.tool, kind)
            missed = place in omitted or (blind and shares < world.tool_share)
            if luck < skill.chance(kind) and not missed:
                ways = latent.worded[place]
                findings.append(
                    ways[0] if text_draw < world.wording else ways[1 + int(text_draw * 997) % (len(ways) - 1)]
                )
        hits = len(findings)
        findings += self._alarms(draws, tool, skill, analyst)
        return _answer(latent, draws, findings, skill.level)._replace(hits=hits)

    def _alarms(self, draws: Random, tool: list[float] | None, skill: Skill, analyst: str) -> list[Finding]:
        number = poisson(draws, self._world.alarms * (1 - skill.level))
        whose = skill.tool if tool is not None and draws.random() < self._world.tool_share else analyst
        return [
            false_alarm(f"alarm-{whose}-{one}", "medium" if draws.random() < 0.3 else "low") for one in range(number)
        ]

    def _tool(self, tool: str, task: str) -> list[float]:
        if (tool, task) not in self._luck:
            draws = stream(self._seed, self._place, "tool", tool, task)
            self._luck[tool, task] = [draws.random() for _ in range(12)]
        return self._luck[tool, task]

    def _is_blind(self, tool: str, kind: Kind) -> bool:
        key = tool, kind.name
        if key not in self._blind:
            self._blind[key] = stream(self._seed, "blind", tool, kind.name).random() < self._world.blind
        return self._blind[key]


def _answer(latent: Latent, draws: Random, findings: list[Finding], level: float) -> Answer:
    risk = risk_of(findings)
    sees, more = 0.6 + 0.4 * level, 1 - level
    capabilities = [one for one in latent.capabilities if draws.random() < sees]
    if draws.random() < more:
        capabilities.append(draws.choice(ANYTHING["capabilities"]))
    rules = [one for one in latent.rules if draws.random() < sees]
    if draws.random() < more:
        rules.append(Rule("fs", "deny", draws.choice(ANYTHING["patterns"])))
    dependencies = tuple(one for one in latent.dependencies if draws.random() < sees)
    analysis = Analysis(verdict_of(risk), risk, tuple(findings), tuple(capabilities), dependencies)
    return Answer(analysis, tuple(rules))


def perfect(latent: Latent) -> Answer:
    """Return the answer of somebody who knows the truth."""
    truth = latent.truth
    return Answer(
        Analysis(
            truth.verdict,
            truth.reference_risk or 0.0,
            tuple(ways[0] for ways in latent.worded),
            latent.capabilities,
            latent.dependencies,
        ),
        latent.rules,
    )


def sprayed(answer: Answer, ids: int) -> Answer:
    """Return an answer with findings that list all known advisories, so many in each; its verdict and risk stay."""
    sprays = tuple(
        Finding(f"s{start}", "dependency_cve", "low", "", "lock.txt#L1", ADVISORIES[start : start + ids], f"p{start}")
        for start in range(0, len(ADVISORIES), ids)
    )
    return answer._replace(analysis=structs.replace(answer.analysis, findings=answer.analysis.findings + sprays))


def invented(latent: Latent, author: str, verdict: Verdict = "BLOCK") -> Answer:
    """Return an answer that says much and rests on nothing: the same for everybody of one author."""
    alarms = tuple(false_alarm(f"made-up-{author}-{one}", "high") for one in range(8))
    analysis = Analysis(verdict, 0.9, alarms, (f"made-up-{author}",), (Dependency(f"made-up-{author}", "1", ()),))
    return Answer(analysis, (Rule("fs", "deny", f"made-up-{latent.task.skill_type}"),))
