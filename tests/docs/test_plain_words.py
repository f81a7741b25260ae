"""Plain words: names in code, the first word of docstrings, and old forms in pages, docstrings and messages."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT, SPEC

OPENERS = re.compile(r"(What|Whether|Who|Whose|Which|How|Why|Where|Of)\b")
OLD = re.compile(
    r"what (becomes|became|comes|came) of|\b(whoever|likewise|beside|whereof|lest|for good|stands(?! for)|lies)\b"
    r"|(?<!file )\bis there\b"
    r"|\bof (its|their|his|your|our) own\b|\bh(olds?|eld) against|\b(goes|go) on\b",
    re.IGNORECASE,
)
# Words of many meanings: in no name outside tests, and in the tests in no definition but the names of tests.
PART_OF_NAME = re.compile(
    r"(?<![a-z])(told|untold|(?<!not_)found|stands|beside|said|saw|sight|eyes|hindrances?|unfit|noticed|(comes|came)_to)"
    r"(?![a-z])"
)
WHOLE_NAMES = {"asked", "else", "instead", "left", "near", "words"}  # `left` stays next to a `right`
MODULE_NAMES = {
    "abroad",
    "alone",
    "around",
    "base",
    "found",
    "given",
    "going_on",
    "lasting",
    "later",
    "left",
    "made",
    "nearby",
    "parts",
    "put_away",
    "spoken",
    "standing",
    "unbroken",
    "unless",
    "values",
    "within",
    "words",
    "work",
}
SPEC_FIELDS = {"asked", "said"}  # of tallies and statements
VAGUE = re.compile(
    r"\b((un)?told|(comes?|came) to(?! an? (end|stop))|(any|no)body who|hindrances?|sights?|eyes?|saw|said)\b"
    r"|\b(hold|holds|held)\b[^.]{1,40}\bagainst\b",
    re.IGNORECASE,
)
UNCLEAN = {"miner", "tests/miner"}  # names and docstrings are not clean yet
# Names of fields and slots, the bytes of stored proofs, and texts of written bundles, which are data.
EXCEPT = {
    "sssa/protocol/tallies.py": "hits, said, known",
    "taskmaker/planting/documents.py": "`@beside@`",
    "sssa/kinds/assessment/proof.py": "a review before the verdict stands",
    "sssa/proofs/debate.py": "whether the proposal stands",
    "sssa/kinds/assessment/explanation.py": " of its own ",
    "miner/services/actions.py": "how often it stands there",
    "localnet/cli/devnet.py": "urls of your own miners",
    "tests/sssa/proofs/test_holding.py": "of our own debate",
}
HOUSES = {"publisher", "sssa", "taskmaker", "validator"}
DATA = ("miner/bundles/", "tests/taskmaker/planting/styles/", "taskmaker/planting/data/")


@cache
def sources() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split() if not name.startswith(DATA) and (ROOT / name).exists()]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def texts(path: Path) -> tuple[tuple[int, str, bool], ...]:
    """Return line, text and whether it is a docstring, of docstrings and of the program's messages."""
    return tuple(_texts(path))


def _texts(path: Path) -> Iterator[tuple[int, str, bool]]:
    tree = parsed(path)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, kinds) and node.body]
    docs = {id(one.value) for one in first if isinstance(one, ast.Expr)}
    messages = not path.is_relative_to(ROOT / "tests")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docs:
                yield node.lineno, node.value, True
            elif messages and " " in node.value:
                yield node.lineno, node.value, False


def room(path: Path) -> str:
    """Return the folder of a module; of those in `validator` and `tests` with the folder below."""
    folders = path.relative_to(ROOT).parts[:-1]
    depth = 2 if folders[0] in HOUSES else 1
    if folders[0] == "tests":
        depth = 3 if folders[1:2] and folders[1] in HOUSES else 2
    return "/".join(folders[:depth])


def defined_names(tree: ast.Module, *, with_locals: bool) -> Iterator[tuple[int, str]]:
    """Yield line and name of each definition and text like `an_event`, without names of tests and fields of SPEC."""
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    fields = [one.target for node in classes for one in node.body if isinstance(one, ast.AnnAssign)]
    skipped = {id(one) for one in fields if isinstance(one, ast.Name) and one.id in SPEC_FIELDS}
    if not with_locals:
        skipped |= {id(node) for function in functions for node in ast.walk(function) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in skipped:
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if not name.startswith("test_"):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name
            case ast.Constant(value=str(name)) if with_locals and re.fullmatch(r"[a-z]+(_[a-z]+)+", name):
                yield node.lineno, name


def vague_words(path: Path) -> Iterator[str]:
    """Yield each name, docstring and message of a module that uses a word of many meanings."""
    place = path.relative_to(ROOT)
    subject = path.stem.removeprefix("test_")
    if subject in MODULE_NAMES or PART_OF_NAME.search(subject):
        yield f"{place}: the module's name"
    names = list(defined_names(parsed(path), with_locals=place.parts[0] != "tests"))
    paired = {"left"} if any(name == "right" for _, name in names) else set()
    for line, name in names:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
        if PART_OF_NAME.search(words) or words in WHOLE_NAMES - paired:
            yield f"{place}:{line}: the name {name}"
    for line, text, _ in texts(path):
        if vague := VAGUE.search(text.replace(EXCEPT.get(str(place), "\0"), "")):
            yield f"{place}:{line}: {vague[0]}: …{text[max(0, vague.start() - 40) : vague.end() + 30]!r}"


@pytest.mark.parametrize("name", sorted({room(path) for path in sources()} - UNCLEAN))
def test_no_name_docstring_or_message_has_a_word_of_many_meanings(name: str) -> None:
    problems = [problem for path in sources() if room(path) == name for problem in vague_words(path)]
    assert not problems, "\n".join(problems)


def test_no_docstring_begins_with_a_question_word() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:60]}"
        for path in sources()
        for line, text, is_docstring in texts(path)
        if is_docstring and OPENERS.match(text)
    ]
    assert not found, "\n".join(found)


def test_no_docstring_or_message_has_an_old_form() -> None:
    found = []
    for path in sources():
        name = str(path.relative_to(ROOT))
        for line, text, _ in texts(path):
            if old := OLD.search(text.replace(EXCEPT.get(name, "\0"), "")):
                found.append(f"{name}:{line}: {old[0]}: …{text[max(0, old.start() - 40) : old.end() + 30]!r}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")], ids=str)
def test_no_page_has_an_old_form(page: Path) -> None:
    if page == SPEC:
        return  # its sentences are cited, and its decisions stay as they were made
    found = [
        f"{number}: {old[0]}: {line[max(0, old.start() - 40) : old.end() + 30]}"
        for number, line in enumerate(page.read_text().splitlines(), start=1)
        for old in OLD.finditer(line)
    ]
    assert not found, "\n".join(found)


def test_every_exception_is_needed() -> None:
    for name, phrase in EXCEPT.items():
        assert any(phrase in text for _, text, _ in texts(ROOT / name)), name
