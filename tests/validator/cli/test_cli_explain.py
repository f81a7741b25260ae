"""`validator explain`: golden pages, whom one may name, and what cannot be explained."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cli_store import called, started
from explained import ASSORTED_ROUNDS, FAULTS, HOTKEYS
from explained_pages import EXAMPLES, GOLDEN, IN_JSON, golden_json, make_store

from sssa.protocol.signatures import Signer

LAST = str(ASSORTED_ROUNDS - 1)
Configs = Callable[[str], str]


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> Configs:
    folder = tmp_path_factory.mktemp("explained")
    return cache(lambda scenario: str(make_store(scenario, folder)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_pages_read_as_the_golden_files_say(name: str, configs: Configs) -> None:
    scenario, arguments = EXAMPLES[name]
    done = called("explain", *arguments, "--config", configs(scenario))
    assert (done.returncode, done.stderr) == (0, "")
    golden = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert done.stdout == golden, "run: python tests/golden/regenerate_explain.py"


@pytest.mark.parametrize("name", IN_JSON)
def test_documents_are_what_the_golden_files_say(name: str, configs: Configs) -> None:
    scenario, arguments = EXAMPLES[name]
    done = called("explain", *arguments, "--json", "--config", configs(scenario))
    assert (done.returncode, done.stderr) == (0, "")
    golden = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    assert golden_json(done.stdout) == golden, "run: python tests/golden/regenerate_explain.py"


def test_no_golden_page_is_left_over() -> None:
    expected = {f"{name}.txt" for name in EXAMPLES} | {f"{name}.json" for name in IN_JSON}
    assert {path.name for path in GOLDEN.iterdir()} == expected


def test_nothing_of_a_miner_s_reaches_the_terminal_unescaped(configs: Configs) -> None:
    for name in EXAMPLES:  # whose pages are these, as another test says
        text = (GOLDEN / f"{name}.txt").read_bytes().decode()
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text), name
    text = called("explain", HOTKEYS[2], "--round", "0", "--config", configs("assorted"), COLUMNS="120").stdout
    assert r"a.py\u001b[31m %7C [bold]b[/bold]" in " ".join(text.split())


def test_a_page_fits_the_terminal_that_it_is_read_on(configs: Configs) -> None:
    for asked in ((HOTKEYS[5], "--round", LAST), (HOTKEYS[0],)):
        arguments = ("explain", *asked, "--config", configs("assorted"))
        types = json.loads(called(*arguments, "--json").stdout).get("types", ())
        expected = {f"{one['mean_emission']:.4f}" for one in types if one["mean_emission"] is not None}
        for columns in (80, 100, 120):
            text = called(*arguments, COLUMNS=str(columns)).stdout
            assert max(map(len, text.splitlines())) <= columns
            assert expected <= set(text.split())
            assert expected or LAST in asked
        assert max(map(len, called(*arguments, COLUMNS="500").stdout.splitlines())) <= 120


def test_a_uid_of_the_round_and_the_beginning_of_a_hotkey_are_enough(configs: Configs) -> None:
    whole = called("explain", HOTKEYS[7], "--round", LAST, "--config", configs("assorted")).stdout
    for short in ("8", HOTKEYS[7][:6]):
        assert called("explain", short, "--round", LAST, "--config", configs("assorted")).stdout == whole
    miner = called("explain", HOTKEYS[7], "--config", configs("assorted")).stdout
    assert called("explain", "8", "--config", configs("assorted")).stdout == miner


def test_fewer_rounds_of_a_miner_on_request(configs: Configs) -> None:
    done = called("explain", HOTKEYS[0], "--last", "2", "--json", "--config", configs("assorted"))
    found = json.loads(done.stdout)
    assert found["rounds"] == [ASSORTED_ROUNDS - 1, ASSORTED_ROUNDS - 2]
    assert {point["round_id"] for one in found["types"] for point in one["points"]} == set(found["rounds"])


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("1", "--round", "77"), 1, "there is no round 77"),
        (("1", "--round", "9" * 19), 2, "Invalid value for '--round'"),
        (("1", "--round", "-1"), 2, "Invalid value for '--round'"),
        (("1", "--round", "x"), 2, "Invalid value for '--round'"),
        (("-1",), 2, "No such option"),
        (("200", "--round", "3"), 1, "nobody known is `200`"),
        ((Signer.from_uri("//Nobody").hotkey, "--round", "3"), 1, "nobody known"),
        ((Signer.from_uri("//Nobody").hotkey,), 1, "nobody known"),
        (("5", "--round", "3"), 0, ""),  # a uid, although many hotkeys begin like this
        (("5F", "--round", "3"), 2, "names several hotkeys"),
        (("0x12", "--round", "3"), 2, "neither an ss58 address"),
        ((HOTKEYS[0][:-1] + "1", "--round", "3"), 2, "neither an ss58 address"),
        (("\x1b[31m", "--round", "3"), 2, r"\u001b[31m"),
        (("",), 2, "neither an ss58 address"),
        (("7", "5"), 2, "unexpected extra argument(s) (5)"),
        ((), 2, "Missing argument"),
    ],
)
def test_what_cannot_be_explained_is_told_in_a_line(
    arguments: tuple[str, ...], code: int, says: str, configs: Configs
) -> None:
    done = called("explain", *arguments, "--config", configs("assorted"))
    assert done.returncode == code
    assert says in " ".join(done.stderr.split())
    assert (done.stdout == "") == (code != 0)


def test_the_command_as_users_start_it(configs: Configs, tmp_path: Path) -> None:
    done = started(
        "explain", HOTKEYS[7], "--round", LAST, cwd=tmp_path, VALIDATOR_CONFIG=configs("assorted"), NO_COLOR="1"
    )
    assert done.returncode == 0
    assert done.stdout == (GOLDEN / "excluded.txt").read_text(encoding="utf-8")


def test_the_listing_says_who_found_which_known_faults(configs: Configs) -> None:
    done = called("neurons", "faults", "--config", configs("assorted"), COLUMNS="140")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"{HOTKEYS[0]} +(\d+) +(\d+)/(\d+) +75% +\1/\1 +\1/\1 +0/\1 +\1/\1 +0\n", done.stdout)
    assert "of 10 tasks in 5 settled rounds" in done.stdout
    kinds = called("neurons", "faults", "--kinds", "--rounds", "1", "--config", configs("assorted")).stdout
    assert re.search(r"\nsecret/token +0 +(\d+) +0% +0\n(.*\n)*vulnerable_pin/python ", kinds), "hardest first"
    listed = json.loads(called("neurons", "faults", "--json", "--config", configs("assorted")).stdout)
    assert set(listed["kinds"]) == {fault.kind for fault in FAULTS}
    none = called("neurons", "faults", "--config", configs("cohort")).stdout
    assert none.startswith("no task of the last 6 settled rounds says what there is to find")
