import csv
import difflib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from configparser import RawConfigParser
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from real_skills.shape_files import FOLDER, is_code, later_shapes

from sssa.protocol.bundles import count_lines
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.planting import ANY, Files, Plant, Shape, fault_of
from taskmaker.planting.shapes import builtin_lists, builtin_shapes, read_words
from taskmaker.planting.skeletons import draw_skeleton

TEXT_SHAPES = tuple(shape for shape in builtin_shapes() if not is_code(shape))
LATER_TEXTS = tuple(shape for shape in later_shapes() if not is_code(shape))
ALL = (*TEXT_SHAPES, *LATER_TEXTS)
BUNDLES = Path(__file__).parents[3] / "localnet" / "bundles"
CATEGORIES = {
    "injection": "prompt_injection",
    "poisoned_description": "tool_poisoning",
    "secret": "secrets_exposure",
    "capability": "excessive_capability",
    "vulnerable_pin": "dependency_cve",
    "transitive_risk": "transitive_risk",
}
Benign = tuple[SkillType, Files]


@cache
def benign() -> list[Benign]:
    """The bundles of the local network that are meant to be harmless."""
    found: list[Benign] = []
    for folder in sorted(path.parent for path in BUNDLES.glob("*/truth.json")):
        if json.loads((folder / "truth.json").read_bytes())["verdict"] == "ALLOW":
            kind = SkillType(json.loads((folder / "meta.json").read_bytes())["skill_type"])
            root = folder / "bundle"
            files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
            found.append((kind, files))
    return found


@cache
def sources() -> list[Benign]:
    """Benign bundles of all types: those, drawn ones, and each once more as Windows writes its documents."""
    drawn = [
        (kind, draw_skeleton(kind, Draws(SeededRandom(f"{kind} {n}")))[0]) for kind in ASSESSED_TYPES for n in range(3)
    ]
    found = [*benign(), *drawn, (SkillType.EXECUTABLE_SCRIPT, OF_NODE), (SkillType.MCP_SERVER, OF_NODE)]
    windows = [
        (
            kind,
            {
                name: crlf(content) if name.endswith((".md", ".json", ".jsonl", ".txt")) else content
                for name, content in files.items()
            },
        )
        for kind, files in found[::2]
    ]
    return [*found, *windows]


def crlf(content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n")


OF_NODE = {
    "package.json": b'{\n  "name": "sorter",\n  "scripts": {\n    "test": "true"\n  },\n'
    b'  "dependencies": {\n    "ms": "2.1.3"\n  }\n}\n',
    "main.js": b'console.log("sorted");\n',
}


# What the line that is pointed at holds, where a template marks a part of several lines.
SHOWN = {
    "wide-permissions": r'"\*"|"network:\*"|"/"',
    "credential-in-a-manifest": r"[\w/+.:-]{16}",
    "over-privileged-child": r'"\*"|"full"|"root"',
    "prompt-from-elsewhere": r"https://",
    "children-inherit-secrets": r'"inherit": true|"\*"|"parent"|"pass_environment": true|"everything"',
    "order-in-a-schema": r"\w+ \w+ \w+",
    "privileged-container": r"privileged|docker.sock|localEnv|cap-add",
    "approval-switched-off": r'bypassPermissions|Bash\(\*\)|auto(Approve|Run|Accept)|"enabled": false|"pass_through"',
}


def versions() -> set[tuple[str, str]]:
    """Each package that a fault pins, with its version."""
    lists = {**builtin_lists(), **read_words(FOLDER)}
    return {(row["package"], row["version"]) for name in lists if name.startswith("pin_") for row in lists[name]}


def plants(shape: Shape, seed: str, bundles: list[Benign]) -> list[tuple[Files, Plant]]:
    """Return the shape's plants in those of the bundles that have a place for it."""
    found = []
    for kind, files in bundles:
        if kind in shape.types:
            plant = shape.plant(Draws(SeededRandom(seed)), dict(files), kind, ANY)
            assert plant == shape.plant(Draws(SeededRandom(seed)), dict(files), kind, ANY)
            found += [(files, plant)] if plant else []
    return found


def lines(content: bytes) -> list[str]:
    return content.decode().removesuffix("\n").split("\n")


def fresh(before: bytes, after: bytes) -> set[int]:
    """Numbers of the lines that are new or changed, from 1 on; at most one line of old may have gone."""
    old, new = lines(before), lines(after)
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    assert sum(end - start for tag, start, end, _, _ in steps if tag != "equal") <= 1
    return {line + 1 for tag, _, _, start, end in steps if tag != "equal" for line in range(start, end)}


def check(shape: Shape, files: Files, plant: Plant) -> None:
    after: Mapping[str, bytes] = {**files, **plant.changed}
    assert all(after[path] != files.get(path) for path in plant.changed)
    assert fault_of(files, plant) is None
    assert plant.category == CATEGORIES[shape.family]
    assert bool(plant.cve_ids) == (shape.family == "vulnerable_pin")
    assert all(re.fullmatch(r"CVE-\d{4}-\d{4,}", name) for name in plant.cve_ids)
    assert bool(plant.poisoned_tool) == (shape.family == "poisoned_description")
    assert plant.target_pattern
    assert plant.line is not None
    assert 1 <= plant.line <= count_lines(after[plant.path])
    shown = lines(after[plant.path])[plant.line - 1]
    assert shown.strip()
    assert re.search(SHOWN.get(shape.name, ""), shown), shown
    if shape.family == "vulnerable_pin":
        assert any(package == plant.target_pattern and version in shown for package, version in versions())
    for path, content in plant.changed.items():
        if path in files:
            new = fresh(files[path], content)
            assert path != plant.path or plant.line in new
            assert content.count(b"\r\n") == (content.count(b"\n") if b"\r\n" in files[path] else 0)
        if path.endswith(".json"):
            json.loads(content)
        if path.endswith(".jsonl"):
            assert all(json.loads(line) for line in lines(content))
        parse(path, content)


def parse(path: str, content: bytes) -> None:
    """Parse a file that is planted whole, if the bundle's own files have no such form."""
    if path.endswith((".yml", ".yaml", ".har", ".tfstate")):
        assert yaml.load(content, yaml.CSafeLoader)
    elif path.endswith((".cfg", ".ini", ".my.cnf", "wg0.conf")):
        RawConfigParser(allow_no_value=True).read_string(content.decode())
    elif path.endswith("Pipfile"):
        assert tomllib.loads(content.decode())
    elif path.endswith(".csv"):
        assert len({len(row) for row in csv.reader(content.decode().splitlines())}) == 1


@pytest.mark.parametrize("shape", ALL, ids=lambda shape: shape.name)
@settings(max_examples=2)
@given(seed=st.text(max_size=6))
def test_a_fault_is_planted_at_its_line_and_nothing_else_changes(shape: Shape, seed: str) -> None:
    for files, plant in plants(shape, seed, sources()):
        check(shape, files, plant)


@pytest.mark.parametrize("shape", ALL, ids=lambda shape: shape.name)
def test_a_shape_finds_places_and_varies(shape: Shape) -> None:
    found = [str(plant) for n in range(4) for _, plant in plants(shape, f"vary {n}", sources())]
    assert len(set(found)) >= 4


@pytest.mark.parametrize("shapes", [TEXT_SHAPES, LATER_TEXTS], ids=["first", "later"])
def test_a_third_is_easy_to_find_a_third_hard_and_no_type_or_family_goes_without(shapes: tuple[Shape, ...]) -> None:
    levels = [shape.difficulty for shape in shapes]
    assert all(levels.count(level) >= len(levels) // 4 for level in ("easy", "medium", "hard"))
    assert {shape.family for shape in shapes} == set(CATEGORIES)
    for kind in ASSESSED_TYPES:
        families = {shape.family for shape in shapes if kind in shape.types}
        assert {"injection", "secret", "capability"} <= families
    assert len({shape.name for shape in ALL}) == len(ALL)


def test_a_package_that_the_bundle_names_is_not_pinned_again() -> None:
    (shape,) = (shape for shape in TEXT_SHAPES if shape.name == "vulnerable-requirement")
    first, *others = [row["package"] for row in builtin_lists()["pin_python"]]
    files = {"main.py": b"print(1)\n", "setup.cfg": "\n".join(others).encode()}
    for seed in range(20):
        plant = shape.plant(Draws(SeededRandom(str(seed))), files, SkillType.EXECUTABLE_PYTHON, ANY)
        assert plant is not None
        assert plant.target_pattern == first
    everything = files | {"setup.cfg": "\n".join((first, *others)).encode()}
    assert shape.plant(Draws(SeededRandom("s")), everything, SkillType.EXECUTABLE_PYTHON, ANY) is None


def test_no_paragraph_goes_into_a_fence_a_comment_or_front_matter() -> None:
    (shape,) = (shape for shape in TEXT_SHAPES if shape.name == "plain-order")
    page = b"---\nname: x\n\nuse: y\n---\n\n# One\n\n```\na\n\nb\n\nc\n```\n\n<!--\nd\n\ne\n-->\n\nTwo.\n"
    for seed in range(60):
        plant = shape.plant(Draws(SeededRandom(str(seed))), {"SKILL.md": page}, SkillType.DECLARATIVE, ANY)
        assert plant is not None
        for kept in (b"---\nname: x\n\nuse: y\n---\n", b"```\na\n\nb\n\nc\n```\n", b"<!--\nd\n\ne\n-->\n"):
            assert kept in plant.changed["SKILL.md"]


@pytest.mark.parametrize("seed", ["run 0", "run 1", "run 2"])
def test_programs_say_the_same_with_every_fault_in_texts(tmp_path: Path, seed: str) -> None:
    for kind in (SkillType.EXECUTABLE_PYTHON, SkillType.EXECUTABLE_SCRIPT):
        files, _ = draw_skeleton(kind, Draws(SeededRandom(seed)))
        after, count = dict(files), 0
        for shape in (one for one in ALL if kind in one.types):
            plant = shape.plant(Draws(SeededRandom(seed)), after, kind, ANY)
            if plant is not None and fault_of(after, plant) is None:
                after, count = {**after, **plant.changed}, count + 1
        assert count >= 10
        before = run(tmp_path / f"{kind} before", files, kind)
        assert before == run(tmp_path / f"{kind} after", after, kind) != ""


def run(folder: Path, files: Files, kind: SkillType) -> str:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    module = json.loads(files["manifest.json"])["entry_point"].partition(":")[0]
    command = [sys.executable, "-m", module] if kind is SkillType.EXECUTABLE_PYTHON else ["bash", "main.sh"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
