"""A stranger's walk (docs/attestations.md): a skill is submitted, attested, verified, installed and taken back.

Every step is over HTTP or a command; the round is played in between.
"""

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from attested import PUBLISHES, Attested
from builders import FILES
from cli_store import called
from test_foreign_verifiers import Run, node  # noqa: F401 - a fixture
from web_kit import served
from world import VALIDATOR, one_round

from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.sources import SeededRandom, SystemClock
from validator.kinds.assessment.supply import Bundles
from validator.settings.load import load_settings
from validator.store import open_store
from validator.tasks.submitted import next_submitted

SKILL = pack({**FILES, "SKILL.md": b"---\nname: a-skill\n---\n"})
SHA256 = sha256_hex(SKILL)
TOKEN = "5b1e-77c0-4d2f-9a63"
EXAMPLES = Path("docs/examples/attestations").absolute()
SETTINGS = f"{PUBLISHES}submissions = 3\n"
POLICY = 'agree = 1\n[[validators]]\nurl = "{url}"\nhotkey = "{hotkey}"\n'


class Hurried(SystemClock):
    """The machine's clock, for which time may be made to pass."""

    ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


class Stranger:
    """Somebody with nothing but the address of a validator, and commands."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder
        self.policy = folder / "policy.toml"
        self.policy.write_text(POLICY.format(url=address, hotkey=VALIDATOR.hotkey))
        self.skill = folder / "skill.tar.gz"
        self.skill.write_bytes(SKILL)

    def submit(self, token: str, data: bytes = SKILL, query: str = "?skill_type=declarative") -> tuple[int, bytes]:
        request = urllib.request.Request(
            f"{self.address}/api/v1/skills{query}", data, {"Authorization": f"Bearer {token}"}
        )
        return _answer(request)

    def fetch(self) -> tuple[int, bytes]:
        return _answer(urllib.request.Request(f"{self.address}/api/v1/attestations/{SHA256}"))

    def gate(self) -> tuple[int, str]:
        done = called("attestation", "gate", str(self.skill), "--policy", str(self.policy))
        return done.returncode, done.stdout + done.stderr


def _answer(request: urllib.request.Request) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.fixture
def sigstore(request: pytest.FixtureRequest) -> Run | None:
    """Sigstore's packages; None where npm does not get them: the other verifier is always there."""
    try:
        found: Run = request.getfixturevalue("node")
    except pytest.skip.Exception:
        return None
    return found


async def test_a_stranger_gets_an_answer_that_others_can_check_and_that_can_be_taken_back(
    tmp_path: Path, sigstore: Run | None
) -> None:
    config = tmp_path / "validator.toml"
    config.write_text(SETTINGS.format(folder=tmp_path))
    settings, clock = load_settings(config, {}), Hurried()

    async def operator(*arguments: str) -> None:
        done = await asyncio.to_thread(called, "attestation", *arguments, "--config", str(config))
        assert done.returncode == 0, done.stderr

    async with open_store(settings.store.url.reveal(), create=True) as store:
        world = Attested(store)
        supplies = (Bundles(world.source, None, SeededRandom("walk"), partial(next_submitted, store)),)
        world.preparer = world.service.preparer = replace(world.preparer, supplies=supplies)
        await one_round(world)  # the log is open
        await operator("key", "--new")
        with served(settings, clock, public=("attestations",), submit_token=TOKEN) as address:
            me = Stranger(address, tmp_path)
            assert (await asyncio.to_thread(me.submit, "wrong-token"))[0] == 401
            assert (await asyncio.to_thread(me.submit, TOKEN, b"no bundle"))[0] == 400
            assert (await asyncio.to_thread(me.submit, TOKEN, b"x" * (8 * 1024 * 1024 + 1)))[0] == 413
            status, told = await asyncio.to_thread(me.submit, TOKEN)
            assert (status, json.loads(told)) == (
                202,
                {"sha256": SHA256, "attestation": f"/api/v1/attestations/{SHA256}"},
            )
            assert (await asyncio.to_thread(me.fetch))[0] == 404
            assert (await asyncio.to_thread(me.gate))[0] == 2

            await one_round(world)
            clock.ahead_s += 3.0

            status, document = await asyncio.to_thread(me.fetch)
            assert status == 200, document
            files = {name: tmp_path / name for name in ("envelope", "pem")}
            for form, file in files.items():
                await operator("export", SHA256, "--format", form, "--out", str(file))
            assert json.loads(document)["envelope"] == json.loads(files["envelope"].read_text())
            python = (sys.executable, str(EXAMPLES / "verify.py"), *map(str, files.values()))
            done = await asyncio.to_thread(subprocess.run, python, capture_output=True, text=True, check=False)
            assert done.stdout.startswith(f"{SHA256}: ALLOW"), done.stderr
            if sigstore is not None:
                assert sigstore(*files.values()).stdout.startswith(f"{SHA256}: ALLOW")
            code, said = await asyncio.to_thread(me.gate)
            assert (code, "allow" in said) == (0, True), said

            await operator("revoke", SHA256, "--reason", "it was wrong")
            assert (await asyncio.to_thread(me.fetch))[0] == 200  # for two seconds
            clock.ahead_s += 3.0
            assert (await asyncio.to_thread(me.fetch))[0] == 410
            code, said = await asyncio.to_thread(me.gate)
            assert code == 1, said
