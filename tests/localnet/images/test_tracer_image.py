"""The tracer's image without an engine: its program alone in a folder, and the Dockerfile that makes the same."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from package_files import ROOT

from localnet.bundles.written import written_bundles
from localnet.images.hostile.image import hostile_files
from localnet.images.tracer.image import ENTRYPOINT, FOLDER, PACKAGES, program_files
from localnet.images.tree import File, Tree
from localnet.tracing.records import pack_traces
from localnet.tracing.run import trace_bundle
from validator.protocol.archives import pack
from validator.protocol.bundles import read_bundle
from validator.protocol.probes import probe_values
from validator.protocol.runtime_image import UNPUBLISHED
from validator.protocol.skill_types import SkillType, is_runtime
from validator.protocol.traces import Traces, read_traces
from validator.reruns.sandbox.contract import environment
from validator.reruns.sandbox.job import SandboxJob

NONCE = "5eed0123" * 8
BUNDLES = {bundle.skill_type: bundle for bundle in written_bundles() if is_runtime(bundle.skill_type)}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the program as it lies in the image."""
    root = tmp_path_factory.mktemp("root")
    for name, entry in program_files().items():
        assert isinstance(entry, File)
        assert isinstance(entry.content, Path)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(entry.content.read_bytes())
    return root / FOLDER


def ended(app: Path, job: SandboxJob, folder: Path) -> dict[str, bytes]:
    """What the program leaves when it is run with nothing but its own files and the standard library."""
    for name, content in read_bundle(job.bundle or b"").items():
        (folder / "bundle" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bundle" / name).write_bytes(content)
    for name in ("evidence", "tmp"):
        (folder / name).mkdir()
    places = {"SSSA_BUNDLE": "bundle", "SSSA_EVIDENCE": "evidence", "TMPDIR": "tmp", "HOME": "tmp"}
    places = {name: str(folder / place) for name, place in places.items()}
    done = subprocess.run(
        [sys.executable, *ENTRYPOINT[1:-1], app],
        env=environment(job) | places,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd="/",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((folder / "tmp").iterdir()) == []
    return {path.name: path.read_bytes() for path in (folder / "evidence").iterdir()}


def job_of(skill_type: SkillType) -> SandboxJob:
    bundle = BUNDLES[skill_type].packed()
    return SandboxJob(UNPUBLISHED, skill_type, bundle, NONCE, probe_values(NONCE))


async def by_a_miner(job: SandboxJob) -> Traces:
    records = await trace_bundle(read_bundle(job.bundle or b""), job.skill_type, job.probes, timeout_s=20)
    return read_traces(pack_traces(records), job.skill_type, job.probes)


@pytest.mark.parametrize("skill_type", BUNDLES)
async def test_the_program_leaves_what_a_miner_traces(app: Path, skill_type: SkillType, tmp_path: Path) -> None:
    job = job_of(skill_type)
    found = read_traces(pack(ended(app, job, tmp_path)), skill_type, job.probes)
    assert found.probes == (True, True, True)
    mine = await by_a_miner(job)
    assert found.signatures == mine.signatures
    assert found.shell_commands == mine.shell_commands
    assert len(found.signatures["fs"]) > 1  # the probe's and the skill's own


def instructions(name: str = "tracer") -> list[tuple[str, str]]:
    text = (ROOT / f"localnet/images/{name}/Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in lines]


def copied(name: str) -> dict[str, Path]:
    """Every file of the project that a Dockerfile puts into its image, by its path there."""
    found: dict[str, Path] = {}
    for word, rest in instructions(name):
        if word != "COPY" or rest.startswith("requirements/"):
            continue
        source, target = rest.split()
        place = ROOT / source
        for path in sorted(place.rglob("*.py")) if source.endswith("/") else [place]:
            below = str(path.relative_to(place)) if source.endswith("/") else path.name
            found[(f"{target}{below}" if target.endswith("/") else target).lstrip("/")] = path
    return found


def own(tree: Tree) -> dict[str, object]:
    """Of a tree what is the project's."""
    files = {name: entry.content for name, entry in tree.items() if isinstance(entry, File)}
    return {name: content for name, content in files.items() if name.split("/")[1] not in PACKAGES}


def test_the_dockerfiles_carry_the_same_program_files() -> None:
    assert copied("tracer") == own(program_files())
    assert copied("tracer") | copied("hostile") == own(hostile_files())


def test_the_hostile_dockerfile_is_the_tracers_with_a_conduct() -> None:
    found = dict(instructions("hostile"))
    assert (found["FROM"], found["ENV"]) == ("${TRACER}", "SSSA_CONDUCT=${CONDUCT}")
    assert found.keys() <= {"ARG", "FROM", "COPY", "ENV"}


def test_the_dockerfile_installs_what_the_program_imports_by_hash_in_the_validators_versions() -> None:
    (run,) = [rest for word, rest in instructions() if word == "RUN"]
    assert f"pip install --no-cache-dir --require-hashes --target /{FOLDER} -r /tmp/tracer.txt" in run
    locked, ours = (
        dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / f"requirements/{name}.txt").read_text(), re.MULTILINE))
        for name in ("tracer", "runtime")
    )
    assert locked == {name: ours[name] for name in PACKAGES}


def test_the_dockerfile_starts_the_same_program_as_nobody() -> None:
    found = dict(instructions())
    assert tuple(json.loads(found["ENTRYPOINT"])) == ENTRYPOINT
    assert found["USER"] == "65534:65534"
    assert re.fullmatch(r"python:3\.\d+-slim", found["FROM"])
    assert not {"VOLUME", "ADD"} & found.keys()
