"""Attestations hold for verifiers that are not ours, which refuse what was changed."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attested import BUNDLE, SEED, document_in
from securesystemslib.signer._utils import compute_default_keyid

from sssa.attestation.dsse import PublishingKey, key_id, key_pem
from sssa.attestation.verify import Handed
from sssa.protocol import typed
from sssa.protocol.canonical import canonical_bytes

EXAMPLES = Path("docs/examples/attestations")
PACKAGES = ("@sigstore/verify@3.1.1", "@sigstore/bundle@4.0.0")
KEY = PublishingKey.of_seed(SEED)
Run = Callable[[Path, Path], subprocess.CompletedProcess[str]]


def ran(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=cwd)


@pytest.fixture
async def envelope(tmp_path: Path) -> Path:
    """An envelope of a round of 2026 that holds to 2036."""
    file = tmp_path / "envelope.json"
    file.write_bytes(canonical_bytes(typed.decode(await document_in(tmp_path, days=3_650), Handed).envelope))
    (tmp_path / "key.pem").write_text(key_pem(KEY.public))
    (tmp_path / "other.pem").write_text(key_pem(PublishingKey.of_seed(bytes(32)).public))
    return file


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The example with sigstore's packages, where npm gets them."""
    npm, program = shutil.which("npm"), shutil.which("node")
    if npm is None or program is None:
        pytest.skip("there is no npm, or no node")
    folder = tmp_path_factory.mktemp("npm")
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", f"--cache={folder}/cache")
    if ran(npm, "install", *options, *PACKAGES, cwd=folder).returncode:
        pytest.skip("npm cannot get sigstore's packages: no network")
    script = shutil.copy(EXAMPLES / "verify.mjs", folder)
    return lambda file, key: ran(program, str(script), str(file), str(key))


def python(file: Path, key: Path) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, str(EXAMPLES / "verify.py"), str(file), str(key))


def test_key_ids_are_those_of_securesystemslib() -> None:
    assert key_id(KEY.public) == compute_default_keyid("ed25519", "ed25519", {"public": KEY.public})


def test_securesystemslib_verifies_an_attestation(envelope: Path) -> None:
    holds(python, envelope)


def test_sigstores_packages_verify_an_attestation(envelope: Path, node: Run) -> None:
    holds(node, envelope)


def holds(verify: Run, envelope: Path) -> None:
    done = verify(envelope, envelope.with_name("key.pem"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{BUNDLE}: ALLOW, risk 0.1, until 2035-")
    assert verify(envelope, envelope.with_name("other.pem")).returncode != 0
    plain = json.loads(envelope.read_text())
    plain["payload"] = plain["payload"].replace("a", "b", 1)
    envelope.write_text(json.dumps(plain))
    assert verify(envelope, envelope.with_name("key.pem")).returncode != 0
