"""`validator proof`: build and verify, exit codes, no stack traces."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "debate.json"
GOLDEN = Path(__file__).parents[1] / "golden" / "group-proof.json"


def run(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from validator.cli import main; main()", "proof", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert b"Traceback" not in done.stderr
    return done


def test_a_built_proof_verifies_and_a_touched_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    assert run("build", EXAMPLE, "--out", path, "--hotkey-uri", "//Alice").returncode == 0
    good = run("verify", path, "--json")
    hotkey = json.loads(good.stdout)["hotkey"]
    assert good.returncode == 0
    assert run("verify", path, "--hotkey", hotkey).returncode == 0
    path.write_bytes(path.read_bytes().replace(b"In Redis", b"In Rodis"))
    bad = run("verify", path)
    assert bad.returncode == 1
    assert b"checksum" in bad.stderr


def test_an_unsigned_proof_says_so(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_bytes(run("build", EXAMPLE).stdout)
    assert b"not signed" in run("verify", path).stdout


def test_the_report() -> None:
    assert run("build", EXAMPLE, "--format", "markdown").stdout.startswith(b"# Consensus Proof\n")


def test_the_golden_group_proof_verifies() -> None:
    assert run("verify", GOLDEN).returncode == 0


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"debate_version": NaN}'])
def test_other_files_are_bad_input(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    for command in ("build", "verify"):
        done = run(command, path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
