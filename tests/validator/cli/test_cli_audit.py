"""`validator audit …` and the stored proofs of `validator proof …`, as a user starts them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from audit_file import forged
from cli_store import Example, called, copied, validator
from msgspec.structs import replace
from recorded import harm, headed

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.receipt import Anchor
from sssa.sources import SystemClock


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, example: Example) -> Path:
    file = tmp_path_factory.mktemp("export") / "log.jsonl"
    done = validator("audit", "export", "--config", str(example.config), "--out", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return file


def test_an_export_verifies_with_nothing_but_the_file(exported: Path) -> None:
    done = validator("audit", "verify", exported.name, cwd=exported.parent)
    assert done.returncode == 0, done.stderr
    assert "holds: log of 5" in done.stdout
    assert "draw pending: 1 rounds" in done.stdout
    found = json.loads(called("audit", "verify", str(exported), "--json").stdout)
    assert (found["ok"], found["first"], found["pending"]) == (True, 0, 1)
    assert f"log of {found['hotkey']}" in done.stdout
    assert found["head"] in done.stdout


def test_standard_output_carries_the_same_bytes(exported: Path, example: Example) -> None:
    done = called("audit", "export", "--config", str(example.config))
    assert done.stdout == exported.read_text()


def test_a_touched_file_names_the_place(exported: Path, tmp_path: Path) -> None:
    touched = tmp_path / "touched.jsonl"
    lines = exported.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"primaries", b"Primaries", 1)
    touched.write_bytes(b"".join(lines))
    done = called("audit", "verify", str(touched))
    assert done.returncode == 1
    assert "line 4, plan of round 0: was changed" in done.stdout
    fault = json.loads(called("audit", "verify", str(touched), "--json").stdout)["fault"]
    assert (fault["line"], fault["kind"], fault["round_id"]) == (4, "plan", "0")


def test_a_file_that_was_cut_does_not_reach_the_digest_of_the_receipt_that_is_gone(
    exported: Path, example: Example, tmp_path: Path
) -> None:
    whole = exported.read_bytes().splitlines(keepends=True)
    head = json.loads(called("audit", "verify", str(exported), "--json").stdout)["head"]
    done = called("audit", "verify", str(exported), "--against", head.upper())
    assert (done.returncode, f"reaches {head}: receipt" in done.stdout) == (0, True)
    document = json.loads(called("audit", "verify", str(exported), "--against", head, "--json").stdout)
    assert (document["ok"], document["against"]["reached"], document["against"]["sequence"]) == (
        True,
        True,
        document["last"],
    )
    assert json.loads(whole[document["against"]["line"] - 1])["receipt"]["sequence"] == document["last"]
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(whole[0])
    assert called("audit", "verify", str(cut)).returncode == 0  # nothing in it says that something is missing
    done = called("audit", "verify", str(cut), "--against", head)
    assert (done.returncode, f"does NOT reach {head}" in done.stdout) == (1, True)
    document = json.loads(called("audit", "verify", str(cut), "--against", head, "--json").stdout)
    assert (document["ok"], document["against"]["reached"]) == (False, False)
    part = tmp_path / "part.jsonl"
    called("audit", "export", "--config", str(example.config), "--since", "0", "--out", str(part))
    opening = hashlib.sha256(whole[0][:-1]).hexdigest()
    document = json.loads(called("audit", "verify", str(part), "--against", opening, "--json").stdout)
    assert (document["ok"], document["against"]["sequence"], document["against"]["line"]) == (True, 0, None)
    assert called("audit", "verify", str(exported), "--against", "abc").returncode == 2


def test_a_file_is_held_to_what_its_owner_anchored_on_chain(exported: Path, tmp_path: Path) -> None:
    document = json.loads(called("audit", "verify", str(exported), "--json").stdout)
    owner, first = document["hotkey"], hashlib.sha256(exported.read_bytes().splitlines()[0]).hexdigest()
    assert document["anchor"] is None
    rules = SubnetRules(seed="a", genesis=0, netuid=7)
    subnet = SimulatedSubnet.create(rules, SystemClock(), tmp_path / "chain.json")
    subnet.register(owner)
    config = tmp_path / "reader.toml"  # no wallet, no store: a reader's
    config.write_text(f'[validator]\nnetuid = 7\n[chain]\nkind = "simulated"\nstate = "{tmp_path}/chain.json"\n')

    def verified_on_chain(content: bytes | None) -> tuple[int, dict[str, Any], str]:
        if content is not None:
            subnet.submit_commitment(owner, content, delay=0, valid_blocks=4)
        where = ("audit", "verify", str(exported), "--chain", "--config", str(config))
        done, plain = called(*where, "--json"), called(*where)
        assert done.returncode == plain.returncode
        return done.returncode, json.loads(done.stdout)["anchor"], plain.stdout

    code, anchor, text = verified_on_chain(None)
    assert (code, anchor["block"]) == (0, None)
    assert "no confirmed vector to compare with the chain" in text
    assert f"NOT anchored: {owner} has committed to nothing on subnet 7" in text
    code, anchor, text = verified_on_chain(b"https://example.org")
    assert (code, "is no anchor of a log" in text) == (0, True)
    for sequence, digest in ((0, first), (document["last"], document["head"])):
        code, anchor, text = verified_on_chain(Anchor(sequence, digest).content())
        assert (code, anchor["reached"], anchor["sequence"]) == (0, True, sequence)
        assert f"anchored at block {anchor['block']}: reaches {digest}: receipt {sequence}" in text
    code, anchor, text = verified_on_chain(Anchor(9, "cd" * 32).content())
    assert (code, anchor["reached"], anchor["digest"]) == (1, False, "cd" * 32)
    assert "does NOT reach" in text
    other = tmp_path / "other.jsonl"
    other.write_bytes(exported.read_bytes().replace(f'hotkey":"{owner}'.encode(), b'hotkey":"' + b"x" * 30))
    done = called("audit", "verify", str(other), "--chain", "--config", str(config))
    assert (done.returncode, "line 1, receipt" in done.stdout) == (1, True)


def test_a_row_that_the_file_does_not_tell_is_a_no(exported: Path, tmp_path: Path) -> None:
    row = tmp_path / "row.json"
    row.write_text('{"netuid": 7, "mechid": 0, "uid": 0, "block": 9, "row": [[1, 65535]]}')
    done = called("audit", "verify", str(exported), "--rows", str(row))
    assert (done.returncode, "the row on chain is NOT that of the newest confirmed vector" in done.stdout) == (1, True)
    document = json.loads(called("audit", "verify", str(exported), "--rows", str(row), "--json").stdout)
    assert (document["ok"], document["rows"][0]["equal"]) == (False, False)


def test_what_is_no_log_and_what_is_not_there_is_bad_input(tmp_path: Path, example: Example) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}\n")
    done = called("audit", "verify", str(other))
    assert (done.returncode, "Not an audit file" in done.stderr) == (2, True)
    assert called("audit", "verify", str(tmp_path / "none")).returncode == 2
    assert called("audit", "verify", str(other), "--hotkey", "nobody").returncode == 2
    done = called("audit", "export", "--config", str(example.config), "--since", "9", "--out", str(tmp_path / "x"))
    assert (done.returncode, "round 9 has no receipt" in done.stderr) == (1, True)


def test_a_stored_proof_is_shown_exported_and_verified(exported: Path, example: Example, tmp_path: Path) -> None:
    receipt = json.loads(exported.read_bytes().splitlines()[1])["receipt"]
    note = receipt["round"]["lines"]["proofs"][0]
    page = validator("proof", "show", note["task_id"], "--config", str(example.config))
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith(f"task {note['task_id']}, round 0; digest ")
    assert "# Consensus Proof" in page.stdout
    file = tmp_path / "proof.json"
    where = ("--config", str(example.config), "--out", str(file))
    assert called("proof", "export", note["task_id"], *where).returncode == 0
    document = json.loads(called("proof", "verify", str(file), "--json").stdout)
    assert (document["checksum"], document["hotkey"]) == (note["checksum"], receipt["validator_hotkey"])
    done = called("proof", "export", note["task_id"], "--format", "markdown", "--config", str(example.config))
    assert done.stdout.startswith("# Consensus Proof")
    done = called("proof", "show", "none", "--config", str(example.config))
    assert (done.returncode, "there is no proof of a task none" in done.stderr) == (1, True)


def test_an_export_of_a_damaged_store_names_the_round_and_leaves_no_file(example: Example, tmp_path: Path) -> None:
    own = copied(example, tmp_path)
    harm(own.database, headed(plan=b"{}"))
    file = tmp_path / "log.jsonl"
    done = called("audit", "export", "--config", str(own.config), "--out", str(file))
    assert done.returncode == 3
    assert "round 0: the stored plan is not what its receipt was written for" in done.stderr
    assert list(tmp_path.glob("log*")) == []


def test_two_exports_are_compared(exported: Path, example: Example, tmp_path: Path) -> None:
    part = tmp_path / "part.jsonl"
    assert (
        called("audit", "export", "--config", str(example.config), "--since", "0", "--out", str(part)).returncode == 0
    )
    done = called("audit", "verify", str(exported), "--compare", str(part))
    assert done.returncode == 0
    assert done.stdout.startswith("holds: log of 5")
    assert "\none history, to the same end: log of 5" in done.stdout
    first = tmp_path / "first.jsonl"
    first.write_bytes(exported.read_bytes().splitlines(keepends=True)[0])
    done = called("audit", "verify", str(first), "--compare", str(exported))
    assert (done.returncode, f"{exported} continues where the other one ends" in done.stdout) == (0, True)
    other = tmp_path / "other.jsonl"
    other.write_bytes(forged(exported.read_bytes(), 1, lambda one: replace(one, issued_at="2031-01-01T00:00:00Z")))
    done = called("audit", "verify", str(part), "--compare", str(other), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["compared"]["one_history"]) == (1, False, False)
    found = found["compared"]
    assert (found["relation"], found["common"], found["file"]) == ("forked", 0, str(other))
    assert (found["a"]["last"]["round_id"], found["b"]["last"]["issued_at"]) == ("0", "2031-01-01T00:00:00Z")
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(exported.read_bytes()[:-1])
    done = called("audit", "verify", str(exported), "--compare", str(damaged))
    assert (done.returncode, done.stdout.startswith(f"{damaged}: The audit file does not hold: line ")) == (1, True)
    damaged.write_text("{}\n")
    assert called("audit", "verify", str(exported), "--compare", str(damaged)).returncode == 2
