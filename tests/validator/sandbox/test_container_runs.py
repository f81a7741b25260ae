"""Images in real containers: what an honest one gets, and the result of those that cannot be run."""

import asyncio
import os

import pytest
from engine_kit import LIMITS, NOTHING, Registry, evidence_of, failure_of, job_of, left_behind, sandbox_at
from sandbox_jobs import NONCE

from sssa.protocol.answer import probe_values
from sssa.protocol.archives import pack
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import UNPUBLISHED, RuntimeImage
from sssa.protocol.skill_types import SkillType, trace_names
from sssa.protocol.traces import ProbesSeen, read_traces
from validator.sandbox.interface import Ended, Evidence, environment

pytestmark = pytest.mark.engine
PROBES = probe_values(NONCE)

HONEST = """
cd $SSSA_BUNDLE
ls -ln data > $SSSA_EVIDENCE/listing
cat data/text > $SSSA_EVIDENCE/text
env > $SSSA_EVIDENCE/environment
mkdir -p /tmp/sssa && printf %s "$SSSA_PROBE_FILE_CONTENT" > $SSSA_PROBE_FILE_PATH
cat $SSSA_PROBE_FILE_PATH > $SSSA_EVIDENCE/probe
mkdir $SSSA_EVIDENCE/folder && echo inside > $SSSA_EVIDENCE/folder/file
echo said; exit 3
"""


async def test_an_image_gets_bundle_nonce_and_probes_and_leaves_evidence(registry: Registry) -> None:
    job = await job_of(registry, HONEST, files={"data/text": b"words"})
    found = await evidence_of(registry, HONEST, files={"data/text": b"words"})
    assert (found.ended, found.exit_code, found.log) == (Ended.BY_ITSELF, 3, b"said\n")
    assert 0 < found.seconds < LIMITS.wall_s
    files = dict(found.files)
    told = dict(line.split("=", 1) for line in files.pop("environment").decode().splitlines())
    assert environment(job).items() <= told.items()
    assert b"-rw-r--r--    1 0        0                5 Jan  1  1970 text" in files.pop("listing")
    assert files == {"text": b"words", "probe": PROBES.file_content.encode(), "folder/file": b"inside\n"}


TRACING = (
    """
cd $SSSA_EVIDENCE
mkdir -p /tmp/sssa && printf %s "$SSSA_PROBE_FILE_CONTENT" > $SSSA_PROBE_FILE_PATH
nslookup $SSSA_PROBE_DNS_HOST
echo $SSSA_PROBE_PROCESS_ECHO
echo "{\\"ts\\": 1, \\"op\\": \\"write\\", \\"path\\": \\"$SSSA_PROBE_FILE_PATH\\"}" > fs.jsonl
echo "{\\"ts\\": 2, \\"domain\\": \\"$SSSA_PROBE_DNS_HOST\\", \\"proto\\": \\"dns\\"}" > network.jsonl
echo "{\\"ts\\": 3, \\"cmd\\": \\"echo $SSSA_PROBE_PROCESS_ECHO\\"}" > process.jsonl
"""
    "touch secrets.jsonl shell_commands.jsonl"
)


async def test_what_an_image_traces_is_read_as_a_miners_trace_bundle(registry: Registry) -> None:
    found = await evidence_of(registry, TRACING)
    assert set(found.files) == {f"{name}.jsonl" for name in trace_names(SkillType.EXECUTABLE_SCRIPT)}
    traces = read_traces(pack(found.files), SkillType.EXECUTABLE_SCRIPT, PROBES)
    assert traces.probes == ProbesSeen(fs=True, network=True, process=True)


async def test_a_tracer_can_answer_lookups_itself(registry: Registry) -> None:
    """Port 53 of loopback is free to bind without capabilities, and lookups go there."""
    script = """
    nslookup $SSSA_PROBE_DNS_HOST
    sleep 5 | nc -l -p 53 > $SSSA_EVIDENCE/asked &
    sleep 0.5; echo $SSSA_PROBE_DNS_HOST | nc 127.0.0.1 53 & sleep 1; kill -9 -1
    """
    found = await evidence_of(registry, script)
    assert b"write to '127.0.0.1': Connection refused" in found.log
    assert found.files["asked"].decode().strip() == PROBES.dns_host


async def test_several_runs_at_once_see_nothing_of_each_other(registry: Registry) -> None:
    sandbox = sandbox_at()
    script = "echo $SSSA_NONCE > $SSSA_EVIDENCE/mine; echo > /tmp/mine; sleep 1; ls /tmp $SSSA_EVIDENCE; ps"
    jobs = [await job_of(registry, script, nonce=f"{number:x}" * 64) for number in range(4)]
    found = await asyncio.gather(*(sandbox.run(job) for job in jobs))
    await sandbox.close()
    for job, one in zip(jobs, found, strict=True):
        assert isinstance(one, Evidence), one
        assert one.files == {"mine": f"{job.nonce}\n".encode()}
        assert one.log.count(b" 65534 ") == 2  # the shell and ps
    assert await left_behind() == NOTHING


async def test_an_image_that_is_not_there_is_ours(registry: Registry) -> None:
    """Another digest, name or absent registry runs nothing and has its own reason."""
    image = await registry.image()
    away = registry.host.rpartition(":")[0] + ":9/a"
    for wrong in (
        RuntimeImage(image.reference, "sha256:" + "00" * 32),
        RuntimeImage(f"{registry.host}/test/nowhere", image.digest),
        RuntimeImage(away, image.digest),
        UNPUBLISHED,
    ):
        found = await failure_of(registry, of=wrong)
        assert (found.reason, found.ours) == (Reason.SANDBOX_IMAGE, True), found
        assert wrong.digest in found.detail


async def test_an_image_without_a_program_is_ours(registry: Registry) -> None:
    found = await failure_of(registry, of=await registry.image('ENTRYPOINT ["/no/such/program"]', files={"x": "x"}))
    assert (found.reason, found.ours) == (Reason.SANDBOX_ENGINE, True), found
    assert "no such file" in found.detail


@pytest.mark.parametrize(
    ("folder", "target", "reason"),
    [("evidence", "var/tmp", Reason.SANDBOX_EVIDENCE), ("bundle", "root", Reason.SANDBOX_ENGINE)],
)
async def test_an_image_whose_folders_are_links_leads_nowhere_else(
    registry: Registry, folder: str, target: str, reason: Reason
) -> None:
    name = "sssa-link-of-an-image"
    links = {f"sssa/{folder}": f"-> /../../../../../../../{target}"}
    script = f"echo > $SSSA_EVIDENCE/{name}; touch $SSSA_BUNDLE/{name}; true"
    found = await failure_of(registry, script, of=await registry.image(files=links))
    assert found.reason == reason
    assert name not in os.listdir(f"/{target}")  # noqa: PTH208 - names are all
