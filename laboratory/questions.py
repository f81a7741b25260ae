"""The questions of a study: networks to play for each, and what is measured in them (docs/mechanism.md)."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from laboratory.population import Population, population_of
from laboratory.report import caught_up, correlated, honest_pays, part_of, spread_of
from laboratory.results import Result, rank_correlation

Results = Mapping[str, Result]
"""Label of a network to its result, of one seed."""


class Bound(NamedTuple):
    """Bound on a mean under a version."""

    side: Literal["≥", "≤"]
    value: float
    version: str = "2.0.0"

    def holds(self, mean: float) -> bool:
        """Return whether a mean is within the bound."""
        return mean >= self.value if self.side == "≥" else mean <= self.value


class Measure(NamedTuple):
    """A number of one seed; `bound` is what its mean must show."""

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
    return {"miners": miners, "rounds": rounds, "world": world}


def _some(behaviour: str, count: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": more.pop("name", behaviour), "behaviour": behaviour, "count": count, **more}


def _at(network: str, of: Callable[..., float], *arguments: Any) -> Callable[[Results], float]:
    return lambda results: of(results[network], *arguments)


def _peer_pays(result: Result, group: str, round_number: int = 1 << 30) -> float:
    return honest_pays(result, group, round_number, within=0.1)


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
    return rank_correlation([one.level for one in honest], [one.named_share[place] for one in honest])


def _least(result: Result) -> float:
    pays = [one.pay[-1] for one in result.of()]
    return min(pays) / (math.fsum(pays) / len(pays))


def _flags(result: Result, *groups: str) -> float:
    """Return the collusion flags of a miner of these groups; without any, of an honest one."""
    members = result.of(*groups)
    return sum(one.flags for one in members) / len(members)


_SIZES: Final = (16, 64, 256)
_SHARING: Final = {"skill": 0.6, "redone": 0.05, "tool": "open"}  # of two keys a tenth of the faults is apart
_TOOLS: Final = ("one", "two", "three")
_SKILLS: Final = (0.6, 0.85, 0.95)
_OMISSIONS: Final = {"place": "one fault of eight", "kind": "an eighth of the kinds", "chance": "an eighth by chance"}
_FABRICATORS: Final[Mapping[str, tuple[dict[str, Any], float, Bound | None]]] = {
    "0% of the planted tasks recognized": ({"knows": 0.0}, 0.0, Bound("≤", 0.10)),
    "50% recognized": ({"knows": 0.5}, 0.0, None),
    "90% recognized": ({"knows": 0.9}, 0.0, None),
    "90% recognized, one ordinary task in 16 curated": ({"knows": 0.9}, 1 / 16, Bound("≤", 0.15)),
    "invent only where they are most of the group": ({"majority": True, "tool": "open"}, 0.0, None),
}  # what they do, the share of curated tasks, and the bound on their part of the pay

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
            Measure("the same with all faults known to all, 64 miners, round 60", _at("64", _oracle, 60)),
        ),
        tuple(Line(f"{size} miners", f"{size}", correlated) for size in _SIZES),
        "rank correlation of skill and pay",
    ),
    Question(
        "luck",
        "How much of the pay is luck, and how soon does an able newcomer have half of the median pay?",
        {
            **{f"equals {size}": _network(_honest(size, 0.6)) for size in _SIZES[1:]},
            **{
                f"newcomer {size}": _network(
                    _honest(size - 1),
                    _some("honest", name="late", skill=0.8, tool="open", arrives=60),
                    rounds=140,
                    epoch_rounds=5,
                )
                for size in _SIZES[1:]
            },
            "validators 64": _network(_honest(64)) | {"validators": 2},
        },
        (
            *(
                Measure(
                    f"largest to smallest pay among {size} equals, round 100",
                    _at(f"equals {size}", spread_of, 100),
                    {64: Bound("≤", 1.5)}.get(size),
                )
                for size in _SIZES[1:]
            ),
            *(
                Measure(
                    f"rounds until a newcomer among {size} has half of the median",
                    _at(f"newcomer {size}", caught_up, "late", 60),
                    {64: Bound("≤", 30)}.get(size),
                )
                for size in _SIZES[1:]
            ),
            Measure("spread of a pay between two validators, 64 miners", _at("validators 64", _apart)),
        ),
        seeds=(8, 1),
    ),
    Question(
        "sharing",
        "Do eight keys with one analysis earn more than one?",
        {
            f"8 of {size}": _network(_honest(size - 8), _some("sharer", 8, **_SHARING), epoch_rounds=20)
            for size in (18, 64)
        }
        | {"same": _network(_honest(10, 0.6), _some("sharer", 8, tool="open"), rounds=60)}
        | {
            f"{omits} {skill}": _network(
                _honest(10, skill), _some("sharer", 8, skill=skill, tool="open", omits=omits), rounds=60
            )
            for omits in _OMISSIONS
            for skill in _SKILLS
        },
        (
            *(
                Measure(f"eight of {size}, {text}", _at(f"8 of {size}", of, "sharer"))
                for size in (18, 64)
                for text, of in (("together", _peer_pays), ("pay per analysis", _per_work))
            ),
            Measure("eight of 18 with skill 0.6 that say the same", _at("same", honest_pays, "sharer")),
            *(
                Measure(
                    f"eight of 18 with skill {skill}, each leaves out {text}",
                    _at(f"{omits} {skill}", honest_pays, "sharer"),
                )
                for omits, text in _OMISSIONS.items()
                for skill in _SKILLS
            ),
        ),
        seeds=(8, 1),
    ),
    Question(
        "nothing",
        "What do little work, no work, and work on recognized tasks alone earn?",
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
                _some("poisoner", knows=0.9, skill=0.8, tool="open"),
                _some("fabricator", knows=0.9),
            ),
            "advisories": _network(
                _honest(20, 0.6),
                _some("selective", name="one-list", tool="open", sprays=64),
                _some("selective", name="many-lists", tool="open", sprays=4),
                advisories=1 / 6,
            ),
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
            Measure("recognizes 90% of the planted, analyses those, ALLOW else", _at("mixed", _each, "poisoner")),
            Measure("knows the truth of those, invents else", _at("mixed", _each, "fabricator")),
            Measure(
                "honest, and lists 64 advisories in one finding", _at("advisories", _each, "one-list"), Bound("≤", 1.1)
            ),
            Measure(
                "honest, and lists four in each of 16 findings", _at("advisories", _each, "many-lists"), Bound("≤", 1.1)
            ),
        ),
    ),
    Question(
        "fabricating",
        "What do twelve fabricators earn next to ten honest miners?",
        {
            text: _network(_honest(10), _some("fabricator", 12, **more), curated=curated)
            for text, (more, curated, _) in _FABRICATORS.items()
        },
        tuple(
            Measure(f"part of all pay: {text}", _at(text, part_of, "fabricator", 100), bound)
            for text, (_, _, bound) in _FABRICATORS.items()
        ),
        tuple(Line(text, text, lambda result, number: part_of(result, "fabricator", number)) for text in _FABRICATORS),
        "part of all pay",
        0.1,
    ),
    Question(
        "tools",
        "What do miners of one stock tool earn?",
        {
            "tools": _network(
                _honest(24), *(_some("honest", 4, name=f"stock-{tool}", tool=tool, stock=True) for tool in _TOOLS)
            ),
            "16 of 20": _network(_honest(4, 0.6, name="own", tool="own"), _honest(16, 0.6, name="shipped", stock=True)),
            "20 of 20": _network(_honest(20, 0.6, name="shipped", stock=True)),
        },
        (
            Measure("four keys of one tool next to 32 others, together", _at("tools", honest_pays, "stock-one")),
            Measure(
                "launch: each of 16, in pays of four others",
                _at("16 of 20", _against, "shipped", "own"),
                Bound("≥", 0.9),
            ),
            Measure("launch: least paid of 20, in mean pays", _at("20 of 20", _least), Bound("≥", 0.9)),
        ),
    ),
    Question(
        "identity",
        "Does it help to change the hotkey, to be absent, to void dispatches, or to declare one type?",
        {
            "mixed": _network(
                _honest(20, 0.6),
                _some("hopper", name="hop-thirty", tool="open", every=30),
                _some("thinner", name="part-time", tool="open", share=0.6),
                _some("selective", name="voids-hard", tool="open", voids="hard"),
                _some("selective", name="voids-ordinary", tool="open", voids="ordinary", knows=0.9),
                _some("selective", name="mcp-alone", tool="open", types=["mcp_server"]),
                _some("selective", name="composition-alone", tool="open", types=["agent_composition"]),
                rounds=120,
                epoch_rounds=5,
            )
        },
        (
            Measure("a new hotkey every 30 rounds", _at("mixed", _whole, "hop-thirty"), Bound("≤", 1)),
            Measure("declares in six of ten rounds", _at("mixed", _whole, "part-time"), Bound("≤", 1)),
            Measure("the same, per analysis", _at("mixed", _per_work, "part-time")),
            Measure("voids what looks hard", _at("mixed", _whole, "voids-hard"), Bound("≤", 1)),
            Measure("voids all but nine of ten planted tasks", _at("mixed", _whole, "voids-ordinary"), Bound("≤", 1)),
            Measure("declares mcp_server alone, per analysis", _at("mixed", _per_work, "mcp-alone")),
            Measure("declares agent_composition alone, per analysis", _at("mixed", _per_work, "composition-alone")),
        ),
    ),
    Question(
        "victims",
        "What can others do to honest miners?",
        {
            "younger": _network(
                _honest(20, 0.6),
                _some("honest", name="victim", tool="open"),
                _some("framer", 3, of="victim-1", redone=0.1, arrives=40),
                rounds=140,
            ),
            "older": _network(
                _honest(20, 0.6),
                _some("honest", name="victim", tool="open", arrives=60),
                _some("framer", of="victim-1", redone=0.1),
                rounds=140,
            ),
            "auditors": _network(
                _honest(12, 0.6, stock=True), _some("fabricator", 12, tool="open", stock=True, role="auditor")
            ),
            "saboteurs": _network(_honest(16), _some("selective", 8, tool="open", omits="easy")),
        },
        (
            Measure("victim's pay next to three younger keys", _at("younger", _each, "victim"), Bound("≥", 0.9)),
            Measure("three younger keys, together", _at("younger", honest_pays, "framer")),
            Measure("newcomer's pay next to one older key", _at("older", _each, "victim"), Bound("≥", 0.9)),
            Measure("one older key", _at("older", _each, "framer")),
            Measure("flags of each of 12 honest miners", _at("auditors", _flags), Bound("≤", 0, "1.0.0")),
            Measure("each of 12 that lie as auditors", _at("auditors", _each, "fabricator")),
            Measure("rank correlation of 16 next to 8 saboteurs", _at("saboteurs", correlated, 60)),
            Measure("eight saboteurs, together", _at("saboteurs", _peer_pays, "selective")),
        ),
    ),
)
