"""Twice a document costs at most 2.5 times as much to plant in, whatever it is full of."""

from typing import Final

import pytest
from linear import assert_linear

from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.planting import ANY
from taskmaker.planting.shapes import builtin_shapes

pytestmark = pytest.mark.attack

RAG: Final = SkillType.RAG_KNOWLEDGE
PLANTED: Final = [shape for shape in builtin_shapes() if RAG in shape.types]
FULL_OF: Final = {
    "spaces": b" ",
    "tabs": b"\t",
    "dividers": b"|---",
    "colons": b":",
    "fences": b"```\n",
    "comments": b"<!--",
    "tools": b'.tool("a",{ ',
}


@pytest.mark.parametrize("unit", FULL_OF)
def test_planting_takes_linear_time(unit: str) -> None:
    def run(data: bytes) -> None:
        files = {"docs/a.md": data, "README.md": b"# A skill\n\nIt sorts mail.\n"}
        for shape in PLANTED:
            shape.plant(Draws(SeededRandom("s")), files, RAG, ANY)

    assert_linear(run, lambda size: (FULL_OF[unit] * size)[:size], 8 * 1024)
