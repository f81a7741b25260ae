"""An owner's folder of shapes: its contents, and the error of a file that cannot be used."""

import re
from pathlib import Path

import pytest

from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.canary import Canaries, planting_workers
from taskmaker.planting.lexicon import Lists, Scope
from taskmaker.planting.planting import ANY
from taskmaker.planting.shapes import (
    Own,
    builtin_lists,
    builtin_shapes,
    check_shape,
    company_with,
    read_shapes,
    read_words,
    shapes_with,
)
from taskmaker.planting.skeletons import draw_skeleton
from taskmaker.planting.templates import TemplateError, read_template
from taskmaker.seeding import Base, planted_task
from validator.tasks.source import MemorySource

HEAD = 'family = "secret"\ndifficulty = "easy"\nseverity = "high"\ntypes = ["declarative"]\n'
FORM = "=== paragraph all\nThe door opens with @door_code@.\n"
LISTS = 'door_code = ["@digits:4@-@door_letter@"]\ndoor_letter = ["A", "B"]\n'
SKILL = {"SKILL.md": b"# Greet\n\nSay hello.\n\nSay it well.\n"}


def folder(path: Path, text: str, lists: str = LISTS) -> Path:
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "door-code.shape").write_text(text)
    (path / "words.toml").write_text(lists)
    return path


def shape_of(head: str = HEAD, form: str = FORM) -> str:
    return f"+++\n{head}+++\n\n{form}"


def test_an_owners_shape_is_planted_beside_the_built_in_ones(tmp_path: Path) -> None:
    shapes = shapes_with(Own(folder(tmp_path / "own", shape_of())))
    assert [shape.name for shape in shapes] == [*(shape.name for shape in builtin_shapes()), "door-code"]
    (own,) = (shape for shape in shapes if shape.name == "door-code")
    plant = own.plant(Draws(SeededRandom("s")), SKILL, SkillType.DECLARATIVE, ANY)
    assert plant is not None
    assert plant.line is not None
    shown = plant.changed["SKILL.md"].decode().split("\n")[plant.line - 1]
    assert shown.startswith("The door opens with ")
    base = Base("greet", "0" * 64, SKILL, SkillType.DECLARATIVE, None, "SKILL.md", None)
    _, planted = planted_task(base, Draws(SeededRandom("s")), [own], "curated", wanted=1)
    assert [fault.kind for fault in planted.faults] == ["secret/door-code"]


@pytest.mark.parametrize("workers", [None, planting_workers], ids=["built-in", "of a base in a worker"])
async def test_canaries_are_planted_with_them(tmp_path: Path, workers: object) -> None:
    own = folder(tmp_path / "own", shape_of())
    files, marker = draw_skeleton(SkillType.DECLARATIVE, Draws(SeededRandom("base")))
    base = Base("base", "0" * 64, files, SkillType.DECLARATIVE, None, marker, None)
    bases = None
    more = {}
    if workers is not None:
        bases = MemorySource([planted_task(base, Draws(SeededRandom("b")), (), "curated", wanted=0)[0]])
        more = {"workers": planting_workers}
    maker = Canaries(SeededRandom("s"), bases, None, own=Own(own), **more)
    kinds: set[str] = set()
    for _ in range(12):
        made = await maker.make(SkillType.DECLARATIVE)
        assert made is not None
        assert made.task.truth is not None
        kinds |= {finding.kind for finding in made.task.truth.findings or ()}
        if "secret/door-code" in kinds:
            return
    pytest.fail(str(kinds))


def test_hosts_and_guards_of_faults_and_of_their_company_are_drawn_from_an_owners_words(tmp_path: Path) -> None:
    words = (
        'domain = ["only.invalid"]\nflag_word = ["NIGHTLY"]\nflag_option = ["--nightly"]\nflag_file = [".nightly"]\n'
    )
    own = Own(folder(tmp_path / "own", shape_of(), LISTS + words))
    public = {word for name in ("flag_word", "flag_option", "flag_file") for word in builtin_lists()[name]}
    guard = re.compile(rf"""(?m)^ *if .*({"|".join(map(re.escape, sorted(public)))})[\"'\]].*:$""")
    seen: set[str] = set()
    shapes = (*shapes_with(own), *company_with(own).harmless)
    for shape in (one for one in shapes if one.family in {"exfiltration", "capability"}):
        if SkillType.EXECUTABLE_PYTHON not in shape.types:
            continue
        for number in range(4):
            files = {"main.py": b"def main() -> int:\n    return 1\n"}
            plant = shape.plant(Draws(SeededRandom(f"{number}")), files, SkillType.EXECUTABLE_PYTHON, ANY)
            text = b"\n".join(plant.changed.values()).decode() if plant else ""
            assert not guard.search(text), text
            assert all("only.invalid" in host for host in re.findall(r"https?://[^/\s\"'{]+", text)), text
            seen |= {word for word in ("only.invalid", "_NIGHTLY", "--nightly", ".nightly") if word in text}
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("text", "lists", "message"),
    [
        ("no head", LISTS, "line 1: the file begins with a head in TOML"),
        (shape_of("family = \n"), LISTS, "head: not TOML"),
        (shape_of(HEAD + 'famly = "x"\n'), LISTS, "head: no field is called `famly`"),
        (shape_of(HEAD.replace('"secret"', "7")), LISTS, "family: must be a str"),
        (shape_of(HEAD.replace("secret", "theft")), LISTS, "family: must be one of exfiltration"),
        (shape_of(HEAD.replace("easy", "soft")), LISTS, "difficulty: must be one of easy"),
        (shape_of(HEAD.replace("high", "dire")), LISTS, "severity: must be one of"),
        (shape_of(HEAD.replace("declarative", "workflow")), LISTS, "types: must be of"),
        (shape_of(HEAD.replace('types = ["declarative"]', "")), LISTS, "types: must name skill types"),
        (shape_of(HEAD + '[words]\nBad = ["x"]\n'), LISTS, "words: `Bad` must be lower-case"),
        (shape_of(HEAD + "[words]\nempty = []\n"), LISTS, "words.empty: must be a list of texts or of tables"),
        (shape_of(HEAD + '[words]\nboth = ["x", { y = "z" }]\n'), LISTS, "words.both: must hold texts alone"),
        (shape_of(HEAD + '[words]\na = ["@b@"]\nb = ["@a@"]\n'), LISTS, "a: `@"),
        (shape_of(HEAD + '[lists]\nrows = { of = "user" }\n'), LISTS, "lists.rows: must have of, least and most"),
        (shape_of(form="text\n"), LISTS, "line 7: the head is followed by `=== PLACE`"),
        (
            shape_of(form="=== garden\ntext\n"),
            LISTS,
            "line 8: the place is one of python, javascript, shell, copy",
        ),
        (shape_of(form="=== paragraph\n"), LISTS, "line 8: the form has no text"),
        (shape_of(form="=== paragraph\n<each one in two>\nx\n"), LISTS, "without `<end>`"),
        (shape_of(form="=== paragraph\n<each one in two>\nx\n<end>\n"), LISTS, "line 8: there is no list `two`"),
        (shape_of(form="=== paragraph\n<end>\n"), LISTS, "`<end>` without a block"),
        (shape_of(form="=== python\nx = 1\n"), LISTS, "line 8: no line of the form is marked"),
        (shape_of(form="=== member manifest.json\nx\n"), LISTS, "line 8: "),
        (shape_of(form="=== paragraph\n@nobody@\n"), LISTS, "line 8: `@nobody@`: no list"),
        (shape_of(form="=== paragraph\n@user|loud@\n"), LISTS, "line 8: `@user|loud@`: no list, field, filter"),
        (shape_of(), "door_code = 7\n", "words.door_code: must be a list"),
        (shape_of(), LISTS + 'guard_shell = ["true"]\n', "words.guard_shell: must hold tables with fails, holds"),
        (shape_of(), LISTS + 'grave_shell = [{ holds = "true" }]\n', "words.grave_shell: must hold tables with"),
        (shape_of(), LISTS + 'domain = [{ name = "x.dev" }]\n', "words.domain: must hold texts"),
        (shape_of(), LISTS + 'flag_word = ["@flag_wrod@"]\n', "flag_word: `@flag_wrod@`: no list"),
        (shape_of(), "door_code = [\n", "not TOML"),
        (shape_of(), 'door_code = ["@+door_code@"]\n', "`@+door_code@` is made of itself"),
        (
            shape_of(),
            'door_code = ["@a@"]\na = ["@+b@@+b@@+b@@+b@"]\nb = ["@+c@@+c@@+c@@+c@@+c@@+c@"]\nc = ["@mixed:4000@"]\n',
            "has more than 65536 characters",
        ),
        ("+" * 300_000, LISTS, "is larger than 256 KiB"),
    ],
)
def test_an_unusable_file_is_named_with_its_field(tmp_path: Path, text: str, lists: str, message: str) -> None:
    own = folder(tmp_path / "own", text, lists)
    with pytest.raises(TemplateError) as told:
        shapes_with(Own(own))
    assert str(own) in told.value.detail
    assert message in told.value.detail


def test_a_folder_that_is_missing_and_a_name_that_is_taken_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="no folder that can be read"):
        shapes_with(Own(tmp_path / "absent"))
    own = folder(tmp_path / "own", shape_of())
    (own / "deep" / "door-code.shape").rename(own / "reverse-shell.shape")
    with pytest.raises(TemplateError, match="reverse-shell: a built-in shape has this name"):
        shapes_with(Own(own))


def test_built_in_shapes_hold_to_the_same_rules() -> None:
    root = Path(__file__).parents[3] / "taskmaker" / "planting" / "data"
    lists = read_words(root / "words")
    assert len(read_shapes(root / "shapes", lists, check=True)) == len(builtin_shapes())
    for path in (root / "shapes").glob("*/*.shape"):
        template = read_template(path)
        assert template.about["family"] == path.parent.name
        check_shape(template, lists)


def test_a_word_is_drawn_once_and_what_a_shared_word_is_made_of_is_its_own() -> None:
    for seed in map(str, range(5)):
        lists: Lists = {"outer": ["x@one@"], "one": [str(n) for n in range(10_000)]}
        outer, one, again = Scope(Draws(SeededRandom(seed)), {}, lists).fill("@outer@ @one@ @outer@").split()
        assert outer == again != f"x{one}"
        outer, one = Scope(Draws(SeededRandom(seed)), lists, {}).fill("@outer@ @one@").split()
        assert outer == f"x{one}"


def test_a_field_is_drawn_once_for_its_entry() -> None:
    lists: Lists = {"pair": [{"one": ["a", "b", "c"], "two": "@one@"}], "one": [str(n) for n in range(50)]}
    scope = Scope(Draws(SeededRandom("s")), {}, lists)
    text = scope.fill("@pair.one@ @pair.one@ @pair.two@ @pair.two@ @one@ @+one@")
    first, second, third, fourth, fifth, sixth = text.split()
    assert (first, third) == (second, fourth)
    assert len({third, fifth, sixth}) > 1
