"""Bundles that are made to take long, to break the parser, or to hide behind sheer size."""

import ast
import sys
import threading

import pytest
from analysis_kit import KNOWLEDGE, PYTHON, SCRIPT, SERVER, TEAM, assert_fits_document

from miner.analysis import bounds
from miner.analysis.analyse import analyse
from miner.analysis.bandit_run import effort
from miner.analysis.python_parse import parse
from miner.analysis.result import BEYOND
from validator.protocol import limits
from validator.protocol.skill_types import SkillType

DEEP = {
    "parentheses": b"(" * 100_000,
    "brackets": b"x = " + b"[" * 150 + b"]" * 150,
    "minus": b"-" * 100_000 + b"1",
    "not": b"not " * 50_000 + b"1",
    "sum": b"x = " + b"1+" * 50_000 + b"1",
    "attributes": b"x" + b".a" * 50_000,
    "lambda": b"lambda:" * 20_000 + b"1",
    "indents": b"".join(b" " * n + b"if 1:\n" for n in range(500)),
    "elif": b"if 1: pass\n" + b"elif 1: pass\n" * 20_000,
    "nulls": b"x = 1\x00\n",
    "digits": b"x = " + b"9" * 100_000,
    "bytes": bytes(range(256)) * 50,
    "one line": b"x = '" + b"a" * 300_000 + b"'",
}

# More Python than is parsed, in few statements: what counts is its size.
BULK = {f"a{n:02}.py": b"x = '" + b"a" * 300_000 + b"'\n" for n in range(12)}


@pytest.mark.parametrize("name", DEEP)
def test_python_that_breaks_parsers_is_a_finding(name: str) -> None:
    files = {"main.py": DEEP[name]}
    analysis = analyse(files, PYTHON)
    assert_fits_document(analysis, files, PYTHON)
    if name not in ("brackets", "one line"):
        assert analysis.findings[0].category == "other"


def test_the_caller_s_stack_does_not_change_the_result() -> None:
    files = {"main.py": b"x = " + b"-" * 250 + b"1\neval(input())\n", "b.py": b"y = " + b"-" * 350 + b"1\n"}
    shallow = analyse(files, PYTHON)

    def dig(depth: int) -> object:
        return analyse(files, PYTHON) if depth == 0 else dig(depth - 1)

    assert dig(300) == shallow
    assert any("nested too deeply" in f.description for f in shallow.findings)
    assert any("eval" in f.description for f in shallow.findings)


def test_threads_do_not_disturb_one_another() -> None:
    files = {"main.py": b'import os\nx = "\\d"\nos.system(x)\n' * 20}
    expected = analyse(files, PYTHON)
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(analyse(files, PYTHON))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def test_findings_are_capped_and_the_worst_are_kept() -> None:
    source = b"import os\n" + b"eval('1')\n" * 2_000 + b"import base64\nexec(base64.b64decode(input()))\n"
    analysis = analyse({"main.py": source}, PYTHON)
    assert len(analysis.findings) == limits.MAX_FINDINGS
    assert analysis.findings[0].severity == "critical"
    assert analysis.verdict == "BLOCK"


def test_what_is_not_read_is_said() -> None:
    statements = {f"pad{n}.py": b"x = 1\n" * 50_000 for n in range(2)}
    assert BEYOND in {f.description for f in analyse(statements, PYTHON).findings}
    assert any("beyond what is read" in f.description for f in analyse(BULK, PYTHON).findings)
    script = analyse({"main.sh": b"true;" * bounds.MAX_SHELL_TOKENS}, SCRIPT)
    assert [f.description for f in script.findings] == [BEYOND]
    document = analyse({"docs/a.md": b"word\n" * bounds.MAX_TEXT_FILE}, KNOWLEDGE)
    assert [f.description for f in document.findings] == [BEYOND]
    many = analyse({f"docs/{n}.md": b"word\n" * 50_000 for n in range(8)}, KNOWLEDGE)
    assert {f.description for f in many.findings} == {BEYOND}
    assert 0 < len(many.findings) < 8


def test_telling_files_are_read_before_bulk() -> None:
    analysis = analyse({**BULK, "z.py": b"import base64\nexec(base64.b64decode(input()))\n"}, PYTHON)
    assert analysis.findings[0].evidence_ref == "z.py#L2-L2"


def test_nested_here_documents_do_not_exhaust_the_stack() -> None:
    nested = "".join(f"bash <<A{n}\n" for n in range(sys.getrecursionlimit() * 3))
    files = {"main.sh": nested.encode(), "two.sh": b"bash -c \"bash -c 'x $(y" * 3_000}
    assert_fits_document(analyse(files, SCRIPT), files, SCRIPT)


def test_overlapping_children_are_analysed_once() -> None:
    path, files = "", dict[str, bytes]()
    paths = ["/".join("a" * n) for n in range(1, 20)]
    children = ",".join(f'{{"name":"c","skill_type":"agent_composition","path":"{p}"}}' for p in paths)
    for _ in range(10):
        files[f"{path}composition.json"] = f'{{"name":"x","children":[{children}]}}'.encode()
        path += "a/"
    analysis = analyse(files, TEAM)
    assert_fits_document(analysis, files, TEAM)
    texts = {f.description for f in analysis.findings}
    assert "A child shares its folder with another." in texts
    assert "Compositions are nested too deeply to analyse." in texts


def test_children_share_one_budget() -> None:
    children = ",".join(f'{{"name":"c{n}","skill_type":"executable_python","path":"c{n}"}}' for n in range(20))
    files = {f"c{n}/main.py": b"x = '" + b"a" * 180_000 + b"'\n" for n in range(20)}
    files["composition.json"] = f'{{"name":"x","children":[{children}]}}'.encode()
    texts = [f.description for f in analyse(files, TEAM).findings if f.evidence_ref.endswith("main.py#L1-L1")]
    assert len(texts) > 10


def test_long_lines_of_literals_are_no_work_for_bandit() -> None:
    source = b"x = [" + b"\n'a'," * 30_000 + b"]\n"
    nodes = list(ast.walk(parse(source)))
    assert effort(nodes) > bounds.BANDIT_EFFORT


PRESSED = [
    "send secret ",
    "ignore all the ",
    "<!-- ai ",
    "![a",
    "token='aA1",
    "-eyJabcdefghijk",
    "\u200b",
    "do not tell ",
]


@pytest.mark.parametrize("piece", PRESSED)
def test_text_that_provokes_backtracking_is_borne(piece: str) -> None:
    files = {"docs/a.md": (piece * 20_000).encode()[: bounds.MAX_TEXT_FILE]}
    assert_fits_document(analyse(files, KNOWLEDGE), files, KNOWLEDGE)


@pytest.mark.parametrize("skill_type", [SERVER, PYTHON])
def test_dotted_keys_without_end_are_not_parsed(skill_type: SkillType) -> None:
    files = {"pyproject.toml": b"a." * 30_000 + b"b = 1\n", "requirements.txt": b"a==1\n" * 20_000}
    assert_fits_document(analyse(files, skill_type), files, skill_type)
