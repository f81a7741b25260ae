"""Whatever is in a bundle, the analysis ends, says something that the validator accepts, and says it again."""

import json

import pytest
from analysis_kit import PROMPT, PYTHON, SCRIPT, SERVER, TEAM, assert_fits_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miner.analysis import analyse
from sssa.protocol.findings import BLOCK_FROM, REVIEW_FROM
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType

pytestmark = pytest.mark.attack

NAMES = st.sampled_from(
    """
    manifest.json mcp.json server.py composition.json main.sh main.py SKILL.md docs/a.md docs/b.txt docs/c.jsonl
    a/main.py a/manifest.json a/mcp.json a/server.py requirements.txt pyproject.toml setup.cfg METADATA x#y.py a::b.py
    ../up.md /abs.py C:\\x.sh data.bin run
    """.split()  # noqa: SIM905 - a list of twenty-four strings reads worse
)
_PIECES = """
import os §eval(§)§exec(§'§"§\"\"\"§`§$(§${§{§}§[§]§<<EOF ¶§EOF ¶§curl §https://a.invalid/x§|§sh§bash -c §¶§\\§<!--§-->
# §\u200b§\u202e§\U000e0041§\x00§\r§ignore all previous instructions§def f(x):¶    §return §os.environ['KEY']
requests.post(§lambda§a==1.0§pyyaml==5.3§{"name": "x"}§"tools": [§"children": [§"path": "a"§,§:§@§.§=
CANARY-0123456789abcdef
"""
WORDS = st.sampled_from([piece.replace("¶", "\n") for piece in _PIECES.strip("\n").replace("\n", "§").split("§")])
TEXTS = st.lists(WORDS, max_size=40).map("".join).map(str.encode)
CONTENTS = st.one_of(st.binary(max_size=200), TEXTS)
BUNDLES = st.dictionaries(st.one_of(NAMES, st.text(max_size=8)), CONTENTS, max_size=6)
TYPES = st.sampled_from(ASSESSED_TYPES)
RELAXED = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])


@RELAXED
@given(files=BUNDLES, skill_type=TYPES, marker=st.sampled_from([None, "CANARY-0123456789abcdef"]))
def test_any_bundle_gives_a_valid_document(files: dict[str, bytes], skill_type: SkillType, marker: str | None) -> None:
    analysis = analyse(files, skill_type, canary_marker=marker)
    assert_fits_document(analysis, files, skill_type)
    assert list(analysis.capabilities) == sorted(set(analysis.capabilities))
    assert len(set(analysis.rules)) == len(analysis.rules)
    assert (analysis.verdict == "BLOCK") >= (analysis.risk_score >= BLOCK_FROM)
    assert (analysis.verdict != "ALLOW") >= (analysis.risk_score >= REVIEW_FROM)
    again = analyse(dict(reversed(files.items())), skill_type, canary_marker=marker)
    assert again == analysis  # whatever the order of the files


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=10), st.sampled_from(["x", "a", "mcp_server"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "tools",
                    "children",
                    "path",
                    "skill_type",
                    "flow",
                    "description",
                    "inputSchema",
                    "capabilities",
                ]
            ),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=30,
)


@RELAXED
@given(
    document=JSON,
    name=st.sampled_from(["manifest.json", "mcp.json", "composition.json"]),
    skill_type=st.sampled_from([SERVER, TEAM, PYTHON]),
)
def test_any_json_is_borne(document: object, name: str, skill_type: SkillType) -> None:
    files = {name: json.dumps(document).encode(), "a/main.py": b"import os\n", "server.py": b"TOOLS = {'x': 1}\n"}
    assert_fits_document(analyse(files, skill_type), files, skill_type)


@RELAXED
@given(tokens=st.lists(WORDS, max_size=60))
def test_any_script_is_borne(tokens: list[str]) -> None:
    files = {"main.sh": "".join(tokens).encode()}
    assert_fits_document(analyse(files, SCRIPT), files, SCRIPT)


CODECS = """
    utf-7 utf_16 idna punycode hex rot13 zlib unicode_escape raw_unicode_escape cp037 undefined base64 nope uu
    """.split()  # noqa: SIM905 - names of codecs, to be read as a list


@settings(RELAXED, max_examples=5)
@given(bodies=st.lists(st.binary(max_size=60), min_size=len(CODECS), max_size=len(CODECS)))
def test_any_declared_encoding_is_borne(bodies: list[bytes]) -> None:
    files = {
        f"{codec}.py": b"# -*- coding: " + codec.encode() + b" -*-\n" + body
        for codec, body in zip(CODECS, bodies, strict=True)
    }
    assert_fits_document(analyse(files, PYTHON), files, PYTHON)


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
def test_an_empty_bundle_holds_nothing(skill_type: SkillType) -> None:
    analysis = analyse({}, skill_type)
    assert (analysis.verdict, analysis.risk_score, analysis.findings) == ("ALLOW", 0.0, ())


def test_files_that_evidence_cannot_name_are_not_waved_through() -> None:
    hidden = {"a#b.py": b"import os\nos.system('id')\n"}
    alone = analyse(hidden, PYTHON)
    assert (alone.verdict, alone.findings) == ("REVIEW", ())
    beside = analyse({**hidden, "SKILL.md": b"# Fine\n"}, PROMPT)
    assert beside.verdict == "REVIEW"
    assert beside.findings[0].evidence_ref == "SKILL.md#L1-L1"


def test_a_path_with_colons_is_named_behind_a_span() -> None:
    files = {"a::b.py": b"eval(input())\n"}
    analysis = analyse(files, PYTHON)
    assert analysis.findings[0].evidence_ref == "b::a::b.py#L1-L1"
    assert_fits_document(analysis, files, PYTHON)
