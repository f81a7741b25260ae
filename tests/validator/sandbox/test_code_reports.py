"""Code reports from a runner that returns arbitrary data; its containers are fakes."""

import hmac
from collections.abc import Callable
from pathlib import Path

import pytest
from code_runner import __main__ as runner
from code_runner.judge import MOST_TESTS
from code_runner.keeping import TEST_S

from sssa.protocol.limits import MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.workflow_run import MAX_LINT_FINDINGS, CodeReport
from validator.sandbox.code_containers import TRIAL, ContainerCodeSandbox, sealed
from validator.sandbox.containers import Containers, Owner, Run
from validator.sandbox.engine import Engine
from validator.sandbox.interface import CodeJob, Ended, Evidence, SandboxFailure, code_limits

RUNNER = RuntimeImage("registry.example/runner", "sha256:" + "ab" * 32)
JOB = CodeJob(RUNNER, "def add(a, b): return a + b", "from solution import add\ndef test_add(): assert add(1, 2) == 3")
WELL = b'{"passed": 1, "total": 1, "findings": 0}'
CODES_DOING = CodeReport(0, 0, MAX_LINT_FINDINGS)
Outcome = Evidence | SandboxFailure
Runner = Callable[[bytes, bytes], Outcome]


def evidence_of(report: bytes, key: bytes, ended: Ended = Ended.BY_ITSELF, code: int = 0) -> Evidence:
    mac = hmac.digest(key, report, "sha256").hex().encode()
    return Evidence({"report.json": report, "report.mac": mac}, ended, code, 1.0, b"")


class Scripted(Containers):
    """Containers in which known code is judged as it should be, and other code as the script says."""

    def __init__(self, script: Runner, trial: Runner | None = None) -> None:
        super().__init__(Engine("unix:///nowhere"), Owner("test"))
        self.script = script
        self.trial = trial or (lambda _, key: evidence_of(WELL, key))
        self.runs: list[Run] = []
        self.trials = 0

    async def start(self) -> SandboxFailure | None:
        return None

    async def execute(self, image: RuntimeImage, run: Run) -> Outcome:
        assert image == RUNNER
        self.runs.append(run)
        key = bytes.fromhex(run.variables["SSSA_KEY"])
        known = sealed(key, TRIAL[1].encode()) in run.bundle
        self.trials += known
        return (self.trial if known else self.script)(run.bundle, key)


async def report_of(script: Runner, trial: Runner | None = None) -> CodeReport | SandboxFailure:
    return await ContainerCodeSandbox(Scripted(script, trial)).check(JOB)


async def test_a_report_under_the_runs_own_key_is_taken() -> None:
    report = b'{"passed": 2, "total": 3, "findings": 4}'
    assert await report_of(lambda _, key: evidence_of(report, key)) == CodeReport(2, 3, 4)


async def test_tests_reach_the_runner_sealed_by_a_key_of_the_run() -> None:
    containers = Scripted(lambda _, key: evidence_of(WELL, key))
    sandbox = ContainerCodeSandbox(containers)
    for _ in range(2):
        await sandbox.check(JOB)
    assert containers.trials == 1
    runs = [run for run in containers.runs if JOB.code.encode() in run.bundle]
    keys = [bytes.fromhex(run.variables["SSSA_KEY"]) for run in runs]
    assert len(set(keys)) == 2
    for run, key in zip(runs, keys, strict=True):
        assert JOB.tests.encode() not in run.bundle
        assert sealed(key, JOB.tests.encode()) in run.bundle
        assert sealed(key, sealed(key, JOB.tests.encode())) == JOB.tests.encode()


@pytest.mark.parametrize(
    "script",
    [
        lambda _, key: Evidence({}, Ended.BY_ITSELF, 0, 1.0, b""),
        lambda _, key: evidence_of(WELL, b"another key"),
        lambda _, key: Evidence({"report.json": WELL}, Ended.BY_ITSELF, 0, 1.0, b""),
        lambda _, key: Evidence({"report.json": WELL, "report.mac": b"\xff" * 64}, Ended.BY_ITSELF, 0, 1.0, b""),
        lambda _, key: Evidence({}, Ended.OUT_OF_TIME, 137, 60.0, b""),
        lambda _, key: Evidence({}, Ended.OUT_OF_MEMORY, 137, 1.0, b""),
        lambda _, key: SandboxFailure(Reason.SANDBOX_EVIDENCE, "links"),
    ],
    ids=["nothing", "forged", "unsigned", "odd", "out of time", "out of memory", "odd evidence"],
)
async def test_a_run_without_a_report_is_the_codes_doing_where_known_code_is_judged(script: Runner) -> None:
    containers = Scripted(script)
    assert await ContainerCodeSandbox(containers).check(JOB) == CODES_DOING
    assert (containers.trials, len(containers.runs)) == (3, 5)  # known code first, and after each run


async def test_a_run_without_a_report_is_ours_where_known_code_is_not_judged_either() -> None:
    trials = iter([WELL])

    def trial(_: bytes, key: bytes) -> Outcome:
        return evidence_of(next(trials, b"{}"), key)

    found = await report_of(lambda _, key: Evidence({}, Ended.BY_ITSELF, 1, 1.0, b""), trial)
    assert isinstance(found, SandboxFailure)
    assert (found.reason, found.ours) == (Reason.SANDBOX_UNSUITABLE, True)


@pytest.mark.parametrize(
    "report",
    [
        b"{}",
        b"",
        b"[1]",
        b'{"passed": 4, "total": 3, "findings": 0}',
        b'{"passed": 1, "total": 3, "findings": 0, "more": 1}',
        WELL + b" " * 2_000,
        b'{"fault": 3}',
        b'{"late": false}',
        b'{"fault": "' + b"x" * 5_000 + b'"}',
    ],
)
async def test_a_runner_of_another_version_is_ours(report: bytes) -> None:
    found = await report_of(lambda _, key: evidence_of(report, key))
    assert isinstance(found, SandboxFailure)
    assert (found.reason, found.ours) == (Reason.SANDBOX_UNSUITABLE, True)
    assert "the runtime image does not judge code" in found.detail


async def test_tests_that_judge_nobodys_code_are_the_tasks_fault() -> None:
    found = await report_of(lambda _, key: evidence_of(b'{"fault": "there is no \\u001b[2Jtest"}', key))
    assert found == SandboxFailure(Reason.SANDBOX_TESTS, "there is no \\u001b[2Jtest")
    assert not found.ours


async def test_a_machine_that_stood_still_is_ours() -> None:
    found = await report_of(lambda _, key: evidence_of(b'{"late": true}', key))
    assert isinstance(found, SandboxFailure)
    assert (found.reason, found.ours) == (Reason.SANDBOX_SLOW, True)


@pytest.mark.parametrize(
    "failure",
    [
        SandboxFailure(Reason.SANDBOX_NO_ENGINE, "away"),
        SandboxFailure(Reason.SANDBOX_IMAGE, "no route"),
        SandboxFailure(Reason.SANDBOX_ENGINE, "no such program"),
    ],
)
async def test_what_keeps_our_own_image_from_running_is_ours(failure: SandboxFailure) -> None:
    for trial in (lambda _, key: failure, None):
        found = await report_of(lambda _, key: failure, trial)
        assert found == failure
        assert failure.ours


async def test_one_run_without_a_report_says_nothing_of_the_code() -> None:
    killed = iter([Evidence({}, Ended.BY_ITSELF, 137, 1.0, b"")])
    assert await report_of(lambda _, key: next(killed, None) or evidence_of(WELL, key)) == CodeReport(1, 1, 0)


def test_operators_and_planners_are_told_the_limits() -> None:
    limits, docs = code_limits(), Path(__file__).parents[3] / "docs"
    share, memory = runner._SHARE, runner._MEMORY // MIB
    assert (limits.wall_s, runner._SECONDS, TEST_S, limits.cpus) == (60, 60, 10, 1)
    told = f"at most {limits.wall_s:g} s ({limits.wall_s * share:g} for all tests, {TEST_S:g} each)"
    assert f"{told}, {limits.memory // MIB} MiB, one processor and {limits.processes} processes" in page(
        docs / "operators" / "sandbox.md"
    )
    planners = page(docs / "miner-protocol.md")
    assert f"({limits.scratch // MIB} MiB), {memory} MiB of memory, {TEST_S:g} s for each test" in planners
    assert f"{limits.wall_s * share:g} s for all tests" in planners
    assert f"most {MOST_TESTS:,}" in page(docs / "workflows.md")


def page(file: Path) -> str:
    return " ".join(file.read_text().split())
