"""The file of `--miners`: what it may say, and that every fault names its field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localnet.own.miners_file import BEHAVIOURS, Elsewhere, MinersFileError, parse_miners
from localnet.roster import Resident
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType

HOTKEY = "5Ejn58WMSVbzsQCBwHy1tsX1vYem4mpongwiP8D1A6ytmUyv"
MINE = 'url = "http://127.0.0.1:8091"'


def table(*lines: str) -> str:
    return "[[miners]]\n" + "\n".join(lines) + "\n"


def test_behaviours_are_counted_on_and_urls_are_named() -> None:
    text = (
        table('behaviour = "thorough"', "count = 2")
        + table('behaviour = "thorough"', 'types = ["mcp_server"]', "max_concurrent = 3")
        + table('behaviour = "skilled"')
        + table(MINE, f'hotkey = "{HOTKEY}"', 'name = "mine"')
        + table('url = "https://[::1]:9"')
    )
    found = parse_miners(text.encode())
    assert found.residents == (
        Resident("thorough-1", "thorough", skill_types=ASSESSED_TYPES),
        Resident("thorough-2", "thorough", skill_types=ASSESSED_TYPES),
        Resident("thorough-3", "thorough", max_concurrent=3, skill_types=(SkillType.MCP_SERVER,)),
        Resident("skilled-1", "skilled", skill_types=(SkillType.WORKFLOW,)),
    )
    assert found.elsewhere == (
        Elsewhere("mine", "http://127.0.0.1:8091", HOTKEY, "miners[3]"),
        Elsewhere("own-2", "https://[::1]:9", None, "miners[4]"),
    )


@pytest.mark.parametrize("kind", BEHAVIOURS)
def test_every_behaviour_can_be_had(kind: str) -> None:
    assert [one.kind for one in parse_miners(table(f'behaviour = "{kind}"').encode()).residents] == [kind]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Object missing required field `miners`"),
        ("miners = []", "`miners`"),
        ("miner = 1", "unknown field `miner`"),
        (table('behavior = "lazy"'), "unknown field `behavior` - at `miners[0]`"),
        (table(), "name a behaviour or a url - at `miners[0]`"),
        (table('behaviour = "honest"'), "no behaviour `honest`, one of: thorough, "),
        (table('behaviour = "lazy"', "count = 0"), ">= 1 - at `miners[0].count`"),
        (table('behaviour = "lazy"', "count = true"), "- at `miners[0].count`"),
        (table('behaviour = "lazy"', 'count = "3"'), "- at `miners[0].count`"),
        (table('behaviour = "lazy"', 'types = ["wheel"]'), "'wheel' - at `miners[0].types[0]`"),
        (table('behaviour = "lazy"', 'types = ["workflow"]'), "`lazy` plans no workflows - at `miners[0].types`"),
        (table('behaviour = "serial"', 'types = ["declarative"]'), "nothing else - at `miners[0].types`"),
        (table('behaviour = "serial"', "max_concurrent = 2"), "at `miners[0].max_concurrent`"),
        (table('behaviour = "lazy"', 'name = "x"'), "goes with a url only - at `miners[0].name`"),
        (table(MINE, 'behaviour = "lazy"'), "does not go with a url - at `miners[0].behaviour`"),
        (table(MINE, 'hotkey = "5abc"'), "`5abc` is no ss58 address - at `miners[0].hotkey`"),
        (table(MINE, 'name = "lazy-1"') + table('behaviour = "lazy"'), "of the name `lazy-1` - at `miners[0].name`"),
        (table('behaviour = "lazy"', "count = 64") * 4, "more than 200 miners - at `miners[3].count`"),
        ("a = " + "[" * 10_000, "not TOML"),
        ("a = 1" + "0" * 5_000, "not TOML"),
        ("#" * 70_000, "larger than 65536 bytes"),
    ],
)
def test_a_fault_is_one_line_and_names_its_field(text: str, fault: str) -> None:
    with pytest.raises(MinersFileError) as refused:
        parse_miners(text.encode())
    assert fault in refused.value.detail
    assert refused.value.detail.isprintable()


def test_what_is_not_utf8_is_refused() -> None:
    with pytest.raises(MinersFileError, match="not UTF-8"):
        parse_miners(b"\xff")


@given(st.text(st.sampled_from('[]{}"=.,\n\x1bab01u-'), max_size=60))
def test_no_text_brings_it_down(text: str) -> None:
    try:
        parse_miners(text.encode())
    except MinersFileError as refused:
        assert refused.detail.isprintable()
