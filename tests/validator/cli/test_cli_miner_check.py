"""`validator miner check` from the command line, where nobody listens: tests/docs has one that does."""

import json
import socket
from collections.abc import Iterator

import pytest
from cli_store import called

from sssa.protocol.signatures import Signer
from validator.daemon.exits import Exit

MINER = Signer.from_uri("//Miner").hotkey


@pytest.fixture
def nobody() -> Iterator[str]:
    """The url of a port that is taken and not listened on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_miner_that_is_not_there_is_one_fault_and_the_exit_code_says_so(nobody: str) -> None:
    done = called("miner", "check", nobody, "--hotkey", MINER)
    assert done.returncode == Exit.NO
    assert done.stderr.startswith("asking as 5Ejn58WMSVbzsQCBwHy1tsX1vYem4mpongwiP8D1A6ytmUyv: the miner must answer")
    assert done.stdout.count("deadline_connect, gate 1 (deadline) [declaration]") == 1
    assert done.stdout.endswith("not passed: 1 fault; 0 of 0 dispatches as a validator wants them\n")


def test_the_report_is_one_document(nobody: str) -> None:
    done = called("miner", "check", nobody, "--hotkey", MINER, "--hotkey-uri", "//Alice", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == Exit.NO
    assert (report["url"], report["hotkey"], report["declared"]) == (nobody, MINER, None)
    assert report["passed"] is False
    assert report["caller"] == Signer.from_uri("//Alice").hotkey
    assert [fault["code"] for fault in report["faults"]] == ["deadline_connect"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("ftp://127.0.0.1", "--hotkey", MINER),
        ("http://127.0.0.1:1", "--hotkey", "nobody"),
        ("http://127.0.0.1:1", "--hotkey", MINER, "--hotkey-uri", "Alice"),
        ("http://127.0.0.1:1", "--hotkey", MINER, "--only", "everything"),
        ("http://127.0.0.1:1",),
    ],
)
def test_what_cannot_be_checked_is_bad_input(arguments: tuple[str, ...]) -> None:
    done = called("miner", "check", *arguments)
    assert done.returncode == Exit.INPUT
    assert done.stdout == ""
