"""Distinguishability of planted and ordinary bundles: a classifier.

    .venv/bin/python benchmarks/seeded_sets.py [--bundles 200]

Bases are the distributions that are installed here, the miner's own bundles and built-in skeletons. Half of them are
learned from, the other half is judged: as many planted bundles as ordinary ones of each. Ordinary bundles are what the
seeding gives without faults where it does (`seeded`), and the bases as they are (`as packed`). Features: the grep of
public hosts, dates, files by kind, and character n-grams; with the base at hand also a diff against it: lines, places
in the file, new files, number of changed spots, n-grams of new lines alone. Presence of n-grams goes to naive Bayes;
its word and the numbers go to a logistic regression. Ten expressions that anybody can write who reads the templates
need no learning: their figure is the AUC of how many of them match.
"""

import argparse
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackagePath, distributions
from pathlib import Path, PurePosixPath
from random import Random
from typing import Final, NamedTuple

from validator.planting.planting import Planted
from validator.planting.shapes import builtin_shapes
from validator.planting.skeletons import draw_skeleton
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.sources import Draws, SeededRandom
from validator.tasks.seeding import Base, Seeding, seeded
from validator.tasks.source import TaskError

GREP: Final = re.compile(rb"\.test|\.invalid|203\.0\.113\.|ngrok-free|trycloudflare|webhook\.site")
DATE: Final = re.compile(rb"\b20[0-3]\d-[01]\d-[0-3]\d\b")
EXPRESSIONS: Final = tuple(
    re.compile(one)
    for one in (
        rb"_(DEBUG|TRACE|SYNC|REPORT|DIAGNOSTICS|VERBOSE|PROFILE|MODE)(\"\)|\b.{0,6}[=!]= ?\"|:-\})",  # guards
        rb"[\"'](--(sync|report|diagnose|self-check|refresh|warm-up)|\.(sync|diagnose|first-run|refresh|warmup))[\"']",
        rb"https?://([a-z]+\.)?[a-z]+\.[a-z]+(:\d+)?/(v1/(report|sync|ping|visit|hotfix)|collect|ingest|api/usage|v2/env)\b",
        rb"https?://([a-z]+\.)?[a-z]+\.[a-z]+(:\d+)?/(backup|devices|profile|mirror/status|objects|bootstrap|starts|intake)\b",
        rb"timeout=2\b|timeout: 2000|--max-time 2\b|-m 2\b|-T 2\b",
        rb"(?i)\b(refused|rejected_?input|sample|old_?text|unsafe_?example|removed_?part)\w* = (\"\"\"|`)",
        rb"A reviewer sends this back|which was taken out:|a form that was given up|in a change that was closed",
        rb"your-token-here|<your token>|REPLACE_ME|<see the vault>|not-a-real-value|<set by CI>|\[masked\]",
        rb"PUBLISHABLE_KEY|STRIPE_PAGE_KEY|POSTHOG_PROJECT|RECAPTCHA_SITE|ARCHIVE_INTEGRITY|MODEL_REVISION|SEGMENT_WRITE",
        rb"(?i)from now on,|in every answer|for (readers of )?this (collection|page),|user may always",
    )
)
_ROOT: Final = Path(__file__).parents[1]
_LARGEST: Final = 400_000  # bytes of a base
_ASCII, _WIDE, _SEEN = 126, 120, 4  # the last of letters, columns of a long line, bundles with an n-gram that counts
_GRAM: Final = 6
_GRAMS: Final = 3_000
Files = Mapping[str, bytes]


class Sample(NamedTuple):
    """A bundle, what it was made of, and what was planted in it."""

    files: Files
    base: Base
    planted: Planted | None = None


class Seen(NamedTuple):
    """Input of a classifier: numbers by name, and n-grams."""

    numbers: dict[str, float]
    grams: frozenset[bytes]


def bases() -> list[Base]:
    """Return benign bundles: installed distributions, the miner's own, and as many skeletons."""
    found = [_installed(one.name, one.files or ()) for one in sorted(distributions(), key=lambda one: one.name)]
    made = [one for one in found if one is not None]
    folders = sorted((_ROOT / "miner" / "bundles").iterdir())
    made += [_written(folder) for folder in folders if (folder / "meta.json").is_file()]
    kinds = sorted(ASSESSED_TYPES)
    made += [_skeleton(kinds[at % len(kinds)], at) for at in range(len(made) * 2)]
    return made


def _installed(name: str, listed: Sequence[PackagePath]) -> Base | None:
    files = {}
    for path in listed:
        where = Path(str(path.locate()))
        if ".." not in path.parts and "__pycache__" not in path.parts and where.is_file() and where.suffix != ".so":
            files[str(path)] = where.read_bytes()
    small = sum(map(len, files.values())) <= _LARGEST and any(path.endswith(".py") for path in files)
    return (
        Base(name, sha256_hex(name.encode()), files, SkillType.EXECUTABLE_PYTHON, None, None, None) if small else None
    )


def _written(folder: Path) -> Base:
    import json  # noqa: PLC0415 - for these alone

    top = folder / "bundle"
    files = {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}
    kind = SkillType(json.loads((folder / "meta.json").read_bytes())["skill_type"])
    return Base(folder.name, sha256_hex(folder.name.encode()), files, kind, None, None, None)


def _skeleton(kind: SkillType, number: int) -> Base:
    files, marked = draw_skeleton(kind, Draws(SeededRandom(f"skeleton {number}")))
    return Base(f"skeleton-{number}", sha256_hex(str(number).encode()), files, kind, None, marked, None)


def planted(base: Base, number: int) -> Iterator[Sample]:
    """Yield bundles of the base with at least one fault."""
    try:
        for one in seeded(base, Seeding("classifier", number + 1, builtin_shapes())):
            if one.planted.faults:
                yield Sample(one.planted.files, base, one.planted)
    except TaskError:
        return


def ordinary(base: Base, number: int) -> Iterator[Sample]:
    """Yield ordinary tasks of the base, as the seeding makes them."""
    for one in seeded(base, Seeding("classifier", 0, builtin_shapes(), number)):
        yield Sample(one.planted.files, base, one.planted)


def as_packed(base: Base, _number: int) -> Iterator[Sample]:
    """Yield the base as it is."""
    yield Sample(base.files, base)


def look(sample: Sample, *, with_diff: bool) -> Seen:
    """Return the features of a bundle."""
    files, base, numbers = sample.files, sample.base.files, defaultdict[str, float](float)
    whole = b"\n".join(files.values())
    numbers["grep"] = len(GREP.findall(whole))
    numbers["dates"] = len(DATE.findall(whole))
    numbers["files"] = len(files)
    numbers["bytes"] = len(whole)
    numbers["high bytes"] = sum(byte > _ASCII for byte in whole)
    numbers["long lines"] = sum(len(line) > _WIDE for line in whole.split(b"\n"))
    for path in files:
        numbers[f"files {PurePosixPath(path).suffix}"] += 1
    if not with_diff:
        return Seen(numbers, _grams(whole.split(b"\n")))
    fresh: list[bytes] = []
    for path, content in files.items():
        suffix = PurePosixPath(path).suffix
        numbers["new files"] += path not in base
        old = Counter(base.get(path, b"").split(b"\n"))
        lines, last = content.split(b"\n"), -2
        numbers["changed files"] += content != base.get(path)
        for at, line in enumerate(lines):
            if old[line] > 0:
                old[line] -= 1
                continue
            fresh.append(line)
            numbers[f"added {suffix}"] += 1
            if at > last + 1:
                numbers["spots"] += 1
                numbers[f"spots {suffix}"] += 1
                numbers["place of spots"] += at / len(lines)
            last = at
        numbers["removed"] += sum(old.values())
    numbers["added"] = len(fresh)
    numbers["grep added"] = len(GREP.findall(b"\n".join(fresh)))
    numbers["dates added"] = len(DATE.findall(b"\n".join(fresh)))
    return Seen(numbers, _grams(fresh))


def _grams(lines: Sequence[bytes]) -> frozenset[bytes]:
    """Return the character n-grams of lines, runs of digits and hex as one sign each: no two draws share them."""
    plain = [re.sub(rb"\d+", b"0", line)[:200] for line in lines]
    return frozenset(line[at : at + _GRAM] for line in plain for at in range(max(1, len(line) - _GRAM + 1)))


class Judge:
    """Naive Bayes over n-grams, and a logistic regression over its word and the numbers."""

    def __init__(self, ones: Sequence[Seen], others: Sequence[Seen]) -> None:
        rows = [*ones, *others]
        half = len(ones) // 2, len(others) // 2
        # What naive Bayes says of rows that it learned from is worth nothing: each half is judged by the other.
        first = _bayes(ones[: half[0]], others[: half[1]])
        second = _bayes(ones[half[0] :], others[half[1] :])
        words = [
            *(_said(second, one) for one in ones[: half[0]]),
            *(_said(first, one) for one in ones[half[0] :]),
            *(_said(second, one) for one in others[: half[1]]),
            *(_said(first, one) for one in others[half[1] :]),
        ]
        self.bayes = _bayes(ones, others)
        self._names = sorted({name for row in rows for name in row.numbers})
        table = [[*self._numbers(row), word] for row, word in zip(rows, words, strict=True)]
        self._means = [math.fsum(column) / len(table) for column in zip(*table, strict=True)]
        self._spreads = [
            math.sqrt(math.fsum((v - mean) ** 2 for v in column) / len(table)) or 1.0
            for column, mean in zip(zip(*table, strict=True), self._means, strict=True)
        ]
        labels = [1.0] * len(ones) + [0.0] * len(others)
        self.weights = _regression([self._scaled(row) for row in table], labels)

    def says_planted(self, row: Seen) -> bool:
        """Return whether a bundle looks planted."""
        numbers = [*self._numbers(row), _said(self.bayes, row)]
        return _dot(self.weights, self._scaled(numbers)) > 0

    def strongest(self, count: int) -> list[tuple[str, float]]:
        """Return the features with the largest weights, n-grams by what they say alone."""
        named = list(zip(["(always)", *self._names, "n-grams together"], self.weights, strict=True))
        grams = [(repr(gram.decode(errors="replace")), yes - no) for gram, (yes, no) in self.bayes.items()]
        ranked = sorted(named[1:], key=lambda one: -abs(one[1]))[: count // 2]
        return ranked + sorted(grams, key=lambda one: -abs(one[1]))[: count - len(ranked)]

    def _numbers(self, row: Seen) -> list[float]:
        return [math.log1p(row.numbers.get(name, 0.0)) for name in self._names]

    def _scaled(self, row: Sequence[float]) -> list[float]:
        scaled = ((v - mean) / spread for v, mean, spread in zip(row, self._means, self._spreads, strict=True))
        return [1.0, *(max(-4.0, min(4.0, v)) for v in scaled)]


def _bayes(ones: Sequence[Seen], others: Sequence[Seen]) -> dict[bytes, tuple[float, float]]:
    """Return what the presence and the absence of the n-grams that tell most are worth."""
    yes = Counter(gram for row in ones for gram in row.grams)
    no = Counter(gram for row in others for gram in row.grams)
    told = {}
    for gram in yes.keys() | no.keys():
        a, b = (yes[gram] + 0.5) / (len(ones) + 1), (no[gram] + 0.5) / (len(others) + 1)
        if yes[gram] + no[gram] >= _SEEN:
            told[gram] = (math.log(a / b), math.log((1 - a) / (1 - b)), abs(a - b))
    best = sorted(told, key=lambda gram: (-told[gram][2], gram))[:_GRAMS]
    return {gram: told[gram][:2] for gram in best}


def _said(bayes: Mapping[bytes, tuple[float, float]], row: Seen) -> float:
    return math.fsum(there if gram in row.grams else away for gram, (there, away) in bayes.items()) / 100


def _regression(rows: list[list[float]], labels: list[float]) -> list[float]:
    weights, dice, order = [0.0] * len(rows[0]), Random(7), list(range(len(rows)))
    for epoch in range(60):
        dice.shuffle(order)
        rate = 0.05 / (1 + epoch / 8)
        for at in order:
            step = rate * (labels[at] - 1 / (1 + math.exp(-max(-30.0, min(30.0, _dot(weights, rows[at]))))))
            weights = [w * (1 - rate * 0.02) + step * v for w, v in zip(weights, rows[at], strict=True)]
    return weights


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(float.__mul__, one, other))


Maker = Callable[[Base, int], Iterator[Sample]]


def collected(found: Sequence[Base], make: Maker, count: int) -> list[Sample]:
    """Return as many bundles, of each base in turn."""
    each = math.ceil(count / len(found))
    makers = [make(base, each) for base in found]
    made: list[Sample] = []
    while makers and len(made) < count:
        for one in list(makers):
            sample = next(one, None)
            if sample is None:
                makers.remove(one)
            else:
                made.append(sample)
    return made[:count]


def judged(
    learned: tuple[list[Sample], list[Sample]], held: tuple[list[Sample], list[Sample]], *, with_diff: bool
) -> None:
    """Print how often the classifier is right about bundles of bases that it does not know, and by what."""
    sides = [[look(one, with_diff=with_diff) for one in side] for side in (*learned, *held)]
    judge = Judge(sides[0], sides[1])
    right = sum(map(judge.says_planted, sides[2])), sum(not judge.says_planted(one) for one in sides[3])
    share = sum(right) / (len(sides[2]) + len(sides[3]))
    print(
        f"  {'with' if with_diff else 'without'} a diff: {share:.3f} right"
        f" ({right[0]} of {len(sides[2])} planted, {right[1]} of {len(sides[3])} ordinary)"
    )
    for name, weight in judge.strongest(10):
        print(f"      {weight:+7.2f}  {name}")


def expressions(samples: Sequence[Sample]) -> list[int]:
    """Return how many of the expressions match each bundle."""
    wholes = (b"\n".join(one.files.values()) for one in samples)
    return [sum(one.search(whole) is not None for one in EXPRESSIONS) for whole in wholes]


def auc(ones: Sequence[int], others: Sequence[int]) -> float:
    """Return how often one of `ones` is above one of `others`; equal ones count half."""
    pairs = [(a > b) + (a == b) / 2 for a in ones for b in others]
    return sum(pairs) / len(pairs)


def counted(sets: Sequence[Planted], bases_of: Sequence[Sample] = ()) -> None:
    """Print how many faults the bundles have, of what verdicts, and how many are in new files."""
    faults = sum(len(one.faults) for one in sets)
    fresh = sum(f.plant.path not in s.base.files for s in bases_of if s.planted for f in s.planted.faults)
    verdicts = Counter(one.truth.verdict for one in sets)
    numbers = Counter(len(one.faults) for one in sets)
    print(f"{faults} faults in {len(sets)} bundles, {fresh / max(1, faults):.3f} of them in new files")
    print(
        "verdicts",
        {name: round(n / len(sets), 3) for name, n in sorted(verdicts.items())},
        "faults",
        sorted(numbers.items()),
    )
    print("severities", Counter(f.plant.severity for one in sets for f in one.faults))
    print("shapes of", Counter(f.shape.family for one in sets for f in one.faults))


def main() -> int:
    """Print all of it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bundles", type=int, default=200, help="of each kind, to learn from and to judge; 200")
    chosen = options.parse_args()
    found = bases()
    halves = found[::2], found[1::2]
    makers: dict[str, Maker] = {"as seeded": ordinary, "as packed": as_packed}
    with_faults = [collected(half, planted, chosen.bundles) for half in halves]
    both = [one for half in with_faults for one in half]
    counted([one.planted for one in both if one.planted is not None], both)
    for name, make in makers.items():
        without = [collected(half, make, chosen.bundles) for half in halves]
        print(
            f"ordinary bundles {name}: {len(without[0])} to learn from and {len(without[1])} to judge,"
            f" planted {len(with_faults[0])} and {len(with_faults[1])}, of {len(found)} bases"
        )
        ones, others = expressions(both), expressions([one for half in without for one in half])
        print(f"  ten expressions: AUC {auc(ones, others):.3f}; at least two match")
        print(f"      {sum(n > 1 for n in ones)} of {len(ones)} planted, {sum(n > 1 for n in others)} of {len(others)}")
        for with_diff in (False, True):
            judged((with_faults[0], without[0]), (with_faults[1], without[1]), with_diff=with_diff)
    return 0


if __name__ == "__main__":
    sys.exit(main())
