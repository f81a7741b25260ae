"""All shapes together, in drawn bundles of all types: every fault is still on its line when the last one is planted."""

import pytest

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.planting import Constraints, Files, Plant, Shape, plant
from taskmaker.planting.shapes import builtin_shapes
from taskmaker.planting.skeletons import draw_skeleton

MOST = 12


def noting(shape: Shape, lines: dict[str, bytes | None]) -> Shape:
    """The same shape; what stood on its line is noted when it is planted."""

    def planted(draws: Draws, files: Files, skill_type: SkillType, constraints: Constraints) -> Plant | None:
        found = shape.plant(draws, files, skill_type, constraints)
        if found is not None:
            lines[shape.name] = line_of(found.changed, found)
        return found

    return shape._replace(plant=planted)


def line_of(files: Files, planted: Plant) -> bytes | None:
    if planted.line is None:
        return None
    return files[planted.path].split(b"\n")[planted.line - 1].rstrip().removesuffix(b",")


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
def test_every_fault_is_found_on_its_line_in_the_end(skill_type: SkillType) -> None:
    for number in range(8):
        draws = Draws(SeededRandom(f"{skill_type} {number}"))
        files, _ = draw_skeleton(skill_type, draws)
        lines: dict[str, bytes | None] = {}
        made = plant(files, skill_type, draws, [noting(shape, lines) for shape in builtin_shapes()], MOST)
        assert len(made.faults) >= 7
        assert len({fault.place for fault in made.faults}) == len(made.faults)
        for fault in made.faults:
            assert line_of(made.files, fault.plant) == lines[fault.shape.name], (fault.kind, fault.place)
            assert fault.plant.line is None or lines[fault.shape.name]
        assert files.keys() <= made.files.keys()
