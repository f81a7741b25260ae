"""Similarity of real scanners: planted faults that each finds, by kind, type and language, and their agreement.

    python benchmarks/scanners_alike.py BUNDLES=180

Three scanners look at the same planted bundles: the installed analyser, GuardDog (YARA rules for malicious packages),
and bandit with detect-secrets, each as it comes. A fault is seen where anything is reported within three lines of it.
Printed are the part of the faults that each sees; how many kinds are unevenly hard over skill types and languages
(permutation test, p < 0.05); rho, the weight of "one analysis" that explains best what two see given the kinds (SPEC
17, D-39); and the part of all reported places that another scanner reports too, within so many lines.
"""

import json
import math
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, Final, NamedTuple

from seeded_sets import Sample, bases, planted

from validator.protocol.skill_types import ASSESSED_TYPES
from validator.tasks.analysers import find_analyser

NEAR: Final = 3  # lines
_LEAST: Final = 4  # faults of a kind in a part that is compared
_SHUFFLES: Final = 400
_TOLERANCES: Final = (0, 3, 10)
_OVERLOOKED: Final = (0.0, 0.1, 0.25, 0.5)
Place = tuple[str, int]
Places = set[Place]


class Fault(NamedTuple):
    """A planted fault, and which scanners see it."""

    kind: str
    skill_type: str
    language: str
    seen: Mapping[str, bool]


def analysed(sample: Sample, _: Path) -> Places:
    """Return the places that the installed analyser reports."""
    analyser = find_analyser()
    if analyser is None:
        raise SystemExit("no analyser is installed")
    found = analyser.look(sample.files, sample.base.skill_type).findings
    refs = [one.evidence_ref.partition("#L") for one in found]
    return {(path, int(line.partition("-")[0] or 0)) for path, _, line in refs}


def guarddog(tools: Path) -> Callable[[Sample, Path], Places]:
    """Return a scan by GuardDog."""

    def scan(_: Sample, folder: Path) -> Places:
        told = _json_of([tools / "guarddog", "pypi", "scan", folder, "--output-format=json"], folder)
        hits = [hit for found in told["results"].values() if isinstance(found, list) for hit in found]
        places = [hit["location"].rpartition(":") for hit in hits]
        return {(path, int(line)) for path, _, line in places if line.isdigit()}

    return scan


def bandit_and_secrets(tools: Path) -> Callable[[Sample, Path], Places]:
    """Return a scan by bandit and by detect-secrets."""

    def scan(_: Sample, folder: Path) -> Places:
        bandit = _json_of([sys.executable, "-m", "bandit", "-q", "-r", "-f", "json", "."], folder)["results"]
        secrets = _json_of([tools / "detect-secrets", "scan", "--all-files", "."], folder)["results"]
        places = {(one["filename"].removeprefix("./"), one["line_number"]) for one in bandit}
        return places | {(path, one["line_number"]) for path, found in secrets.items() for one in found}

    return scan


def _json_of(command: Sequence[Any], folder: Path) -> Any:
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, check=False)
    return json.loads(done.stdout)


def samples(most: int) -> Iterator[Sample]:
    """Yield planted bundles of different bases, about as many of each type."""
    left = Counter(dict.fromkeys(ASSESSED_TYPES, math.ceil(most / len(ASSESSED_TYPES))))
    numbered = list(enumerate(bases()))
    for number, base in Random(7).sample(numbered, len(numbered)):
        for one in islice(planted(base, number), left[base.skill_type] > 0):
            left[base.skill_type] -= 1
            yield one


def faults_of(sample: Sample, seen: Mapping[str, Places]) -> Iterator[Fault]:
    """Yield the faults of a bundle."""
    for one in sample.planted.faults if sample.planted else ():
        where = one.plant.path, one.plant.line or 0
        yield Fault(
            one.kind,
            str(sample.base.skill_type),
            PurePosixPath(one.plant.path).suffix,
            {name: any(_near(where, place, NEAR) for place in places) for name, places in seen.items()},
        )


def _near(one: Place, other: Place, lines: int) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) <= lines


def uneven(faults: Sequence[Fault], scanner: str, part: Callable[[Fault], str]) -> tuple[int, int]:
    """Return how many kinds a scanner sees in part, and in how many of them unevenly over the parts."""
    by_kind: defaultdict[str, defaultdict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for one in faults:
        by_kind[one.kind][part(one)].append(one.seen[scanner])
    random, compared, found = Random(1), 0, 0
    for parts in by_kind.values():
        groups = [group for group in parts.values() if len(group) >= _LEAST]
        pooled = [x for group in groups for x in group]
        if len(groups) < 2 or len(set(pooled)) < 2:  # noqa: PLR2004 - nothing to compare
            continue
        sizes, told = [len(group) for group in groups], _between(pooled, [len(group) for group in groups])
        shuffled = [_between(random.sample(pooled, len(pooled)), sizes) for _ in range(_SHUFFLES)]
        compared += 1
        found += (sum(one >= told - 1e-12 for one in shuffled) + 1) / (_SHUFFLES + 1) < 0.05  # noqa: PLR2004
    return compared, found


def _between(values: Sequence[bool], sizes: Sequence[int]) -> float:
    """Return the variation between consecutive parts of these sizes."""
    whole, at, sum_of = sum(values) / len(values), 0, 0.0
    for size in sizes:
        sum_of += size * (sum(values[at : at + size]) / size - whole) ** 2
        at += size
    return sum_of


def rho(told: Sequence[tuple[str, bool, bool]]) -> float:
    """Return the weight of one analysis that explains best what two readers see: (kind, seen, seen) of each fault."""
    by_kind = defaultdict(list)
    for kind, x, y in told:
        by_kind[kind].append((x, y))
    likely = []
    for pairs in by_kind.values():
        p, q = ((sum(side) + 0.5) / (len(pairs) + 1) for side in zip(*pairs, strict=True))
        mean = (p + q) / 2
        for x, y in pairs if len(pairs) >= _LEAST else ():
            apart = (p if x else 1 - p) * (q if y else 1 - q)
            likely.append((apart, (mean if x else 1 - mean) if x == y else 0.0))
    return max(
        (one / 100 for one in range(100)),
        key=lambda r: math.fsum(math.log(max(1e-12, (1 - r) * apart + r * shared)) for apart, shared in likely),
    )


def agreement(reports: Sequence[tuple[Places, Places]], lines: int) -> float:
    """Return the part of all places of two scanners that the other one reports, too, within so many lines."""
    met = of = 0
    for one, other in reports:
        for places, others in ((one, other), (other, one)):
            of += len(places)
            met += sum(any(_near(place, another, lines) for another in others) for place in places)
    return met / max(1, of)


def main() -> None:
    """Scan, and print everything."""
    tools, most = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    scanners = {"analyser": analysed, "guarddog": guarddog(tools), "bandit, detect-secrets": bandit_and_secrets(tools)}
    faults: list[Fault] = []
    reports: list[dict[str, Places]] = []
    for sample in samples(most):
        with tempfile.TemporaryDirectory(prefix="scanned") as name:
            folder = Path(name)
            for path, content in sample.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            reports.append({scanner: scan(sample, folder) for scanner, scan in scanners.items()})
        faults += faults_of(sample, reports[-1])
    print(f"{len(faults)} faults of {len({one.kind for one in faults})} kinds in {len(reports)} bundles")
    for name in scanners:
        over = [
            f"{what} {found} of {compared} kinds"
            for what, part in (("types", _type), ("languages", _language))
            for compared, found in [uneven(faults, name, part)]
        ]
        seen = sum(one.seen[name] for one in faults) / len(faults)
        print(f"{name}: sees {seen:.2f}; uneven over {' and over '.join(over)}")
    for one, other in combinations(scanners, 2):
        near = ", ".join(f"±{n} {agreement([(at[one], at[other]) for at in reports], n):.2f}" for n in _TOLERANCES)
        both = [(fault.kind, fault.seen[one], fault.seen[other]) for fault in faults]
        print(f"{one} and {other}: rho {rho(both):.2f}; places that agree {near}")
    random = Random(2)
    for share in _OVERLOOKED:
        twice = [(one.kind, *(one.seen["analyser"] and random.random() >= share for _ in "xy")) for one in faults]
        print(f"two keys of the analyser that overlook {share:.2f} each: rho {rho(twice):.2f}")  # type: ignore[arg-type]


def _type(fault: Fault) -> str:
    return fault.skill_type


def _language(fault: Fault) -> str:
    return fault.language


if __name__ == "__main__":
    main()
