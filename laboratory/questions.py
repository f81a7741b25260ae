"""The questions of a study: networks to play for each, and what is measured in them (docs/mechanism.md)."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from laboratory.population import Population, population_of
from laboratory.report import caught_up, correlated, honest_pays, part_of, peer_pays, spread_of
from laboratory.results import Result, rank_correlation

Results = Mapping[str, Result]
"""Label of a network to its result, of one seed."""


class Bound(NamedTuple):
    """Bound on a mean under 2.0.0."""

    side: Literal["≥", "≤"]
    value: float

    def holds(self, mean: float) -> bool:
        """Return whether a mean is within the bound."""
        return mean >= self.value if self.side == "≥" else mean <= self.value


class Measure(NamedTuple):
    """A number of one seed; `bound` is what its mean must show under 2.0.0."""

    name: str
    of: Callable[[Results], float]
    bound: Bound | None = None


class Line(NamedTuple):
    """A curve over rounds in a plot: a value of one network at a round."""

    name: str
    network: str
    of: Callable[[Result, int], float]


class Question(NamedTuple):
    """A question.

    Attributes:
        name: of its files.
        title: as a sentence.
        networks: label to population, without version and seed.
        measures: in the order of the table.
        lines: of the plot; none: no plot.
        axis: what the plot shows.
        bound: dashed line of the plot.
        seeds: of a study, and of a quick one.
    """

    name: str
    title: str
    networks: Mapping[str, dict[str, Any]]
    measures: tuple[Measure, ...]
    lines: tuple[Line, ...] = ()
    axis: str = ""
    bound: float | None = None
    seeds: tuple[int, int] = (8, 2)

    def populations(self, version: str, seed: int) -> dict[str, Population]:
        """Return the networks of a version and a seed."""
        return {
            label: population_of(document | {"version": version, "seed": seed}, f"{self.name}, {label}")
            for label, document in self.networks.items()
        }


def _honest(count: int, skill: Any = (0.3, 0.9), **more: Any) -> dict[str, Any]:
    return {"name": "honest", "behaviour": "honest", "count": count, "skill": skill, "tool": "open"} | more


def _network(*miners: dict[str, Any], rounds: int = 100, **world: Any) -> dict[str, Any]:
    graded = [one | ({"skill": list(one["skill"])} if isinstance(one.get("skill"), tuple) else {}) for one in miners]
    return {"miners": graded, "rounds": rounds, "world": world}


def _some(behaviour: str, count: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": more.pop("name", behaviour), "behaviour": behaviour, "count": count, **more}


def _at(network: str, of: Callable[..., float], *arguments: Any) -> Callable[[Results], float]:
    return lambda results: of(results[network], *arguments)


def _each(result: Result, group: str, round_number: int = 1 << 30) -> float:
    return honest_pays(result, group, round_number) / len(result.of(group))


def _per_work(result: Result, group: str) -> float:
    """Return pay per analysis over the whole run, in those of an honest miner."""
    members, honest = result.of(group), result.of()
    work = math.fsum(one.work for one in members) / len(members)
    norm = math.fsum(one.work for one in honest) / len(honest)
    return _whole(result, group) / (work / norm) if work else math.inf


def _whole(result: Result, group: str) -> float:
    """Return what one of a group is paid over the second half of the run, in mean pays of an honest miner."""
    half = len(result.rounds) // 2

    def mean(miners: Any) -> float:
        return math.fsum(math.fsum(one.pay[half:]) for one in miners) / len(miners)

    return mean(result.of(group)) / mean(result.of())


def _against(result: Result, group: str, others: str) -> float:
    return _each(result, group) / _each(result, others)


def _apart(result: Result) -> float:
    return result.spread or 0.0


def _oracle(result: Result, round_number: int) -> float:
    """Return the rank correlation of skill with what was named of all faults, planted or not."""
    place, honest = result.at(round_number), result.of()
    return rank_correlation([one.level for one in honest], [one.seen[place] for one in honest])


def _least(result: Result) -> float:
    pays = [one.pay[-1] for one in result.of()]
    return min(pays) / (math.fsum(pays) / len(pays))


def _cost(rule: str, results: Results) -> float:
    return _least(results["all rules"]) / _least(results[f"without {rule}"])


_SIZES: Final = (16, 64, 256)
_SHARING: Final = {"skill": 0.6, "redone": 0.05, "tool": "open"}  # of two keys a tenth of the faults is apart
_RULES: Final = ("ramp",)

QUESTIONS: Final[tuple[Question, ...]] = (
    Question(
        "skill",
        "Does more skill earn more, and how soon?",
        {f"{size}": _network(_honest(size)) for size in _SIZES},
        (
            *(
                Measure(
                    f"rank correlation of skill and pay, {size} miners, round 60",
                    _at(f"{size}", correlated, 60),
                    {64: Bound("≥", 0.88), 256: Bound("≥", 0.70)}.get(size),
                )
                for size in _SIZES
            ),
            *(
                Measure(f"the same with all faults known to all, {size} miners, round 60", _at(f"{size}", _oracle, 60))
                for size in _SIZES
            ),
        ),
        tuple(Line(f"{size} miners", f"{size}", correlated) for size in _SIZES),
        "rank correlation of skill and pay",
    ),
    Question(
        "equals",
        "How much of the pay of equals is luck?",
        {f"{size}": _network(_honest(size, 0.6)) for size in _SIZES},
        tuple(
            Measure(
                f"largest to smallest pay, {size} miners, round 100",
                _at(f"{size}", spread_of, 100),
                Bound("≤", 1.5) if size == 64 else None,
            )
            for size in _SIZES
        ),
        (Line("64 miners", "64", lambda result, number: min(8.0, spread_of(result, number))),),
        "largest to smallest pay, 64 miners; 8 stands for more",
        1.5,
    ),
    Question(
        "newcomer",
        "How soon does an able newcomer have half of the median pay?",
        {
            f"{size}": _network(
                _honest(size - 1),
                _some("honest", name="late", skill=0.8, tool="open", arrives=60),
                rounds=140,
                epoch_rounds=5,
            )
            for size in (16, 64, 256)
        },
        tuple(
            Measure(
                f"rounds, {size} miners",
                _at(f"{size}", caught_up, "late", 60),
                Bound("≤", 30) if size == 64 else None,
            )
            for size in (16, 64, 256)
        ),
        (Line("64 miners", "64", lambda result, number: _each(result, "late", number)),),
        "pay of the newcomer, in honest pays",
    ),
    Question(
        "sharing",
        "Do eight keys with one analysis earn more than one?",
        {
            f"8 of {size}": _network(_honest(size - 8), _some("sharer", 8, **_SHARING), rounds=200, epoch_rounds=20)
            for size in (18, 64)
        },
        tuple(
            Measure(
                f"all eight of {size}, in pays of honest miners of like skill, round 100",
                _at(f"8 of {size}", peer_pays, "sharer", 100),
            )
            for size in (18, 64)
        ),
        tuple(
            Line(f"8 of {size}", f"8 of {size}", lambda result, number: peer_pays(result, "sharer", number))
            for size in (18, 64)
        ),
        "pay of all eight, in pays of honest miners of like skill",
    ),
    Question(
        "nothing",
        "What do little work and no work earn?",
        {
            "mixed": _network(
                _honest(20),
                _some("constant", name="empty"),
                _some("constant", name="block", verdict="BLOCK", risk=0.9),
                _some("constant", name="review", verdict="REVIEW", risk=0.5),
                _some("lazy", skill=0.6, tool="open"),
                _some("honest", name="weak", skill=0.15, tool="open"),
                _some("inventor", skill=0.6, tool="open"),
                _some("copier", of="honest-12"),
            )
        },
        (
            Measure("always ALLOW and nothing else", _at("mixed", _each, "empty"), Bound("≤", 0.05)),
            Measure("always BLOCK and nothing else", _at("mixed", _each, "block"), Bound("≤", 0.15)),
            Measure("always REVIEW and nothing else", _at("mixed", _each, "review"), Bound("≤", 0.15)),
            Measure("lazy: analyses three tasks in ten", _at("mixed", _each, "lazy")),
            Measure("the same, per analysis", _at("mixed", _per_work, "lazy")),
            Measure("weak: a skill of 0.15 (the others: 0.3 to 0.9)", _at("mixed", _each, "weak")),
            Measure("inventor: reports in full, never runs", _at("mixed", _each, "inventor"), Bound("≤", 0.20)),
            Measure("copier: is given the answers of an older key", _at("mixed", _each, "copier")),
        ),
    ),
    Question(
        "fabricating",
        "What do twelve fabricators earn next to ten honest miners?",
        {
            f"{known:.0%} known": _network(_honest(10), _some("fabricator", 12, knows=known))
            for known in (0.0, 0.25, 0.5, 0.9)
        },
        tuple(
            Measure(
                f"part of all pay, {known:.0%} of the planted tasks recognized",
                _at(f"{known:.0%} known", part_of, "fabricator", 100),
                Bound("≤", 0.10) if not known else None,
            )
            for known in (0.0, 0.9)
        ),
        tuple(
            Line(f"{known:.0%} recognized", f"{known:.0%} known", lambda result, n: part_of(result, "fabricator", n))
            for known in (0.0, 0.25, 0.5, 0.9)
        ),
        "part of all pay",
        0.1,
    ),
    Question(
        "recognizing",
        "What does a single miner earn that recognizes planted tasks?",
        {
            "90%": _network(
                _honest(20), _some("poisoner", knows=0.9, skill=0.8, tool="open"), _some("fabricator", knows=0.9)
            )
        },
        (
            Measure("analyses those alone, invents an ALLOW else, 90% recognized", _at("90%", _each, "poisoner")),
            Measure("knows the truth of those, invents else, 90% recognized", _at("90%", _each, "fabricator")),
        ),
    ),
    Question(
        "tools",
        "What do miners of a stock tool earn?",
        {
            "tools": _network(
                _honest(24),
                *(
                    _some("honest", 4, name=f"stock-{tool}", skill=0.6, tool=tool, stock=True)
                    for tool in ("one", "two", "three")
                ),
            ),
            "own": _network(
                _honest(12, 0.6),
                *(_some("honest", 8, name=f"tool-{tool}", skill=0.6, tool=tool) for tool in ("one", "two", "three")),
            ),
        },
        (
            Measure("four keys of one stock tool, together", _at("tools", honest_pays, "stock-one")),
            Measure("the same tool with own work: each", _at("own", _each, "tool-one")),
        ),
    ),
    Question(
        "identity",
        "Does it help to change the hotkey, to declare seldom, or to declare one type?",
        {
            "mixed": _network(
                _honest(20, 0.6),
                _some("hopper", name="hop-ten", skill=0.6, tool="open", every=10),
                _some("hopper", name="hop-thirty", skill=0.6, tool="open", every=30),
                _some("thinner", name="thin-two", skill=0.6, tool="open", every=2),
                _some("thinner", name="thin-three", skill=0.6, tool="open", every=3),
                _some("honest", name="mcp-alone", skill=0.6, tool="open", types=["mcp_server"]),
                rounds=120,
                epoch_rounds=5,
            )
        },
        tuple(
            Measure(f"{text}: {unit}", _at("mixed", of, group))
            for group, text in (
                ("hop-thirty", "a new hotkey every 30 rounds"),
                ("thin-three", "declares in two of three rounds"),
                ("mcp-alone", "declares mcp_server alone"),
            )
            for unit, of in (("pay", _whole), ("pay per analysis", _per_work))
        ),
    ),
    Question(
        "framing",
        "What does a victim lose to keys that run what it runs?",
        {
            f"{keys}": _network(
                _honest(20, 0.6),
                _some("honest", name="victim", skill=0.6, tool="open"),
                _some("framer", keys, of="victim-1", redone=0.1, arrives=arrives),
                rounds=140,
            )
            for keys, arrives in ((1, 40), (3, 40))
        },
        (
            Measure("victim's pay next to one younger key", _at("1", _each, "victim"), Bound("≥", 0.9)),
            Measure("victim's pay next to three younger keys", _at("3", _each, "victim"), Bound("≥", 0.9)),
            Measure("one younger key", _at("1", _each, "framer")),
            Measure("three younger keys, together", _at("3", honest_pays, "framer")),
        ),
    ),
    Question(
        "validators",
        "How far are validators apart about one miner?",
        {f"{size}": _network(_honest(size)) | {"validators": 2} for size in (16, 64)},
        tuple(
            Measure(f"standard deviation of a miner's pay, as part of it, {size} miners", _at(f"{size}", _apart))
            for size in (16, 64)
        ),
    ),
    Question(
        "costs",
        "What does each rule of 2.0.0 cost honest miners?",
        {"all rules": _network(_honest(64, 0.6))}
        | {f"without {rule}": _network(_honest(64, 0.6), without=[rule]) for rule in _RULES},
        (
            Measure("least paid of 64 equals, in mean pays", _at("all rules", _least)),
            *(Measure(f"the same, in that without {rule}", partial(_cost, rule), Bound("≥", 0.9)) for rule in _RULES),
        ),
    ),
)
