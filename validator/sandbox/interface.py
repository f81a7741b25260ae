"""Interfaces of the sandboxes: jobs, limits, evidence, failures, and the image's environment (SPEC 12, 15).

Types alone: no I/O. Containers, scripted sandboxes and the local network implement them; waiting work calls them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from sssa.protocol.answer import ProbeEvidence
from sssa.protocol.limits import MAX_TRACES_EXPANDED, MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_run import CodeReport


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Bounds on one run; docs/miner-protocol.md names the defaults.

    Attributes:
        wall_s: seconds from the start of the image's program to its end; more than the 60 s at which it ends by itself.
        memory: bytes, what is in /tmp and in the evidence folder included; there is no swap.
        cpus: how many processors' time it may use.
        processes: processes and threads at once.
        scratch: bytes in /tmp.
        evidence: bytes in the evidence folder.
        entries: files and folders in the evidence folder, itself included.
        log: bytes kept of what it writes to its outputs.
        open_files: in one process.
    """

    wall_s: float = 120.0
    memory: int = 1024 * MIB
    cpus: float = 1.0
    processes: int = 256
    scratch: int = 256 * MIB
    evidence: int = MAX_TRACES_EXPANDED
    entries: int = 64
    log: int = 64 * 1024
    open_files: int = 1_024


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """One run of the runtime image (SPEC 15).

    Attributes:
        bundle: the dispatched bundle, a gzip tar that the validator made or checked; None for the run of nothing, which
            shows the probes alone.
        nonce: of the dispatch, 64 hex digits.
        probes: the probe spec of the dispatch.
    """

    image: RuntimeImage
    skill_type: SkillType
    bundle: bytes | None
    nonce: str
    probes: ProbeEvidence
    limits: SandboxLimits = field(default_factory=SandboxLimits)


class Ended(StrEnum):
    """Exit of the image's program."""

    BY_ITSELF = "by_itself"
    OUT_OF_TIME = "out_of_time"  # killed at limits.wall_s
    OUT_OF_MEMORY = "out_of_memory"  # the engine saw the kernel kill it or a process of its


@dataclass(frozen=True, slots=True)
class Evidence:
    """The results of a run.

    Attributes:
        files: name to content of every file in the evidence folder: plain relative names, within the job's limits.
        exit_code: 0 to 255; 137 of one that was killed.
        seconds: from start to end.
        log: what it wrote to its outputs, at most `limits.log` bytes; not printable as it is.
    """

    files: Mapping[str, bytes]
    ended: Ended
    exit_code: int
    seconds: float
    log: bytes


@dataclass(frozen=True, slots=True)
class SandboxFailure:
    """Reason why a run gave no evidence."""

    reason: Reason
    detail: str

    @property
    def ours(self) -> bool:
        """True if the validator, its engine or its network is at fault, not the tests of the task."""
        return self.reason != Reason.SANDBOX_TESTS


class Sandbox(Protocol):
    """Runs bundles of strangers in the runtime image, any number at once."""

    async def start(self) -> SandboxFailure | None:
        """Remove leftovers of an earlier process; return why bundles cannot be run, None if they can."""

    async def run(self, job: SandboxJob) -> Evidence | SandboxFailure:
        """Return the evidence of the run, or why there is none; nothing of the run remains."""

    async def close(self) -> None:
        """Free what it holds. Runs that continue must be cancelled before."""


def code_limits() -> SandboxLimits:
    """Return the bounds on judging one plan's code; docs/miner-protocol.md promises them to planners."""
    return SandboxLimits(wall_s=60.0, memory=512 * MIB, scratch=64 * MIB, evidence=MIB)


@dataclass(frozen=True, slots=True)
class CodeJob:
    """One judging of code.

    Attributes:
        image: of the round that the code was made in.
        code: a stranger's, a Python module; not empty, at most 64 KiB.
        tests: the task's, a Python test module that imports the code as `solution`.
    """

    image: RuntimeImage
    code: str
    tests: str
    limits: SandboxLimits = field(default_factory=code_limits)


class CodeSandbox(Protocol):
    """Judges strangers' code away from the host, any number at once."""

    async def start(self) -> SandboxFailure | None:
        """Remove leftovers of an earlier process; return why code cannot be judged, None if it can."""

    async def check(self, job: CodeJob) -> CodeReport | SandboxFailure:
        """Return the report of tests and linter, or why there is none; nothing of the run remains.

        Whatever the code does is a report: code that hangs, dies or writes gigabytes passes fewer tests. A failure that
        is `ours` is tried again later; any other is the task's (`sandbox_tests`): its tests judge nobody's code.
        """

    async def close(self) -> None:
        """Free what it holds. Checks that continue must be cancelled before."""


BUNDLE: Final = "/sssa/bundle"
EVIDENCE: Final = "/sssa/evidence"
SCRATCH: Final = "/tmp"  # noqa: S108 - the image's own, inside the container
TRACER: Final = "tracer"
JUDGE: Final = "code_runner"
USER: Final = "65534:65534"
PLATFORM: Final = "linux/amd64"


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
