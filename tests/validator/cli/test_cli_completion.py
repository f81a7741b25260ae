"""Typer's completion, over commands that are imported when they are called."""

import pytest
from cli_store import called


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("validator w", ["worker", "waiting", "wallet", "weights"]),
        ("validator rounds ", ["list", "show"]),
        ("validator rounds list --be", ["--before"]),
        ("validator miner ch", ["check"]),
        ("validator tasks dr", ["draft"]),
    ],
)
def test_a_shell_is_offered_what_may_be_next(line: str, offered: list[str]) -> None:
    done = called(_VALIDATOR_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(line.count(" ")))
    assert done.stdout.splitlines() == offered
