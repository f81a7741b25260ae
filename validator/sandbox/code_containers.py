"""Judging of a workflow's code in containers: runs the runtime image with sealed tests, believes only its report."""

import asyncio
import hashlib
import hmac
from typing import Annotated, Final, Literal

from msgspec import Meta

from sssa.protocol.archives import pack_tar
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.sssa import Document
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.text import printable
from sssa.protocol.workflow_run import MAX_LINT_FINDINGS, CodeReport, parse_code_report
from sssa.sources import SystemRandom
from validator.sandbox.containers import Containers, Run
from validator.sandbox.interface import BUNDLE, EVIDENCE, JUDGE, SCRATCH, CodeJob, Evidence, SandboxFailure

NOTHING: Final = CodeReport(0, 0, MAX_LINT_FINDINGS)
"""The report of code that prevents its own judging."""
TRIAL: Final = (
    "def answer():\n    return 42\n",
    "from solution import answer\n\n\ndef test_answer():\n    assert answer() == 42\n",
)
"""Known code and its tests."""
_TRIED: Final = CodeReport(1, 1, 0)
_KEY: Final = 32  # bytes
_RUNS: Final = 2  # of code whose judging comes to no report
_MAX_FAULT: Final = 4_096  # bytes of a report that names what is wrong with the tests
_MAX_SHOWN: Final = 300


class _Fault(Document, frozen=True):
    fault: Annotated[str, Meta(max_length=_MAX_FAULT)]


class _Late(Document, frozen=True):
    late: Literal[True]


class ContainerCodeSandbox:
    """A `CodeSandbox` over containers that it shares: their owner closes them.

    After a run without a report it judges known code, and then the same code again: if known code is judged and this
    code has no report twice, the code prevents its own judging.
    """

    def __init__(self, containers: Containers) -> None:
        self._containers = containers
        self._trying = asyncio.Lock()
        self._tried: RuntimeImage | None = None

    async def start(self) -> SandboxFailure | None:
        """Return why no code can be judged in any image; None if it can."""
        return await self._containers.start()

    async def check(self, job: CodeJob) -> CodeReport | SandboxFailure:
        """Return the report of tests and linter; the image is tried first. See `CodeSandbox.check`."""
        if (failure := await self.start()) is not None:
            return failure
        async with self._trying:
            failure = None if self._tried == job.image else await self._try(job.image)
        if failure is not None:
            return failure
        for _ in range(_RUNS):
            result = await self._once(job)
            if result is not None:
                return result
            async with self._trying:
                failure = await self._try(job.image)
            if failure is not None:
                return failure
        return NOTHING

    async def close(self) -> None:
        """Do nothing: the owner closes the containers."""

    async def _try(self, image: RuntimeImage) -> SandboxFailure | None:
        """Judge known code; return the fault of image or engine, None if it is judged."""
        result = await self._once(CodeJob(image, *TRIAL))
        self._tried = image if result == _TRIED else None
        if self._tried or (isinstance(result, SandboxFailure) and result.ours):
            return result if isinstance(result, SandboxFailure) else None
        return _unsuitable(f"the result for known code is {printable(str(result), _MAX_SHOWN)}")

    async def _once(self, job: CodeJob) -> CodeReport | SandboxFailure | None:
        """Return the result of a run; None if the code may have kept the runner from its report."""
        key = SystemRandom().token(_KEY)
        bundle = {
            "solution.py": job.code.encode("utf-8", "surrogatepass"),
            "tests.sealed": sealed(key, job.tests.encode("utf-8", "surrogatepass")),
        }
        variables = {
            "SSSA_KEY": key.hex(),
            "SSSA_BUNDLE": BUNDLE,
            "SSSA_EVIDENCE": EVIDENCE,
            "SSSA_SECONDS": f"{job.limits.wall_s:g}",
            "HOME": SCRATCH,
            "TMPDIR": SCRATCH,
        }
        run = Run(JUDGE, pack_tar(bundle), variables, job.limits)
        result = await self._containers.execute(job.image, run)
        if isinstance(result, SandboxFailure):
            return None if result.reason == Reason.SANDBOX_EVIDENCE else result
        return _read(result, key)


def sealed(key: bytes, data: bytes) -> bytes:
    """Encrypt or decrypt data with a one-time key.

    The bundle's folder can be read by the code that is judged, the keeper's variables cannot.
    """
    stream = hashlib.shake_256(key).digest(len(data))
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def _read(evidence: Evidence, key: bytes) -> CodeReport | SandboxFailure | None:
    """Return the report of a runner that had the key; None without one."""
    report, mac = evidence.files.get("report.json", b""), evidence.files.get("report.mac", b"")
    if not hmac.compare_digest(mac, hmac.digest(key, report, "sha256").hex().encode()):
        return None
    try:
        if report.startswith(b'{"fault"'):
            fault = decode(report, _Fault, limit=_MAX_FAULT).fault
            return SandboxFailure(Reason.SANDBOX_TESTS, printable(fault, _MAX_SHOWN))
        if report.startswith(b'{"late"'):
            decode(report, _Late, limit=_MAX_FAULT)
            return SandboxFailure(Reason.SANDBOX_SLOW, "the machine stood still, or was too slow to start the tests")
        return parse_code_report(report)
    except JsonError as error:
        return _unsuitable(f"its report is none of this version: {error}")


def _unsuitable(what: str) -> SandboxFailure:
    return SandboxFailure(Reason.SANDBOX_UNSUITABLE, f"the runtime image does not judge code: {what}")
