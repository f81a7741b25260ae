"""Planting faults in a benign bundle, in memory, and the truth of the result (SPEC 16, D-33). Pure."""

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from sssa.protocol import limits
from sssa.protocol.bundles import count_lines, evidence_resolves, json_object
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.findings import BLOCK_FROM, REVIEW_FROM, SEVERITIES, VERDICTS, risk_of, verdict_of
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import (
    Category,
    EvidenceRef,
    EvidenceRefError,
    Severity,
    Verdict,
    parse_evidence_ref,
)
from sssa.protocol.task import KnownFinding, Truth
from sssa.protocol.text import quietly
from sssa.sources import Draws

Family = Literal[
    "exfiltration", "secret", "injection", "capability", "poisoned_description", "vulnerable_pin", "transitive_risk"
]
HARMLESS_BY_WORDS: Final[tuple[Family, ...]] = ("secret", "vulnerable_pin")
"""Families whose forms are harmless with other words in them: a placeholder, a version without an advisory."""
Difficulty = Literal["easy", "medium", "hard"]
Files = Mapping[str, bytes]


class Plant(NamedTuple):
    """One fault that was planted, as the truth says it (SPEC 16, D-33).

    Attributes:
        changed: the new content of every file that was changed or made; lines of a changed file may move, none is lost.
        path: the file that shows the fault.
        line: its line there, from 1 on, in the new content; None where the file as a whole is the evidence.
        category: as a correct analysis says it (docs/reference-miner.md, Words).
        severity: the same.
        cve_ids: the advisories of a vulnerable pin.
        target_pattern: what the fault is about, as a finding's `target_pattern` spells it.
        poisoned_tool: the MCP tool whose description was poisoned.
    """

    changed: Files
    path: str
    line: int | None
    category: Category
    severity: Severity
    cve_ids: tuple[str, ...] = ()
    target_pattern: str = ""
    poisoned_tool: str | None = None


class Placed(NamedTuple):
    """A text that has its place: `about` is what it is about, a path where it is empty; `tool` the MCP tool."""

    changed: Mapping[str, bytes]
    path: str
    line: int
    about: str = ""
    tool: str | None = None


class Constraints(NamedTuple):
    """Constraints on a fault.

    Attributes:
        severities: of the fault; None for any.
        fresh: whether it may be in a file that the bundle does not have.
    """

    severities: frozenset[Severity] | None = None
    fresh: bool = True


ANY: Final = Constraints()

Planter = Callable[[Draws, Files, SkillType, Constraints], Plant | None]


class Shape(NamedTuple):
    """One way to be at fault.

    Attributes:
        name: says what it is, `whole-environment`; unique among all shapes.
        family: what kind of fault it is.
        difficulty: to find it.
        types: skill types whose bundles it may be planted in.
        plant: plants it at a drawn place; None where the bundle has no place for it, or for what is asked. It changes
            nothing but what it returns, draws only from what it is given, and leaves a bundle that parses and runs as
            before.
        severities: those that the fault can have; empty where that is not known.
    """

    name: str
    family: Family
    difficulty: Difficulty
    types: frozenset[SkillType]
    plant: Planter
    severities: frozenset[Severity] = frozenset()


Quoter = Callable[[Draws, Files, str, Sequence[str]], Plant | None]
"""Puts lines that belong into a file of some name into a text that quotes them."""


class Company(NamedTuple):
    """Harmless additions that bundles have next to faults.

    Attributes:
        harmless: shapes that are harmless by what they do; they come with faults of their family.
        quote: puts a fault or a harmless addition where it is only quoted.
        twins: by their names, shapes of `HARMLESS_BY_WORDS` with words that make them harmless.
        public: shapes that hold a value that everybody may know; they come with twins, which hold none.
        blank: the same shapes without the value; they come with faults, which hold one.
    """

    harmless: Sequence[Shape]
    quote: Quoter
    twins: Mapping[str, Shape]
    public: Sequence[Shape]
    blank: Sequence[Shape]


def breaks(path: str, before: bytes | None, after: bytes) -> bool:
    """Return whether a file can no longer be read as what its name says, though it could before, or is new.

    Python is compiled, JSON, JSON lines and TOML are parsed; every text stays UTF-8. Nothing is run.
    """
    reader = _READERS.get(path.rpartition(".")[2].lower(), bytes.decode)
    return not _reads(reader, after) and (before is None or _reads(reader, before))


def _compiled(content: bytes) -> None:
    with quietly():
        compile(content, "planted", "exec", dont_inherit=True)


_READERS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "py": _compiled,
    "pyw": _compiled,
    "json": lambda content: json.loads(content.decode()),
    "jsonl": lambda content: [json.loads(line) for line in content.decode().splitlines() if line.strip()],
    "toml": lambda content: tomllib.loads(content.decode()),
}


def _reads(reader: Callable[[bytes], object], content: bytes) -> bool:
    try:
        reader(content)
    except (ValueError, SyntaxError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def moved(before: bytes, after: bytes, line: int) -> int | None:
    """Return which line of `after` is the line `line` of `before`, from 1 on; None where that is not beyond doubt.

    It is the same up to space and a comma at its end, in which lists and objects differ when something follows. Lines
    keep their order, so of several that are alike it is the one with as many before it; one more or less is a doubt.
    """
    old, new = _lines(before), _lines(after)
    if not 1 <= line <= len(old):
        return None
    same = [at for at, text in enumerate(new, 1) if text == old[line - 1]]
    return same[old[: line - 1].count(old[line - 1])] if len(same) == old.count(old[line - 1]) else None


def _lines(content: bytes) -> list[bytes]:
    return [line.rstrip().removesuffix(b",") for line in content.split(b"\n")]


_MANIFEST: Final = "mcp.json"
_DEEPEST: Final = 8  # compositions in compositions


def truth_of(files: Files, skill_type: SkillType, faults: Sequence[tuple[str, str, Plant]]) -> Truth:
    """Return the truth of a bundle.

    Risk and verdict follow from the findings by the rule of docs/reference-miner.md, with two differences that follow
    from what was planted: a fault of category transitive_risk counts like any other (it repeats none), and of a
    composition each child's files are judged apart; the greatest risk counts. Policy rules and shell commands are not
    known.
    """
    findings = tuple(
        KnownFinding(one.category, one.severity, place, one.cve_ids, one.target_pattern, kind)
        for kind, place, one in faults
    )
    composed = skill_type is SkillType.AGENT_COMPOSITION
    served = skill_type is SkillType.MCP_SERVER
    risk = _risk(findings, _children(files) if composed else ())
    return Truth(
        verdict=verdict_of(risk),
        policy_rules=None,
        injections=tuple(one.evidence_ref for one in findings if one.category == "prompt_injection"),
        reference_risk=risk,
        shell_commands=None,
        manifest_sha256=sha256_hex(files[_MANIFEST]) if served and _MANIFEST in files else None,
        poisoned_tools=tuple(dict.fromkeys(p.poisoned_tool for _, _, p in faults if p.poisoned_tool))
        if served
        else None,
        transitive_risk=risk if composed else None,
        findings=findings,
    )


def _risk(findings: Sequence[KnownFinding], children: Iterable[str]) -> float:
    """Return the greatest risk of a skill and its children, each with the findings that are in no child."""
    folders = sorted(children, key=len, reverse=True)
    apart: dict[str, list[KnownFinding]] = {}
    for finding in findings:
        folder = next((folder for folder in folders if finding.evidence_ref.startswith(f"{folder}/")), "")
        counted = finding
        if finding.category == "transitive_risk":
            counted = msgspec.structs.replace(finding, category="other")
        apart.setdefault(folder, []).append(counted)
    return max(map(risk_of, apart.values()), default=0.0)


def _children(files: Files, within: str = "", depth: int = 0) -> list[str]:
    """Return the folders of a composition's children and of theirs."""
    paths: list[str] = []
    for path, kind in children_of(files, within):
        paths.append(folder := within + path)
        if depth < _DEEPEST and kind == SkillType.AGENT_COMPOSITION:
            paths += _children(files, f"{folder}/", depth + 1)
    return paths


def children_of(files: Files, within: str = "") -> list[tuple[str, Any]]:
    """Return folder and skill type, as it is written, of each child that a composition in a folder names."""
    entries = json_object(files, f"{within}composition.json").get("children")
    listed = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    named = [(entry.get("path"), entry.get("skill_type")) for entry in listed]
    return [(path.strip("/"), kind) for path, kind in named if isinstance(path, str) and path.strip("/")]


USUAL: Final = 8
OTHER_COUNTS: Final = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12)
MOST_READ: Final = 2 * limits.MIB  # bytes of a bundle that shapes look at, its smallest files first
_LARGEST_READ: Final = 256 * 1024  # bytes of a file that they look at
_ORDER: Final[tuple[Difficulty, ...]] = ("easy", "medium", "hard")
_PAIRS: Final = (9, 12)  # a fault or a quoted one, each with its company
_SPARE: Final = 3  # shapes for each fault that is missing
_FRESH: Final = 8  # one in so many may be in a new file
_NEARLY_BLOCK: Final = 0.52  # a risk that one more of medium severity does not take to BLOCK
_LITTLE: Final = 0.02  # the same to REVIEW
_REACHED: Final[Mapping[Verdict, float]] = {"ALLOW": _LITTLE, "REVIEW": _NEARLY_BLOCK, "BLOCK": BLOCK_FROM}
_MOST_QUOTED: Final = 40  # lines


class Fault(NamedTuple):
    """A fault that is in the bundle: what was planted, with its line as it is now, and the shape that planted it."""

    shape: Shape
    plant: Plant

    @property
    def kind(self) -> str:
        """Name of the fault in a truth."""
        return f"{self.shape.family}/{self.shape.name}"

    @property
    def place(self) -> str:
        """The evidence of it."""
        return self.plant.path if self.plant.line is None else f"{self.plant.path}#L{self.plant.line}"


class Planted(NamedTuple):
    """A bundle with faults.

    Attributes:
        files: of the bundle.
        faults: in the order of their places.
        wanted: how many were drawn; more than `faults` where the bundle has no place for so many.
        truth: of the bundle.
    """

    files: Files
    faults: tuple[Fault, ...]
    wanted: int
    truth: Truth


def count(draws: Draws) -> int:
    """Draw how many faults a bundle gets: eight; one in eight none, another one in eight 1 to 12 (SPEC 16, D-33)."""
    if draws.number(0, 3):
        return USUAL
    return draws.pick(OTHER_COUNTS) if draws.number(0, 1) else 0


def plant(  # noqa: PLR0913, PLR0917 - everything that a bundle is made of
    files: Files,
    skill_type: SkillType,
    draws: Draws,
    shapes: Sequence[Shape],
    wanted: int | None = None,
    company: Company | None = None,
) -> Planted:
    """Return the bundle with faults that are drawn: of different shapes, families in turn, easy, medium and hard ones.

    Their severities follow from a drawn verdict, a third of the bundles each. Earlier faults stay where they are, or
    their lines move with the text around them: a fault that would change one, or make its line uncertain, is not
    planted; nor is one at the place of another, one that makes a file unreadable, or one that takes the bundle over a
    bound of SPEC 13.

    With company, a fault comes with a harmless addition of its family that is quoted; and up to a number that does not
    depend on the faults, quoted faults come with a harmless addition that is none. So both texts and both ways to hold
    them are as frequent in a bundle with faults as in one without, and only together they make a fault.

    Args:
        files: of a bundle that is known to be benign, by path.
        skill_type: of the bundle.
        draws: decides how many, which and where.
        shapes: those to plant of; each is planted once at most.
        wanted: how many faults; None to draw that as well.
        company: harmless additions; None for faults alone.
    """
    number = count(draws) if wanted is None else wanted
    remaining = [shape for shape in shapes if skill_type in shape.types]
    bed = _Bed(files, skill_type, draws, company)
    extra = max(0, draws.number(*_PAIRS) - number) if company else 0
    verdict = draws.pick(VERDICTS)
    turns = draws.some([True] * number + [False] * extra, number + extra, number + extra)
    for turn in range(len(remaining)):
        if not turns:
            break
        shape = draws.pick(_next(remaining, bed.families, _ORDER[turn % len(_ORDER)]))
        missing = turns.count(True)
        live = turns[0] or len(remaining) < _SPARE * missing  # what is quoted leaves enough to plant
        remaining.remove(shape)
        # What is quoted has the severities that faults would have: all of them without faults, else those that come
        # once the verdict is reached.
        risk = bed.risk if live else max(bed.shown, _REACHED[verdict] if number else 0.0)
        severities = _severities(verdict, risk, missing if live else len(turns))
        constraints = Constraints(severities, fresh=draws.number(1, _FRESH) == 1)
        if bed.plant(shape, constraints) if live else bed.quote(shape, constraints):
            turns.remove(live)
    if number and not bed.faults:  # whatever its severity
        for shape in (one for one in shapes if skill_type in one.types):
            if bed.plant(shape, ANY):
                break
    faults = tuple(sorted(bed.faults, key=lambda fault: (fault.plant.path, fault.plant.line or 0)))
    return Planted(bed.files, faults, number, bed.truth(faults))


def _severities(verdict: Verdict, risk: float, remaining: int) -> frozenset[Severity]:
    """Return the severities of the next fault of a bundle that shall have a verdict; `remaining` faults are missing."""
    if verdict == "BLOCK":
        return frozenset({"critical", "high"} if risk < BLOCK_FROM else SEVERITIES)
    if verdict == "REVIEW" and risk < REVIEW_FROM:
        return frozenset({"high", "medium"} if remaining > 1 else {"high"})
    if verdict == "REVIEW":
        return frozenset({"low", "medium"} if risk < _NEARLY_BLOCK else {"low"})
    return frozenset({"low", "medium"} if risk < _LITTLE else {"low"})


def readable(files: Files) -> dict[str, bytes]:
    """Return the files that shapes look at: text within bounds, whatever else the bundle holds."""
    chosen: list[str] = []
    remaining = MOST_READ
    for path in sorted(files, key=lambda path: (len(files[path]), path)):
        remaining -= len(files[path])
        if remaining < 0 or len(files[path]) > _LARGEST_READ:
            break
        if _named(path) and not breaks("", None, files[path]):
            chosen.append(path)
    return {path: files[path] for path in sorted(chosen)}


def fault_of(files: Files, planted: Plant, seen: Files | None = None) -> str | None:
    """Return what speaks against a plant in a bundle, None where nothing does.

    Args:
        files: of the bundle.
        planted: what a shape returned.
        seen: the files that were read; None for `readable` ones.
    """
    changed = planted.changed
    visible = readable(files) if seen is None else seen
    after = {**files, **changed}
    lines = {path: count_lines(content) for path, content in changed.items()}
    checks = (
        (planted.path not in changed, "its place is in no file that it changed"),
        (not all(map(_named, changed)), "evidence cannot name a file that it made"),
        (changed.keys() & files.keys() != changed.keys() & visible.keys(), "it changed what shapes cannot see"),
        (any(files.get(path) == content for path, content in changed.items()), "it changed nothing in a file"),
        (any(breaks(path, files.get(path), content) for path, content in changed.items()), "a file is broken by it"),
        (not _within_bounds(after), "the bundle is over a bound with it"),
        (any(_in_the_way(path, files) for path in changed.keys() - files.keys()), "a folder or a file is in its way"),
        (planted.line is not None and planted.line < 1, "its line is not there"),
        (not evidence_resolves(EvidenceRef(planted.path, planted.line, planted.line), lines), "its line is not there"),
    )
    return next((text for wrong, text in checks if wrong), None)


def _next(remaining: Sequence[Shape], had: Sequence[Family], difficulty: Difficulty) -> list[Shape]:
    """Return those among which the next is drawn: of the difficulty if there are any, of the families had least."""
    fitting = [shape for shape in remaining if shape.difficulty == difficulty] or list(remaining)
    least = min(had.count(shape.family) for shape in fitting)
    return [shape for shape in fitting if had.count(shape.family) == least]


class _Bed:
    """A bundle's files, the faults that are in them, and what keeps them company."""

    def __init__(self, files: Files, skill_type: SkillType, draws: Draws, company: Company | None) -> None:
        self.files = dict(files)
        self.seen = readable(files)
        self.faults: list[Fault] = []
        self.families: list[Family] = []
        self._quoted: list[Plant] = []
        self._type = skill_type
        self._draws = draws
        self._company = company

    def truth(self, faults: Iterable[Fault]) -> Truth:
        """Return the truth of the bundle, with its faults in this order."""
        return truth_of(self.files, self._type, [(fault.kind, fault.place, fault.plant) for fault in faults])

    @property
    def risk(self) -> float:
        """The risk of the faults so far."""
        return self.truth(self.faults).reference_risk or 0.0

    @property
    def shown(self) -> float:
        """The risk of the faults so far if those that are quoted were planted."""
        return risk_of([*(fault.plant for fault in self.faults), *self._quoted])

    def plant(self, shape: Shape, constraints: Constraints) -> bool:
        """Plant a fault with its company; return whether the fault has a place."""
        before, planted = self.files, self._placed(shape, constraints)
        if planted is None or not self._take(planted, Fault(shape, planted)):
            return False
        self.families.append(shape.family)
        if self._company is not None and shape.family in HARMLESS_BY_WORDS:
            self._add(self._company.blank, shape.family, planted, fresh=False)
        elif self._company is not None:
            harmless = self._harmless(self._company.harmless, shape.family, planted, fresh=planted.path not in before)
            self._quote(harmless, self.files)
        return True

    def quote(self, shape: Shape, constraints: Constraints) -> bool:
        """Add the harmless form of a fault with the company of one; return whether the fault would have a place."""
        by_words = shape.family in HARMLESS_BY_WORDS
        form = self._company.twins.get(shape.name) if by_words and self._company is not None else shape
        planted = None if form is None else self._placed(form, constraints)
        if planted is None or self._company is None or fault_of(self.files, planted, self.seen):
            return False
        self.families.append(shape.family)
        self._quoted.append(planted)
        before = self.files
        if by_words:
            self._take(planted)
            self._add(self._company.public, shape.family, planted, fresh=False)
        else:
            self._add(self._company.harmless, shape.family, planted, fresh=planted.path not in before)
            self._quote(planted, before)
        return True

    def _placed(self, shape: Shape, constraints: Constraints) -> Plant | None:
        if constraints.severities is not None and shape.severities and not constraints.severities & shape.severities:
            return None
        return shape.plant(self._draws, self.seen, self._type, constraints)

    def _quote(self, planted: Plant | None, before: Files) -> None:
        if planted is None or self._company is None:
            return
        old = Counter(before.get(planted.path, b"").decode().splitlines())
        lines = [line for line in planted.changed[planted.path].decode().splitlines() if not old[line]]
        made = self._company.quote(self._draws, self.seen, planted.path, lines[:_MOST_QUOTED])
        if made is not None:
            self._take(made)

    def _add(self, shapes: Sequence[Shape], family: Family, like: Plant, *, fresh: bool) -> None:
        made = self._harmless(shapes, family, like, fresh=fresh)
        if made is not None:
            self._take(made)

    def _harmless(self, shapes: Sequence[Shape], family: Family, like: Plant, *, fresh: bool) -> Plant | None:
        """Return a harmless addition of a family, in a file such as a fault's if there is one."""
        fitting = [shape for shape in shapes if shape.family == family and self._type in shape.types]
        best = None
        for shape in self._draws.some(fitting, len(fitting), len(fitting)):
            made = shape.plant(self._draws, self.seen, self._type, Constraints(fresh=fresh))
            if made is not None and not fault_of(self.files, made, self.seen):
                best = made
                if _suffix(made) == _suffix(like):
                    break
        return best

    def _take(self, planted: Plant, fault: Fault | None = None) -> bool:
        """Take in a plant; return whether nothing speaks against it."""
        earlier = [_kept(one, self.files, planted.changed) for one in self.faults]
        kept = [one for one in earlier if one is not None]
        if len(kept) < len(earlier) or (fault is not None and fault.place in {one.place for one in kept}):
            return False
        if fault_of(self.files, planted, self.seen):
            return False
        self.files |= planted.changed
        self.seen = readable(self.files)
        self.faults = kept if fault is None else [*kept, fault]
        return True


def _suffix(planted: Plant) -> str:
    return planted.path.rpartition("/")[2].rpartition(".")[2]


def _kept(fault: Fault, files: Files, changed: Mapping[str, bytes]) -> Fault | None:
    """Return the fault with its place after files changed, None if it is not certain where."""
    path, line = fault.plant.path, fault.plant.line
    if path not in changed or line is None:
        return fault
    now = moved(files[path], changed[path], line)
    return None if now is None else fault._replace(plant=fault.plant._replace(line=now))


def _within_bounds(files: Files) -> bool:
    sizes = [len(content) for content in files.values()]
    return (
        len(sizes) <= limits.MAX_BUNDLE_ENTRIES
        and max(sizes, default=0) <= limits.MAX_BUNDLE_FILE
        and sum(sizes) <= limits.MAX_BUNDLE_EXPANDED
    )


def _in_the_way(made: str, files: Files) -> bool:
    return any(path.startswith(f"{made}/") or made.startswith(f"{path}/") for path in files)


def _named(path: str) -> bool:
    try:
        return parse_evidence_ref(path) == EvidenceRef(path)
    except EvidenceRefError:
        return False
