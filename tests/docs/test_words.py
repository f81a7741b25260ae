"""Plain words: the first word of docstrings, and old forms in pages, docstrings and messages."""

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
# Names of fields and slots, the bytes of stored proofs, and texts of written bundles, which are data.
EXCEPT = {
    "validator/audit/views.py": "beside: findings",
    "validator/kinds/assessment/explain/page.py": "beside: findings",
    "validator/cli/neurons.py": "beside: false alarms",
    "validator/daemon/daemon.py": "`beside` run",
    "validator/planting/documents.py": "`@beside@`",
    "validator/kinds/assessment/proof.py": "a review before the verdict stands",
    "validator/proofs/debate.py": "whether the proposal stands",
    "validator/kinds/assessment/explain/consensus.py": " of its own ",
    "miner/services/actions.py": "how often it stands there",
    "localnet/cli/devnet.py": "urls of your own miners",
    "tests/proofs/test_holding.py": "of our own debate",
}
DATA = ("miner/bundles/", "tests/planting/styles/", "validator/planting/data/")


def sources() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split() if not name.startswith(DATA) and (ROOT / name).exists()]


@cache
def texts(path: Path) -> tuple[tuple[int, str, bool], ...]:
    """Return line, text and whether it is a docstring, of docstrings and of the program's messages."""
    return tuple(_texts(path))


def _texts(path: Path) -> Iterator[tuple[int, str, bool]]:
    tree = ast.parse(path.read_text())
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
