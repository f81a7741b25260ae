"""Hostile bundles in the runtime image: none of them hides, forges or ends its traces, in runc or in gVisor."""

import json
import shutil
from collections.abc import Mapping
from typing import Any

import pytest
from engine_kit import NOTHING, left_behind, sandbox_at
from hostile_bundles import ATTACKS, HELPERS

from sssa.protocol.answer import probe_values
from sssa.protocol.archives import pack
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import SkillType
from sssa.protocol.traces import read_traces
from validator.sandbox.interface import Ended, Evidence, SandboxJob, SandboxLimits

pytestmark = pytest.mark.engine
NONCE = "5eed4321" * 8
SHORT = SandboxLimits(wall_s=8.0)
NAMES = tuple(ATTACKS)


@pytest.fixture(name="image")
def runtime(runtime_image: RuntimeImage) -> RuntimeImage:
    return runtime_image


def bundle_of(names: tuple[str, ...]) -> dict[str, bytes]:
    """A composition whose children are the attacks, each in its own folder."""
    children = [{"name": name, "skill_type": "executable_python", "path": f"a{at}"} for at, name in enumerate(names)]
    files = {"composition.json": json.dumps({"name": "attacks", "children": children, "flow": []}).encode()}
    for at, name in enumerate(names):
        body = "".join(f"    {line}\n" for line in ATTACKS[name].code.splitlines())
        files[f"a{at}/main.py"] = f"{HELPERS}\ndef run():\n{body}".encode()
        files[f"a{at}/manifest.json"] = b'{"name": "a", "version": "1", "entry_point": "main:run"}'
    return files


async def run(image: RuntimeImage, files: Mapping[str, bytes] | None, skill_type: str, runtime: str | None) -> Evidence:
    sandbox = sandbox_at(runtime=runtime)
    if runtime is not None and runtime not in (await sandbox._engine.info())["Runtimes"]:
        await sandbox.close()
        pytest.skip(f"the engine knows no runtime {runtime}")
    bundle = None if files is None else pack(files)
    evidence = await sandbox.run(SandboxJob(image, SkillType(skill_type), bundle, NONCE, probe_values(NONCE)))
    await sandbox.close()
    assert await left_behind() == NOTHING
    assert isinstance(evidence, Evidence), evidence
    assert (evidence.ended, evidence.exit_code) == (Ended.BY_ITSELF, 0), evidence.log[-2_000:]
    return evidence


def records_of(evidence: Evidence) -> dict[str, list[dict[str, Any]]]:
    return {
        name.removesuffix(".jsonl"): [json.loads(line) for line in data.splitlines()]
        for name, data in evidence.files.items()
    }


@pytest.mark.parametrize("runtime", [None, "runsc"])
@pytest.mark.parametrize("names", [NAMES[:9], NAMES[9:]])
async def test_attacks_show_and_break_nothing(image: RuntimeImage, names: tuple[str, ...], runtime: str | None) -> None:
    evidence = await run(image, bundle_of(names), "agent_composition", runtime)
    records = records_of(evidence)
    assert set(records) == {"network", "fs", "process", "secrets", "agent_calls"}
    assert not [record for record in records["fs"] if record["path"].endswith("/broken")]
    assert read_traces(pack(evidence.files), SkillType.AGENT_COMPOSITION, probe_values(NONCE)).probes == (True,) * 3
    for at, name in enumerate(names):
        for trace, field, value in ATTACKS[name].shows:
            wanted = value.replace("/skill/", f"/skill/a{at}/")
            assert any(wanted in str(record.get(field)) for record in records[trace]), (name, wanted, records[trace])
    text = str(records)
    assert "/forged" not in text
    assert "6.6.6.6" not in text


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("sleeps", "echo > begun; trap '' TERM INT HUP; while true; do sleep 98765; done"),
        ("forks", "echo > begun; bomb() { bomb | bomb & }; bomb 2>/dev/null; while :; do :; done"),
        (
            "fills",
            "echo > begun; for p in /tmp /dev/shm . /sssa/evidence; do dd if=/dev/zero of=$p/x; done; sleep 9",
        ),
        ("shouts", "echo > begun; head -c 200000000 /dev/zero | tr '\\0' x; echo x >&2"),
    ],
)
async def test_a_run_ends_by_itself_with_what_it_has(image: RuntimeImage, name: str, script: str) -> None:
    """The image's own limit, three quarters of what the sandbox gives."""
    sandbox = sandbox_at()
    probes = probe_values(NONCE)
    job = SandboxJob(image, SkillType.EXECUTABLE_SCRIPT, pack({"main.sh": script.encode()}), NONCE, probes, SHORT)
    evidence = await sandbox.run(job)
    await sandbox.close()
    assert isinstance(evidence, Evidence), evidence
    assert (evidence.ended, evidence.exit_code) == (Ended.BY_ITSELF, 0), evidence.log[-2_000:]
    traces = read_traces(pack(evidence.files), SkillType.EXECUTABLE_SCRIPT, probes)
    assert traces.probes == (True, True, True)
    assert any(record["path"] == "/skill/begun" for record in records_of(evidence)["fs"])
    assert await left_behind() == NOTHING


@pytest.mark.parametrize("runtime", [None, "runsc"])
async def test_the_run_of_nothing_shows_the_probes_alone(image: RuntimeImage, runtime: str | None) -> None:
    evidence = await run(image, None, "executable_python", runtime)
    assert {name: len(lines) for name, lines in records_of(evidence).items()} == {
        "fs": 1,
        "imports": 0,
        "network": 1,
        "process": 1,
        "secrets": 0,
    }


@pytest.mark.parametrize("runtime", [None, "runsc"])
async def test_javascript_and_servers_run_where_the_image_has_node(image: RuntimeImage, runtime: str | None) -> None:
    source = b"require('fs').writeFileSync('out.txt', 'x'); require('child_process').execSync('ls /etc > /tmp/list')"
    files = {"main.js": source, "manifest.json": b'{"name": "a", "version": "1", "entry_point": "main.js"}'}
    records = records_of(await run(image, files, "executable_script", runtime))
    if shutil.which("node") is None:
        pytest.skip("this machine has no Node: the image of this machine runs no JavaScript")
    fs = {(record["op"], record["path"]) for record in records["fs"]}
    assert {("write", "/skill/out.txt"), ("write", "/tmp/list"), ("list", "/etc")} <= fs
    assert {record["cmd"] for record in records["process"]} >= {"ls /etc"}
