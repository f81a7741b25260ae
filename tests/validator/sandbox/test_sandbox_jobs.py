import asyncio

from sandbox_jobs import DIGEST, NONCE, make_job

from sssa.protocol.answer import probe_values
from sssa.protocol.archives import pack
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import SkillType, trace_names
from sssa.protocol.traces import ProbesSeen, read_traces
from sssa.sources import VirtualClock
from validator.sandbox.interface import Ended, Evidence, SandboxFailure, SandboxLimits, environment
from validator.sandbox.scripted import ScriptedRun, ScriptedSandbox

PROBES = probe_values(NONCE)
SCRIPT = SkillType.EXECUTABLE_SCRIPT
TRACES = {f"{name}.jsonl": b"" for name in trace_names(SCRIPT)} | {
    "fs.jsonl": b'{"ts":1,"op":"write","path":"%s"}\n' % PROBES.file_path.encode()
}


def test_the_run_of_nothing_is_told_that_there_is_no_bundle() -> None:
    assert environment(make_job(bundle=None))["SSSA_BUNDLE"] == ""


def test_the_image_is_told_the_probes_and_where_things_lie() -> None:
    told = environment(make_job())
    assert told["SSSA_SKILL_TYPE"] == "executable_script"
    assert told["SSSA_NONCE"] == NONCE
    assert [told[f"SSSA_PROBE_{name}"] for name in ("FILE_PATH", "FILE_CONTENT", "DNS_HOST", "PROCESS_ECHO")] == [
        PROBES.file_path,
        PROBES.file_content,
        PROBES.dns_host,
        PROBES.process_echo,
    ]


async def test_a_run_gives_traces_that_the_miners_reader_reads() -> None:
    clock = VirtualClock()
    run = asyncio.ensure_future(ScriptedSandbox(lambda _: ScriptedRun(TRACES, 3.0), clock).run(make_job()))
    await asyncio.sleep(0)
    await clock.advance(3)
    evidence = await run
    assert isinstance(evidence, Evidence)
    assert (evidence.ended, evidence.exit_code, evidence.seconds) == (Ended.BY_ITSELF, 0, 3.0)
    assert read_traces(pack(evidence.files), SCRIPT, PROBES).probes == ProbesSeen(fs=True)


async def test_a_scripted_run_ends_at_its_limits() -> None:
    clock = VirtualClock()
    limits = SandboxLimits(wall_s=5, evidence=10, log=4, entries=3)
    scripts = {
        "slow": ScriptedRun({}, 60.0, log=b"0123456789"),
        "large": ScriptedRun({"a": b"x" * 11}),
        "many": ScriptedRun({"a": b"", "b": b"", "c": b""}),
    }
    sandbox = ScriptedSandbox(lambda job: scripts[job.image.reference], clock)
    slow = asyncio.ensure_future(sandbox.run(make_job(image=RuntimeImage("slow", DIGEST), limits=limits)))
    await asyncio.sleep(0)
    await clock.advance(5)
    assert await slow == Evidence({}, Ended.OUT_OF_TIME, 137, 5, b"0123")
    for image in ("large", "many"):
        found = await sandbox.run(make_job(image=RuntimeImage(image, DIGEST), limits=limits))
        assert isinstance(found, SandboxFailure)
        assert (found.reason, found.ours) == (Reason.SANDBOX_EVIDENCE, True)
