"""`validator proof`: build and verify, exit codes, no stack traces."""

import json
import subprocess
from pathlib import Path

import pytest
from cli_store import called, started
from resealed import resealed

from sssa.proofs.builder import ConsensusBuilder
from sssa.proofs.debate import debate_proof, parse_debate
from sssa.proofs.document import document_bytes, proof_document

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "debate.json"
GOLDEN = Path(__file__).parents[2] / "golden" / "group-proof.json"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return called("proof", *map(str, arguments))


def test_a_built_proof_verifies_and_a_touched_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    assert run("build", EXAMPLE, "--out", path, "--hotkey-uri", "//Alice").returncode == 0
    good = run("verify", path, "--json")
    facts = json.loads(good.stdout)
    hotkey = facts["hotkey"]
    assert good.returncode == 0
    assert (facts["agreement_ratio"], facts["has_strong_consensus"]) == (2 / 3, False)
    assert (facts["claims"], facts["claims_agreed"], facts["not_recomputable"], facts["warnings"]) == (2, 2, 0, [])
    assert run("verify", path, "--hotkey", hotkey).returncode == 0
    path.write_bytes(path.read_bytes().replace(b"In Redis", b"In Rodis"))
    bad = started("proof", "verify", str(path))
    assert bad.returncode == 1
    assert "checksum" in bad.stderr


def test_a_proof_that_does_not_follow_from_its_votes_is_refused_by_whomever_it_is_signed(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    proof = debate_proof(parse_debate(EXAMPLE.read_bytes()))
    path.write_bytes(resealed(proof, lambda document: document["supporting_agents"].append("<zed>")))
    done = run("verify", path)
    assert done.returncode == 1
    assert 'supporting_agents[2]: is "<zed>", nothing follows from the votes' in done.stderr


def test_what_cannot_be_recomputed_is_counted_and_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    proof = ConsensusBuilder("d", "t").build("f", 0.9, True, "s")
    path.write_bytes(document_bytes(proof_document(proof)))
    done = run("verify", path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [
        "warnings: 1, of them not recomputable: 1",
        "  confidence: 0.9 was given and cannot be recomputed: the votes give 0.0",
    ]


def test_an_unsigned_proof_says_so(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(run("build", EXAMPLE).stdout)
    assert "not signed" in run("verify", path).stdout


def test_the_report() -> None:
    assert run("build", EXAMPLE, "--format", "markdown").stdout.startswith("# Consensus Proof\n")


def test_the_golden_group_proof_verifies() -> None:
    assert run("verify", GOLDEN).returncode == 0


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"debate_version": NaN}'])
def test_other_files_are_bad_input(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    for command in ("build", "verify"):
        done = run(command, path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
