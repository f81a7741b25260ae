"""What the runtime image finds inside the sandbox: the same variables start it by hand (docs/miner-protocol.md)."""

from typing import Final

from validator.executions.sandbox.job import SandboxJob

BUNDLE: Final = "/sssa/bundle"
EVIDENCE: Final = "/sssa/evidence"
SCRATCH: Final = "/tmp"  # noqa: S108 - the image's own, inside the container
TRACER: Final = "tracer"
JUDGE: Final = "code_runner"
USER: Final = "65534:65534"
PLATFORM: Final = ("linux", "x86_64")


def environment(job: SandboxJob) -> dict[str, str]:
    """Return the variables that are set for the tracer, in addition to those of the image."""
    return {
        "SSSA_SKILL_TYPE": str(job.skill_type),
        "SSSA_NONCE": job.nonce,
        "SSSA_PROBE_FILE_PATH": job.probes.file_path,
        "SSSA_PROBE_FILE_CONTENT": job.probes.file_content,
        "SSSA_PROBE_DNS_HOST": job.probes.dns_host,
        "SSSA_PROBE_PROCESS_ECHO": job.probes.process_echo,
        "SSSA_BUNDLE": BUNDLE if job.bundle is not None else "",
        "SSSA_EVIDENCE": EVIDENCE,
        "SSSA_SECONDS": f"{job.limits.wall_s:g}",
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
    }
