import asyncio

import pytest
from sandbox_jobs import DIGEST, NONCE, make_job

from validator.protocol.probes import probe_values
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType, trace_names
from validator.protocol.traces import ProbesSeen, read_traces
from validator.reruns.sandbox.contract import environment
from validator.reruns.sandbox.image import ImageReferenceError, PinnedImage
from validator.reruns.sandbox.job import Ended, Evidence, SandboxFailure, SandboxLimits
from validator.reruns.sandbox.scripted import ScriptedRun, ScriptedSandbox
from validator.sources import VirtualClock

PROBES = probe_values(NONCE)
SCRIPT = SkillType.EXECUTABLE_SCRIPT
TRACES = {f"{name}.jsonl": b"" for name in trace_names(SCRIPT)} | {
    "fs.jsonl": b'{"ts":1,"op":"write","path":"%s"}\n' % PROBES.file_path.encode()
}


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ("busybox", f"docker.io/library/busybox@{DIGEST}"),
        ("someone/sandbox", f"docker.io/someone/sandbox@{DIGEST}"),
        ("ghcr.io/someone/sandbox", f"ghcr.io/someone/sandbox@{DIGEST}"),
        ("GHCR.io/someone/sandbox:v1.2", f"ghcr.io/someone/sandbox@{DIGEST}"),
        ("localhost/sandbox", f"localhost/sandbox@{DIGEST}"),
        ("192.0.2.7:5000/a/b__c/d-e", f"192.0.2.7:5000/a/b__c/d-e@{DIGEST}"),
    ],
)
def test_an_image_is_known_by_its_digest_alone(image: str, reference: str) -> None:
    assert PinnedImage.parse(image, DIGEST).reference == reference


@pytest.mark.parametrize(
    "image",
    [
        "",
        "/",
        "a//b",
        "Upper/case",
        "a/../b",
        "a b",
        "a\n",
        f"a@{DIGEST}",
        "http://a.example/b",
        "a.example/b?c",
        "x" * 300,
        "a.example/b&tag=latest",
        "a.example:port/b",
        "-a.example/b",
        "a.example/b#c",
        "á.example/b",
    ],
)
def test_what_is_no_repository_is_refused(image: str) -> None:
    with pytest.raises(ImageReferenceError, match="at `image`"):
        PinnedImage.parse(image, DIGEST)


@pytest.mark.parametrize("digest", ["", "latest", "sha256:abc", DIGEST.upper(), DIGEST + "\n", "sha512:" + "ab" * 64])
def test_what_is_no_digest_is_refused(digest: str) -> None:
    with pytest.raises(ImageReferenceError, match="at `digest`"):
        PinnedImage.parse("a.example/b", digest)


def test_an_image_is_told_the_probes_and_where_things_lie() -> None:
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
    assert read_traces(evidence.trace_bundle(), SCRIPT, PROBES).probes == ProbesSeen(fs=True)


async def test_a_scripted_run_ends_at_its_limits() -> None:
    clock = VirtualClock()
    limits = SandboxLimits(wall_s=5, evidence=10, log=4, entries=3)
    scripts = {
        "slow": ScriptedRun({}, 60.0, log=b"0123456789"),
        "large": ScriptedRun({"a": b"x" * 11}),
        "many": ScriptedRun({"a": b"", "b": b"", "c": b""}),
    }
    sandbox = ScriptedSandbox(lambda job: scripts[job.image], clock)
    slow = asyncio.ensure_future(sandbox.run(make_job(image="slow", limits=limits)))
    await asyncio.sleep(0)
    await clock.advance(5)
    assert await slow == Evidence({}, Ended.OUT_OF_TIME, 137, 5, b"0123")
    for image in ("large", "many"):
        found = await sandbox.run(make_job(image=image, limits=limits))
        assert isinstance(found, SandboxFailure)
        assert (found.reason, found.ours) == (Reason.SANDBOX_EVIDENCE, False)


async def test_what_names_no_image_is_the_miners_and_what_the_script_fails_with_is_kept() -> None:
    away = SandboxFailure(Reason.SANDBOX_NO_ENGINE, "gone")
    sandbox = ScriptedSandbox(lambda _: away, VirtualClock())
    assert await sandbox.run(make_job()) == away
    assert away.ours
    wrong = await sandbox.run(make_job(digest="latest"))
    assert isinstance(wrong, SandboxFailure)
    assert (wrong.reason, wrong.ours) == (Reason.DIGEST_MISMATCH, False)
