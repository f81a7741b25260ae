"""Execution marks: only a run shows them, no reading of the source, and nothing that is dispatched (SPEC 15)."""

import ast
import asyncio
import base64
import contextlib
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec
import pytest
from builders import IMAGE, V1
from marked_bundles import LANGUAGES, files_in, marked

from sssa.kinds.assessment.requests import dispatch_bodies
from sssa.protocol.answer import Dispatch
from sssa.protocol.bundles import read_bundle
from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.sources import Draws, SeededRandom
from taskmaker.canary import make_canary
from taskmaker.planting.marks import COMPUTATIONS, _templates, plant_mark
from validator.kinds.assessment.supply import Bundles
from validator.tasks.source import MemorySource, Shuffled

SEEDS = range(100)
RUNTIME = [kind for kind in SkillType if kind is not SkillType.WORKFLOW and is_runtime(kind)]
_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""", re.DOTALL)
_WORD = re.compile(r"[\w./%:-]+")
_FOLDERS = ("/skill", "/tmp", "/home/skill")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_marked_bundle_parses(language: str, tmp_path: Path) -> None:
    commands = {"shell": ["bash", "-n"], "javascript": ["node", "--check"]}
    for seed in SEEDS:
        files, changed, _ = marked(language, f"parses {seed}")
        code = files[changed]
        if language == "python":
            compile(code, changed, "exec")
            continue
        (tmp_path / f"{seed}{PurePosixPath(changed).suffix}").write_bytes(code)
    if language == "shell":
        for path in tmp_path.iterdir():
            subprocess.run([*commands[language], str(path)], check=True)
    if language == "javascript":
        if shutil.which("node") is None:
            pytest.skip("no node here")
        script = (
            "const fs = require('fs'), vm = require('vm');"
            "for (const name of fs.readdirSync('.')) {"
            "  const code = fs.readFileSync(name, 'utf8');"
            "  name.endsWith('.mjs') ? new vm.SourceTextModule(code) : new vm.Script(code, { filename: name });"
            "}"
        )
        subprocess.run(["node", "--no-warnings", "--experimental-vm-modules", "-e", script], cwd=tmp_path, check=True)


def markers_in(path: str, text: str) -> set[str]:
    """Return what a static reader takes from a file: words, literals, and what constant folding makes of them."""
    found = set(_WORD.findall(text)) | {match[2] for match in _STRING.finditer(text)}
    if path.endswith(".py"):
        found |= set(folded(ast.parse(text)))
    lines = [[match[2] for match in _STRING.finditer(line)] + _WORD.findall(line) for line in text.splitlines()]
    for line in lines:
        found |= {"".join(some) for count in (2, 3) for some in itertools.permutations(line[:12], count)}
    return found


def folded(tree: ast.Module) -> Iterator[str]:
    """Yield every expression that constants, and names bound to them once, make up."""
    known = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    class Inline(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            value = known.get(node.id)
            return value if isinstance(value, ast.Constant | ast.Tuple | ast.List) else node

    for node in ast.walk(Inline().visit(tree)):
        if isinstance(node, ast.expr) and not any(isinstance(one, ast.Call | ast.Name) for one in ast.walk(node)):
            with contextlib.suppress(Exception):
                yield str(eval(compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval"), {}))


def invented_from(files: Mapping[str, bytes]) -> set[str]:
    """Return every path that a reader of the source alone could claim: also names of all that it found, anywhere."""
    said = {one for path, content in files.items() for one in markers_in(path, content.decode())}
    names = {PurePosixPath(one).name for one in said if one} | said
    return {f"{folder}/{name}" for folder in _FOLDERS for name in names}


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_only_reads_the_source_finds_no_mark(language: str) -> None:
    found = 0
    for seed in SEEDS[:20]:
        files, _, mark = marked(language, f"read {seed}")
        found += mark in invented_from(files)
    assert found <= 1


def test_a_literal_name_would_be_found() -> None:
    """The reader above is worth something: this one it finds."""
    files = {"main.py": b'STEM = "state"\nopen(STEM + "-" + "%d.json" % 7, "w")\n'}
    assert "/skill/state-7.json" in invented_from(files)


@pytest.mark.parametrize("language", LANGUAGES)
def test_marks_and_bundles_differ_between_seeds_and_follow_from_them(language: str) -> None:
    base = files_in(language, "one")
    made = [plant_mark(*base, Draws(SeededRandom(f"differ {seed}"))) for seed in SEEDS]
    assert len({one.path_in(one.files) for one in made if one}) == len(SEEDS)
    assert len({str(sorted(one.files.items())) for one in made if one}) == len(SEEDS)
    again = plant_mark(*base, Draws(SeededRandom("differ 0")))
    assert again is not None
    assert made[0] is not None
    assert (again.files, again.path_in(again.files)) == (made[0].files, made[0].path_in(made[0].files))


def test_one_pattern_does_not_find_them() -> None:
    """No form of a line is in most marks of a language, unless it is in every other program: `x = (`."""
    for language in LANGUAGES:
        seen: dict[str, int] = {}
        for seed in SEEDS[:60]:
            base, kind = files_in(language, "one")
            planted = plant_mark(base, kind, Draws(SeededRandom(f"pattern {seed}")))
            assert planted is not None
            for path, content in planted.files.items():
                before = set(base.get(path, b"").decode().split("\n"))
                shapes = {re.sub(r"\w+", "w", line) for line in content.decode().split("\n") if line not in before}
                for shape in shapes - {re.sub(r"\w+", "w", line) for line in before}:
                    seen[shape] = seen.get(shape, 0) + (shape.count("w") > 2)
        assert max(seen.values()) <= 60 * 0.6, (language, max(seen, key=lambda one: seen[one]))


@pytest.mark.parametrize("kind", RUNTIME)
def test_the_mark_of_a_canary_is_in_its_truth_and_nowhere_else(kind: SkillType) -> None:
    async def packed(seed: str) -> tuple[AssessmentTask, bytes]:
        made = make_canary(kind, SeededRandom(seed))

        async def canary(skill_type: SkillType) -> object:
            return made if skill_type is kind else None

        supply = Bundles(MemorySource([]), canary, SeededRandom("supply"))  # type: ignore[arg-type]
        for number in range(99):
            for one in await supply.fill(V1.rules, str(number), Shuffled(SeededRandom("o")), b"salt"):
                assert isinstance(one.task, AssessmentTask)
                assert made.nonce is not None
                assert one.task.nonce == made.nonce.hex()
                assert one.bundle is not None
                return one.task, one.bundle
        raise AssertionError

    tasks = [asyncio.run(packed(f"canary {seed}")) for seed in range(6)]
    marks = []
    for task, bundle in tasks:
        assert task.truth is not None
        mark = task.truth.mark
        if not isinstance(mark, str):  # a composition may have no child that is run
            assert kind is SkillType.AGENT_COMPOSITION
            continue
        marks.append(mark)
        name = PurePosixPath(mark).name
        sent = dispatch_bodies("7", IMAGE, task, bundle)
        for body in sent.values():
            dispatch = msgspec.json.decode(body, type=Dispatch)
            files = read_bundle(base64.b64decode(dispatch.bundle))
            shown = [json.dumps(msgspec.to_builtins(msgspec.structs.replace(dispatch, bundle="")))]
            shown += [*files, *(content.decode("utf-8", "replace") for content in files.values())]
            assert not any(name in text for text in shown)
    assert len(set(marks)) == len(marks) >= 4


def test_all_families_are_drawn() -> None:
    assert len(COMPUTATIONS) >= 6
    writes, families = _templates()
    assert families.keys() == COMPUTATIONS.keys()
    for family in families.values():
        assert {form.place for form in family.forms} == {form.place for form in writes.forms} == set(LANGUAGES)


def test_content_types_have_none() -> None:
    for kind in (SkillType.RAG_KNOWLEDGE, SkillType.DECLARATIVE):
        made = make_canary(kind, SeededRandom("content"))
        assert made.task.truth is not None
        assert made.task.truth.mark is msgspec.UNSET
