"""Tasks of a simulated network: faults of kinds that are easier or harder to find, and what else an answer names.

A task is what exists to be found. Planted tasks carry it as their truth; of ordinary ones nobody knows it.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import Any, Final, NamedTuple, get_args

from laboratory.population import World
from laboratory.streams import stream, token
from sssa.protocol.draws import canary_types, task_id
from sssa.protocol.findings import BLOCK_FROM, REVIEW_FROM, SEVERITIES, VERDICTS, risk_of, verdict_of
from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Category, Dependency, Finding, Rule, Severity
from sssa.protocol.task import KnownFinding, Truth
from sssa.scoring import Version

_CATEGORIES: Final[tuple[Category, ...]] = tuple(
    one for one in get_args(Category) if one not in {"canary_match", "transitive_risk", "dependency_cve"}
)
_USUAL: Final = 8
_SPACING: Final = 40  # lines between faults: no finding names two
_CAPABILITIES: Final = tuple(f"capability-{number}" for number in range(40))
_PACKAGES: Final = tuple(f"package-{number}" for number in range(60))
_PATTERNS: Final = tuple(f"pattern-{number}" for number in range(50))
ADVISORIES: Final = tuple(f"CVE-2024-{number:04}" for number in range(64))


class Kind(NamedTuple):
    """A kind of fault; `odds` say by which factor it is easier to find than one of middling difficulty."""

    name: str
    number: int
    category: Category
    odds: float


class Latent(NamedTuple):
    """A task with everything that exists to be found.

    Attributes:
        task: as a round's input has it.
        kinds: of its faults, in the order of the truth.
        worded: for each fault the finding in the words that most use, then in others.
        capabilities, dependencies, rules: that a complete answer names.
        truth: also of an ordinary task.
    """

    task: AssessmentTask
    kinds: tuple[Kind, ...]
    worded: tuple[tuple[Finding, ...], ...]
    capabilities: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    rules: tuple[Rule, ...]
    truth: Truth

    @property
    def planted(self) -> bool:
        """True if it was made for the round, with a truth that names its faults."""
        return self.task.made_here


class Library:
    """The kinds of faults of a world, and its tasks, all of one seed."""

    def __init__(self, world: World, version: Version, seed: int, place: str) -> None:
        self._world, self._version, self._seed, self._place = world, version, seed, place
        draws = stream(seed, "kinds")
        self.kinds = tuple(
            Kind(
                f"family-{number % 7}/shape-{number}",
                number,
                "dependency_cve" if number < world.advisories * world.kinds else _CATEGORIES[number % len(_CATEGORIES)],
                math.exp(world.hardness * (1 - number % 3) + draws.gauss(0, world.hardness / 2)),
            )
            for number in range(world.kinds)
        )

    def round_tasks(self, index: int, salt: bytes) -> tuple[Latent, ...]:
        """Return the tasks of a round: two per type, one of which is planted for the types that are drawn (D-33)."""
        slots = self._version.rules.groups.canary_slots if self._world.planted is None else self._world.planted
        planted = canary_types(salt, str(index), slots)
        tasks = []
        for name in ASSESSED_TYPES:
            for slot in range(2):
                draws = stream(self._seed, self._place, "task", index, name, slot)
                source = token(self._seed, self._place, "bundle", index, name, slot)
                tasks.append(self._task(draws, index, name, slot, source, planted=name in planted and slot == 0))
        return tuple(tasks)

    def _task(  # noqa: PLR0913 - draws, and which task it is
        self, draws: Random, index: int, name: SkillType, slot: int, source: str, *, planted: bool
    ) -> Latent:
        number = _USUAL if draws.random() < 0.75 else draws.choice((0, draws.randint(1, 12)))
        kinds = tuple(draws.sample(self.kinds, min(number, len(self.kinds))))
        severities = _severities(draws, draws.choice(VERDICTS), len(kinds))
        known = tuple(
            KnownFinding(
                kind.category,
                severity,
                f"src/part.py#L{_SPACING * place + 10}",
                (draws.choice(ADVISORIES),) if kind.category == "dependency_cve" else (),
                f"target-{place}",
                kind.name,
            )
            for place, (kind, severity) in enumerate(zip(kinds, severities, strict=True))
        )
        truth = _truth(known)
        has_truth = planted or draws.random() < self._world.curated
        rules = self._version.rules.types[name]
        task = AssessmentTask(
            task_id=task_id(str(index), name, slot, source),
            skill_type=name,
            slot=slot,
            source_sha256=source,
            bundle_sha256=source,
            nonce=source,
            windows=rules.windows,
            provenance="canary" if planted else "curated" if has_truth else "none",
            truth=truth if has_truth else None,
            canary=None,
            index=(),
        )
        return Latent(
            task,
            kinds,
            tuple(_worded(one, place) for place, one in enumerate(known)),
            tuple(draws.sample(_CAPABILITIES, draws.randint(4, 10))),
            tuple(Dependency(one, "1.0", ()) for one in draws.sample(_PACKAGES, draws.randint(0, 8))),
            tuple(Rule("fs", "deny", one) for one in draws.sample(_PATTERNS, draws.randint(2, 6))),
            truth,
        )


def _severities(draws: Random, verdict: str, number: int) -> list[Severity]:
    """Return severities that lead to a verdict, as planting draws them."""
    severities: list[Severity] = []
    for _ in range(number):
        risk = risk_of(_Weighed("other", one) for one in severities)
        if verdict == "BLOCK":
            of: tuple[Severity, ...] = ("critical", "high") if risk < BLOCK_FROM else SEVERITIES
        elif verdict == "REVIEW":
            of = ("high", "medium") if risk < REVIEW_FROM else ("low",)
        else:
            of = ("low",)
        severities.append(draws.choice(of))
    return severities


class _Weighed(NamedTuple):
    category: Category
    severity: Severity


def _truth(known: tuple[KnownFinding, ...]) -> Truth:
    risk = risk_of(known)
    return Truth(verdict_of(risk), None, None, risk, None, None, None, None, known)


def _worded(one: KnownFinding, place: int) -> tuple[Finding, ...]:
    line = _SPACING * place + 10
    refs = (one.evidence_ref, *(f"src/part.py#L{line - more}-L{line + more}" for more in (1, 2, 3)))
    return tuple(
        Finding(f"f{place}", one.category, one.severity, "", ref, one.cve_ids, one.target_pattern) for ref in refs
    )


def false_alarm(name: str, severity: Severity) -> Finding:
    """Return a finding that names no fault."""
    return Finding(name, "other", severity, "", f"src/{name}.py#L1", (), name)


ANYTHING: Final[dict[str, Sequence[Any]]] = {"capabilities": _CAPABILITIES, "patterns": _PATTERNS}
