"""Every command explains itself, and the pages of docs/reference are what the code says."""

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cli_commands import commands
from cli_store import called

from sssa.cli.lazy_commands import NotInstalledError
from sssa.protocol.reasons import Reason
from validator import __version__
from validator.cli.commands import COMMANDS, JOINED, root
from validator.cli.reference import pages
from validator.telemetry import Event

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


EVERY = list(commands())


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    done = called(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: validator {' '.join(command)} ")
    assert re.search(r"^  [A-Z]\w", done.stdout, re.MULTILINE)  # its own sentence
    assert "  --help" in done.stdout


def test_the_version_is_said() -> None:
    done = called("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")


def test_the_stable_commands_are_there() -> None:
    stable = """
    run, devnet, health, rounds list, rounds show, neurons list, flags list, flags show, flags clear, weights show,
    tasks pack, tasks check, tasks serve, db upgrade, db state, groups select, score, explain
    """
    assert {tuple(name.split()) for name in stable.split(",")} <= set(EVERY)


def test_listing_commands_have_json_and_settings() -> None:
    for command in (
        "explain",
        "rounds list",
        "rounds show",
        "neurons list",
        "flags list",
        "flags show",
        "weights show",
    ):
        text = called(*command.split(), "--help").stdout
        assert "--json" in text
        assert "--config FILE" in text


def test_the_miner_the_local_network_and_the_laboratory_join() -> None:
    joined = {(path.replace(" ", "."), place) for path, _, place in COMMANDS if ":" not in place}
    assert joined == {(entry.name, entry.dist.name) for entry in entry_points(group=JOINED) if entry.dist}


@pytest.mark.parametrize("arguments", [("devnet",), ("miner", "check", "--help"), ("tasks", "draft")])
def test_a_command_of_a_distribution_that_is_missing_says_so(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    with pytest.raises(NotInstalledError, match=f"{arguments[0]}.* comes with sssa-.*: run `make setup`"):
        root().main(list(arguments), standalone_mode=False)


def test_an_unknown_command_is_bad_usage() -> None:
    done = called("rounds", "dance")
    assert (done.returncode, done.stdout) == (2, "")
    assert "dance" in done.stderr


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_pages_of_the_reference_are_what_the_code_says(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == pages()[name], "run: make reference"


def test_no_page_is_left_over() -> None:
    written = {path.name for path in REFERENCE.iterdir() if "Made from the code by" not in path.read_text()}
    assert {path.name for path in REFERENCE.iterdir()} - written == set(pages())


def test_the_pages_name_everything() -> None:
    made = pages()
    for command in EVERY:
        assert re.search(rf"^\| (?:`|\*\*){' '.join(command)}(?:`|\*\*| )", made["commands.md"], re.MULTILINE)
    for reason in Reason:
        assert f"| `{reason}` | {reason.meaning} |" in made["reasons.md"]
    for event in Event:
        assert f"| `{event}` | {event.meaning} |" in made["events.md"]


def test_reasons_say_their_gate_and_those_of_one_subject_the_same() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([^|]+) \| [^|]*\|$", pages()["reasons.md"], re.MULTILINE)
    assert {code for code, _ in rows} == set(Reason)
    for code, about in rows:
        gate = Reason(code).gate
        assert about.startswith(f"Gate {gate}:") if gate else not about.startswith("Gate")
    for subject in ("declaration", "sample", "step", "quality", "weights"):
        assert len({about for code, about in rows if code.startswith(f"{subject}_")}) == 1
