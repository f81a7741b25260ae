"""The runtime image without an engine: its program in a folder, two builds, and the Dockerfile of the same files."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from package_files import ROOT

from localnet.images.runtime import ENTRYPOINT, FOLDER, PACKAGES, PROGRAMS, program_files, runtime_image
from localnet.images.tree import File
from miner.bundles.written import written_bundles
from miner.tracing import pack_traces, trace_as
from sssa.protocol.answer import probe_values
from sssa.protocol.archives import pack
from sssa.protocol.bundles import read_bundle
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.traces import read_traces
from validator.sandbox.interface import TRACER, SandboxJob, environment

NONCE = "5eed0123" * 8
BUNDLES = {bundle.skill_type: bundle for bundle in written_bundles() if is_runtime(bundle.skill_type)}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs as it is in the image."""
    root = tmp_path_factory.mktemp("root")
    for name, entry in program_files().items():
        assert isinstance(entry, File)
        assert isinstance(entry.content, Path)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(entry.content.read_bytes())
    return root / FOLDER


def left_by(app: Path, job: SandboxJob, folder: Path) -> dict[str, bytes]:
    """Return the files that the program leaves when run with only its own files and the standard library."""
    for name, content in (read_bundle(job.bundle) if job.bundle else {}).items():
        (folder / "bundle" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bundle" / name).write_bytes(content)
    for name in ("evidence", "tmp"):
        (folder / name).mkdir()
    places = {"SSSA_BUNDLE": "bundle", "SSSA_EVIDENCE": "evidence", "TMPDIR": "tmp", "HOME": "tmp"}
    variables = environment(job)
    variables |= {name: str(folder / place) for name, place in places.items() if variables[name]}
    done = subprocess.run(
        [sys.executable, "-S", *ENTRYPOINT[1:], TRACER],
        env=variables | {"PYTHONPATH": str(app)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd="/",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((folder / "tmp").iterdir()) == []
    return {path.name: path.read_bytes() for path in (folder / "evidence").iterdir()}


@pytest.mark.parametrize("skill_type", BUNDLES)
async def test_the_program_leaves_what_a_miner_traces(app: Path, skill_type: SkillType) -> None:
    probes = probe_values(NONCE)
    job = SandboxJob(UNPUBLISHED, skill_type, BUNDLES[skill_type].packed(), NONCE, probes)
    with TemporaryDirectory() as folder:  # not that of tests, which may be below /dev: nothing there is recorded
        found = read_traces(pack(left_by(app, job, Path(folder))), skill_type, probes)
    assert found.probes == (True, True, True)
    records = await trace_as(BUNDLES[skill_type].files, skill_type, probes, timeout_s=20)
    mine = read_traces(pack_traces(records), skill_type, probes)
    assert found.signatures == mine.signatures
    assert found.shell_commands == mine.shell_commands
    assert len(found.signatures["fs"]) > 1  # the probe's and the skill's own


def test_the_run_of_nothing_shows_the_probes_alone(app: Path, tmp_path: Path) -> None:
    probes = probe_values(NONCE)
    job = SandboxJob(UNPUBLISHED, SkillType.EXECUTABLE_SCRIPT, None, NONCE, probes)
    found = read_traces(pack(left_by(app, job, tmp_path)), SkillType.EXECUTABLE_SCRIPT, probes)
    assert found.probes == (True, True, True)
    assert [len(found.signatures[name]) for name in ("network", "fs", "process", "secrets")] == [1, 1, 1, 0]


def test_two_builds_give_one_digest(tmp_path: Path) -> None:
    assert runtime_image(tmp_path / "one").digest == runtime_image(tmp_path / "two").digest


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "runner/Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in lines]


def test_the_dockerfile_carries_the_same_programs_and_starts_them_as_nobody() -> None:
    found = instructions()
    for program in PROGRAMS:
        assert ("COPY", f"runner/{program}/ /image/{FOLDER}/{program}/") in found
    last = dict(found)
    assert tuple(json.loads(last["ENTRYPOINT"])) == ENTRYPOINT
    assert (json.loads(last["CMD"]), last["USER"]) == ([TRACER], "65534:65534")
    assert not {"VOLUME", "ADD"} & last.keys()
    locked = (ROOT / "requirements/runner.txt").read_text()
    assert all(f"{name}==" in locked for name in PACKAGES if name not in ("_pytest", "py"))


def test_the_tracer_imports_nothing_of_the_validator() -> None:
    code = "import sys, tracer.__main__; print([n for n in sys.modules if n.split('.')[0] in ('validator', 'msgspec')])"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT / "runner")}, capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
