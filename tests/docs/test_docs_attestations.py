"""docs/attestations.md: a stranger follows the page, on a validator that serves its attestations."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from attested import BUNDLE, SETTINGS, play, play_submitted
from builders import FILES
from cli_store import PROGRAM, called, environment
from doc_pages import DOCS, ROOT
from shell_kit import commands
from world import few_tasks

from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex

PAGE = "docs/attestations.md"
EXAMPLES = DOCS / "examples" / "attestations"
ADDRESS = "127.0.0.1:9339"
SERVE = """
[web]
api = true
port = 0
public = ["attestations"]
submit_token = "5b1e-77c0-4d2f-9a63"
[log]
format = "json"
"""
TRIES = 1_000
TOKEN = "5b1e-77c0-4d2f-9a63"
SKILL = pack({**FILES, "SKILL.md": b"---\nname: a-skill\n---\n"})


class Stranger(NamedTuple):
    """A folder in which the page's commands are run, and the address of the API that they ask."""

    folder: Path
    address: str

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a line of a page as a shell does, where the programs are installed; ours in this process."""
        if line.startswith("validator "):
            return called(*shlex.split(line, comments=True)[1:], cwd=self.folder)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-ec", line.replace(ADDRESS, self.address)],
            cwd=self.folder,
            env=environment(PATH=path, PRE_COMMIT_HOME=str(self.folder / ".cache"), TOKEN=TOKEN),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def output_of(self, line: str, code: int, tries: int = 0) -> str:
        """Run a line until it ends as it should, so many times more than once."""
        done = self.run(line)
        for _ in range(tries):
            if done.returncode == code:
                break
            done = self.run(line)
        assert done.returncode == code, (line, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    play(tmp_path)
    (tmp_path / "validator.toml").write_text(SETTINGS.format(folder=tmp_path) + SERVE)
    (tmp_path / "packages.json").write_text(json.dumps({"manifest_version": "1.0", "packages": []}))
    assert called("attestation", "key", "--new", cwd=tmp_path).returncode == 0
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "a-skill.tar.gz").write_bytes(few_tasks()[0].bundle)
    process = subprocess.Popen([*PROGRAM, "serve"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stdout is not None
        address = process.stdout.readline().partition('"addresses": ["')[2].partition('"')[0]
        (tmp_path / "docs" / "examples").mkdir(parents=True)
        shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples" / "attestations")
        policy = (EXAMPLES / "policy.toml").read_text().replace(ADDRESS, address)
        for place in (tmp_path, tmp_path / "docs" / "examples" / "attestations"):
            (place / "policy.toml").write_text(policy)
        yield Stranger(tmp_path, address)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_stranger_follows_the_page(stranger: Stranger) -> None:
    """All commands of the page in order, but npm's verifier, which a test of attestations runs."""
    output_of = [one.argv for one in commands() if one.page == PAGE]
    lines = [" ".join(f'"{word}"' if " " in word else word for word in words) for words in output_of]
    assert len(lines) >= 8
    (stranger.folder / "skill.tar.gz").write_bytes(SKILL)
    told = [stranger.output_of(line, 0) for line in lines]
    assert json.loads(told[-1])["attestation"] == f"/api/v1/attestations/{sha256_hex(SKILL)}"
    assert (stranger.folder / "attestation.json").read_text().count(BUNDLE) == 0  # it is in base64
    gate = next(line for line in lines if " gate " in line)
    fetch = next(line for line in lines if line.startswith("curl") and "attestation.json" in line)
    verified = [line for line in lines if line.startswith(("validator attestation verify", "python"))]
    action = next(step["run"] for step in _steps() if "attestation gate" in step.get("run", ""))
    for place, holds in (("base", "policy.toml"), ("head", "skills")):
        (stranger.folder / place).mkdir()
        (stranger.folder / place / holds).symlink_to(stranger.folder / holds)
    (hook,) = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    shutil.copy(EXAMPLES / "pre-commit-config.yaml", stranger.folder / ".pre-commit-config.yaml")
    stranger.output_of("git init -q", 0)
    hooked = "pre-commit run --files skills/a-skill.tar.gz"
    assert re.match(hook["files"], "skills/a-skill.tar.gz")
    assert "allowed" in stranger.output_of(gate, 0)
    stranger.output_of(action, 0)
    assert "Passed" in stranger.output_of(hooked, 0)
    stranger.output_of(f"validator attestation revoke {BUNDLE} --reason {shlex.quote('a wrong verdict')}", 0)
    assert "revoked its attestation" in stranger.output_of(gate, 1, TRIES)  # the API sees it within two seconds
    stranger.output_of(action, 1)
    assert "refused: skills/a-skill.tar.gz" in stranger.output_of(hooked, 1)
    assert stranger.run(f"curl -sf http://{ADDRESS}/api/v1/attestations/{BUNDLE}").returncode != 0
    (stranger.folder / "skills" / "a-skill.tar.gz").write_bytes(few_tasks()[1].bundle)
    stranger.output_of(gate, 2)
    own = gate.replace("skills/a-skill.tar.gz", "skill.tar.gz")
    stranger.output_of(own, 2)
    play_submitted(stranger.folder)
    assert "allowed" in stranger.output_of(own, 0, TRIES)
    # The gate's tries may have used up what the API answers an address.
    stranger.output_of(fetch.replace("curl ", "curl --fail ").replace(BUNDLE, sha256_hex(SKILL)), 0, TRIES)
    for line in verified:
        assert stranger.output_of(line.replace(BUNDLE, sha256_hex(SKILL)), 0).startswith(sha256_hex(SKILL))
    stranger.output_of(f"validator attestation revoke {sha256_hex(SKILL)} --reason wrong", 0)
    stranger.output_of(own, 1, TRIES)


def test_the_action_asks_about_every_name_and_takes_its_policy_from_the_base(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "validator"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\0" "$@" >> "$ASKED"\n')
    program.chmod(0o755)
    names = ["plain", ".hidden", "two words", "a\nline", "-x", "$(touch evil)"]
    for name in names:
        (tmp_path / "work" / "head" / "elsewhere" / name).mkdir(parents=True)
    (tmp_path / "work" / "head" / "skills").symlink_to("elsewhere")
    script = next(step["run"] for step in _steps() if "attestation gate" in step.get("run", ""))
    asked = tmp_path / "asked"
    own = {"PATH": f"{program.parent}:{os.environ['PATH']}", "ASKED": str(asked)}
    run = partial(subprocess.run, ["bash", "-ec", script], cwd=tmp_path / "work", env=own, check=False)
    assert run().returncode == 0
    words = asked.read_text().split("\0")
    assert sorted(words[2::5]) == sorted(f"head/skills/{name}" for name in names)
    assert set(words[4::5]) == {"base/policy.toml"}
    program.write_text("#!/bin/sh\nexit 2\n")
    assert run().returncode == 2
    (tmp_path / "work" / "head" / "skills").unlink()
    assert run().returncode != 0
    checkouts = [step["with"] for step in _steps() if "checkout" in step.get("uses", "")]
    assert [(one["path"], one["persist-credentials"]) for one in checkouts] == [("base", False), ("head", False)]
    assert "base.sha" in checkouts[0]["ref"]


def _steps() -> list[dict[str, Any]]:
    action = yaml.safe_load((ROOT / "docs" / "examples" / "attestations" / "github-action.yml").read_text())
    steps: list[dict[str, Any]] = action["jobs"]["gate"]["steps"]
    return steps
