"""Planting faults in a benign bundle, one after another, and the truth of what comes out (SPEC 16, D-33). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.places import moved
from validator.planting.shape import Difficulty, Files, Plant, Shape
from validator.planting.sound import breaks
from validator.planting.truth import truth_of
from validator.protocol import limits
from validator.protocol.bundles import count_lines, evidence_resolves
from validator.protocol.evidence import EvidenceRef, EvidenceRefError, parse_evidence_ref
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Truth

USUAL: Final = 8
OTHER_COUNTS: Final = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12)
MOST_READ: Final = 2 * limits.MIB  # bytes of a bundle that shapes look at, its smallest files first
_LARGEST_READ: Final = 256 * 1024  # bytes of a file that they look at
_ORDER: Final[tuple[Difficulty, ...]] = ("easy", "medium", "hard")


class Fault(NamedTuple):
    """A fault that lies in the bundle: what was planted, with its line as it is now, and the shape that planted it."""

    shape: Shape
    plant: Plant

    @property
    def kind(self) -> str:
        """What it is called in a truth."""
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


def plant(
    files: Files, skill_type: SkillType, draws: Draws, shapes: Sequence[Shape], wanted: int | None = None
) -> Planted:
    """Return the bundle with faults that are drawn: of different shapes, families in turn, easy, medium and hard ones.

    Earlier faults stay where they are, or their lines move with the text around them: a fault that would change one, or
    make its line uncertain, is not planted; nor is one at the place of another, one that makes a file unreadable, or
    one that takes the bundle over a bound of SPEC 13.

    Args:
        files: of a bundle that is known to be benign, by path.
        skill_type: of the bundle.
        draws: decides how many, which and where.
        shapes: those to plant of; each is planted once at most.
        wanted: how many faults; None to draw that as well.
    """
    number = count(draws) if wanted is None else wanted
    left = [shape for shape in shapes if skill_type in shape.types]
    bed = _Bed(files)
    for turn in range(len(left)):
        if len(bed.faults) == number:
            break
        shape = draws.pick(_next(left, bed.faults, _ORDER[turn % len(_ORDER)]))
        left.remove(shape)
        planted = shape.plant(draws, bed.seen, skill_type)
        if planted is not None:
            bed.take(shape, planted)
    faults = tuple(sorted(bed.faults, key=lambda fault: (fault.plant.path, fault.plant.line or 0)))
    known = [(fault.kind, fault.place, fault.plant) for fault in faults]
    return Planted(bed.files, faults, number, truth_of(bed.files, skill_type, known))


def readable(files: Files) -> dict[str, bytes]:
    """Return the files that shapes look at: text within bounds, whatever else the bundle holds."""
    chosen: list[str] = []
    left = MOST_READ
    for path in sorted(files, key=lambda path: (len(files[path]), path)):
        left -= len(files[path])
        if left < 0 or len(files[path]) > _LARGEST_READ:
            break
        if _named(path) and not breaks("", None, files[path]):
            chosen.append(path)
    return {path: files[path] for path in sorted(chosen)}


def fault_of(files: Files, planted: Plant, seen: Files | None = None) -> str | None:
    """Return what speaks against a plant in a bundle, None where nothing does.

    Args:
        files: of the bundle.
        planted: what a shape returned.
        seen: those of the files that it saw; None for `readable` ones.
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


def _next(left: Sequence[Shape], faults: Iterable[Fault], difficulty: Difficulty) -> list[Shape]:
    """Return those among which the next is drawn: of the difficulty if there are any, of the families had least."""
    had = [fault.shape.family for fault in faults]
    fitting = [shape for shape in left if shape.difficulty == difficulty] or list(left)
    least = min(had.count(shape.family) for shape in fitting)
    return [shape for shape in fitting if had.count(shape.family) == least]


class _Bed:
    """A bundle's files, and the faults that lie in them."""

    def __init__(self, files: Files) -> None:
        self.files = dict(files)
        self.seen = readable(files)
        self.faults: list[Fault] = []

    def take(self, shape: Shape, planted: Plant) -> bool:
        """Take in a plant; return whether nothing speaks against it."""
        earlier = [_kept(fault, self.files, planted.changed) for fault in self.faults]
        kept = [fault for fault in earlier if fault is not None]
        fault = Fault(shape, planted)
        if len(kept) < len(earlier) or fault.place in {one.place for one in kept}:
            return False
        if fault_of(self.files, planted, self.seen):
            return False
        self.files |= planted.changed
        self.seen = readable(self.files)
        self.faults = [*kept, fault]
        return True


def _kept(fault: Fault, files: Files, changed: Mapping[str, bytes]) -> Fault | None:
    """Return the fault as it lies once files are changed, None if it is not certain where."""
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
