"""Bundles with execution marks, for the tests of planting and of the tracer."""

import json

from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.marks import plant_mark
from taskmaker.planting.planting import Files
from taskmaker.planting.skeletons import draw_skeleton

LANGUAGES = ("python", "javascript", "shell")
_COMMON = """"use strict";

const fs = require("fs");

const LIMIT = 12;

function square(number) {
    return number * number;
}

// Prints squares.
function main() {
    for (let i = 0; i < LIMIT; i += 1) {
        console.log(square(i));
    }
}

main();
"""
_MODULE = """import { readFileSync } from 'node:fs'

const limit = 4

export function twice(n) {
  return n * 2
}

function run() {
  const text = readFileSync(process.argv[1], 'utf8')
  console.log(twice(text.length + limit))
}

run()
"""
_JAVASCRIPT = {"main.js": _COMMON, "src/main.mjs": _MODULE, "run.cjs": _COMMON}


def files_in(language: str, seed: str) -> tuple[Files, SkillType]:
    """A drawn bundle whose entry point is in the language."""
    draws = Draws(SeededRandom(seed))
    if language == "javascript":
        kind = draws.pick((SkillType.EXECUTABLE_SCRIPT, SkillType.MCP_SERVER))
        name, code = draws.pick(list(_JAVASCRIPT.items()))
        return {"manifest.json": json.dumps({"entry_point": name}).encode(), name: code.encode()}, kind
    python = draws.pick((SkillType.EXECUTABLE_PYTHON, SkillType.MCP_SERVER))
    kind = SkillType.EXECUTABLE_SCRIPT if language == "shell" else python
    return draw_skeleton(kind, draws)[0], kind


def marked(language: str, seed: str) -> tuple[Files, str, str]:
    """A bundle with a mark: its files, the one that was changed, and the path that a run touches."""
    files, kind = files_in(language, seed)
    planted = plant_mark(files, kind, Draws(SeededRandom(f"mark {seed}")))
    assert planted is not None
    (changed,) = (path for path, content in planted.files.items() if files.get(path) != content)
    return planted.files, changed, planted.path_in(planted.files)
