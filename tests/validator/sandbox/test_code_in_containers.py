"""Strangers' modules judged in real containers: what they try against their judge, and what is left of it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from code_kit import code_sandbox, judged_in
from engine_kit import NOTHING, Registry, left_behind

from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.workflow_run import MAX_LINT_FINDINGS, CodeReport
from validator.sandbox.code_containers import ContainerCodeSandbox
from validator.sandbox.containers import OWNER
from validator.sandbox.interface import CodeJob, SandboxFailure, code_limits

pytestmark = pytest.mark.engine

FINE = '''
def fine():
    """Return 1."""
    return 1
'''


@pytest.fixture
async def sandbox(registry: Registry) -> AsyncIterator[ContainerCodeSandbox]:
    async with code_sandbox() as (_, opened):
        yield opened


def trying(*calls: str) -> str:
    """A test for each call, true if it returns anything true, and one that is fine."""
    lines = "".join(f"def test_{number}():\n    assert solution.{call}\n\n" for number, call in enumerate(calls))
    return f"import solution\n\n\n{lines}\ndef test_fine():\n    assert solution.fine() == 1\n"


async def test_good_code_passes_and_bad_code_fails(sandbox: ContainerCodeSandbox, runtime_image: RuntimeImage) -> None:
    tests = (
        "from solution import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\ndef test_none():\n    add(0, 0)\n"
    )
    assert await sandbox.start() is None
    assert await judged_in(sandbox, runtime_image, "def add(a, b):\n    return a + b\n", tests) == CodeReport(2, 2, 0)
    assert await judged_in(
        sandbox, runtime_image, "import os\n\n\ndef add(a, b):\n    return a - b\n", tests
    ) == CodeReport(1, 2, 1)
    assert await judged_in(sandbox, runtime_image, "def add(:\n", tests) == CodeReport(0, 2, 2)
    failure = await sandbox.check(CodeJob(runtime_image, "x = 1\n", "import nowhere\n\n\ndef test_a():\n    pass\n"))
    assert isinstance(failure, SandboxFailure)
    assert (failure.reason, failure.ours) == (Reason.SANDBOX_TESTS, False)
    assert "nowhere" in failure.detail


FORGING = '''
import ctypes, glob, hashlib, hmac, json, os, signal, socket, subprocess, sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
EVIDENCE = Path("/sssa/evidence")
WELL = b'{"passed": 9, "total": 9, "findings": 0}'

def fine():
    return 1

def others():
    """Every other process, the keeper and the judge among them."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if int(path.name) != os.getpid()]

def reads(name):
    found = []
    for pid in others():
        try:
            data = Path(f"/proc/{pid}/{name}").read_bytes()
            if data:
                found.append(data[:100])
        except OSError:
            pass
    return found

def finds_the_key():
    for pid in others():
        try:
            if any(part.startswith(b"SSSA_KEY=") for part in Path(f"/proc/{pid}/environ").read_bytes().split(b"\\0")):
                return True
        except OSError:
            pass
    return False

def writes_verdicts():
    """To every descriptor of others that can be opened."""
    written = []
    for pid in others():
        for name in range(20):
            try:
                opened = os.open(f"/proc/{pid}/fd/{name}", os.O_WRONLY | os.O_NONBLOCK)
                if os.readlink(f"/proc/self/fd/{opened}").startswith(("pipe:", "socket:")):
                    written.append(os.write(opened, b'["end", "test_0#0", true]\\n'))
            except OSError:
                pass
    return written

def opens_descriptors():
    found = []
    for pid in others():
        try:
            found += [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            pass
    return found

def traces():
    return [pid for pid in others() if LIBC.ptrace(16, pid, 0, 0) == 0]

def reads_memory():
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    buffer = ctypes.create_string_buffer(64)
    local = Vector(ctypes.addressof(buffer), 64)
    found = []
    for pid in others():
        for address in (0x400000, 0x555555554000):
            remote = Vector(address, 64)
            if LIBC.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) > 0:
                found.append(pid)
    return found

def finds_the_tests():
    for place in ("/sssa", "/tmp", "/runner", "/dev/shm"):
        for path in Path(place).rglob("*"):
            try:
                if path.is_file() and b"magic" + b"-word" in path.read_bytes():
                    return True
            except OSError:
                pass
    return "SSSA_KEY" in os.environ

def writes_the_report():
    """Leave a report, and folders, links and more in the way of another one."""
    for name, content in (("report.json", WELL), ("report.mac", hmac.digest(b"", WELL, "sha256").hex().encode())):
        try:
            (EVIDENCE / name).write_bytes(content)
        except OSError:
            pass
    try:
        (EVIDENCE / "report.tmp").symlink_to("/etc/passwd")
        (EVIDENCE / "folder").mkdir()
        (EVIDENCE / "folder" / "file").write_bytes(b"x" * 300_000)
        os.mkfifo(EVIDENCE / "pipe")
        os.chmod(EVIDENCE / "folder", 0)
        while True:
            (EVIDENCE / f"more-{len(list(EVIDENCE.iterdir()))}").write_bytes(b"")
    except OSError:
        pass
    return False

def keeps_writing():
    """From a process that wants to outlive everybody."""
    script = "while True:\\n    open('/sssa/evidence/report.json', 'wb').write(%r)\\n"
    subprocess.Popen([sys.executable, "-c", script % WELL], start_new_session=True, stdin=subprocess.DEVNULL)
    return False

def kills():
    for name in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP):
        try:
            os.kill(1, name)
        except OSError:
            pass
    os.kill(-1, signal.SIGKILL)

def changes_the_program():
    try:
        Path("/runner/code_runner/judge.py").write_text("")
        return True
    except OSError:
        pass
    for place in (Path("/tmp/conftest.py"), Path("/tmp/pytest.py"), Path("/tmp/sitecustomize.py")):
        place.write_text("import sys\\nprint(3)\\nsys.exit(0)\\n")
    return False
'''
KEPT_BY_LINUX = ("reads('environ')", "reads('maps')", "reads('fdinfo/1')", "opens_descriptors()")
TRIED = (
    "reads('mem')",
    "finds_the_key()",
    "writes_verdicts()",
    "traces()",
    "reads_memory()",
    "finds_the_tests()",
    "changes_the_program()",
    "writes_the_report()",
    "keeps_writing()",
)
KILLED = ("kills()",)


@pytest.mark.parametrize("runtime", [None, "runsc"])
async def test_the_report_is_not_forged(registry: Registry, runtime_image: RuntimeImage, runtime: str | None) -> None:
    async with code_sandbox(runtime=runtime) as (containers, sandbox):
        if runtime is not None and runtime not in (await containers._engine.info())["Runtimes"]:
            pytest.skip(f"the engine knows no runtime {runtime}")
        tried = TRIED if runtime else KEPT_BY_LINUX + TRIED + KILLED
        found = await judged_in(sandbox, runtime_image, FORGING, f"{trying(*tried)}WORD = 'magic-word'\n", wall_s=120)
    assert (found.passed, found.total) == (1, len(tried) + 1)


async def test_killing_the_keeper_is_worth_nothing(registry: Registry, runtime_image: RuntimeImage) -> None:
    """GVisor allows this kill; a kernel does not."""
    async with code_sandbox(runtime="runsc") as (containers, sandbox):
        if "runsc" not in (await containers._engine.info())["Runtimes"]:
            pytest.skip("the engine knows no runtime runsc")
        found = await judged_in(sandbox, runtime_image, FORGING, trying("kills()"))
    assert found in {CodeReport(0, 0, MAX_LINT_FINDINGS), CodeReport(1, 2, found.findings)}


async def test_what_hangs_forks_eats_or_shouts_costs_itself(
    sandbox: ContainerCodeSandbox, runtime_image: RuntimeImage
) -> None:
    code = f"""{FINE}
import os, signal, socket, subprocess, time

def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass

def bomb():
    while True:
        try:
            os.fork()
        except OSError:
            pass

def eat():
    kept = []
    while True:
        kept.append(bytearray(50_000_000))

def eat_together():
    for _ in range(20):
        if os.fork() == 0:
            try:
                kept = bytearray(os.urandom(1_000_000) * 200)
                time.sleep(1000)
            finally:
                os._exit(0)
    time.sleep(1000)

def fill():
    with open("/tmp/big", "wb") as file:
        while True:
            file.write(bytes(1_000_000))

def shout():
    for _ in range(200):
        os.write(1, b"x" * 1_000_000)
        os.write(2, b"x" * 1_000_000)
    return False

def call():
    reached = []
    for address in (("1.1.1.1", 53), ("172.17.0.1", 80), ("169.254.169.254", 80), ("127.0.0.1", 5000)):
        try:
            socket.create_connection(address, timeout=1)
            reached.append(address)
        except OSError:
            pass
    return reached
"""
    calls = ("bomb()", "eat()", "eat_together()", "fill()", "shout()", "call()")
    found = await judged_in(sandbox, runtime_image, code, trying(*calls), wall_s=80.0)
    assert (found.passed, found.total) == (1, len(calls) + 1)


async def test_tests_that_are_never_reached_have_not_passed(
    sandbox: ContainerCodeSandbox, runtime_image: RuntimeImage
) -> None:
    code = f"{FINE}\n\ndef hang():\n    while True:\n        pass\n"
    found = await judged_in(sandbox, runtime_image, code, trying(*["hang()"] * 8), wall_s=10.0)
    assert (found.passed, found.total) == (0, 9)


async def test_code_that_keeps_its_judging_from_an_end_is_worth_nothing(
    sandbox: ContainerCodeSandbox, runtime_image: RuntimeImage
) -> None:
    """As far as the sandbox sees: known code is judged right after it."""
    found = await sandbox.check(
        CodeJob(runtime_image, FINE, trying(), replace(code_limits(), entries=2))
    )  # as if it had filled it
    assert found == CodeReport(0, 0, MAX_LINT_FINDINGS)


async def test_an_image_that_judges_nothing_is_ours(registry: Registry, runtime_image: RuntimeImage) -> None:
    wrong, unknown = await registry.image(), RuntimeImage(runtime_image.reference, "sha256:" + "5e" * 32)
    for image, reason in ((wrong, Reason.SANDBOX_UNSUITABLE), (unknown, Reason.SANDBOX_IMAGE)):
        async with code_sandbox() as (_, sandbox):
            failure = await sandbox.check(CodeJob(image, FINE, trying()))
        assert isinstance(failure, SandboxFailure)
        assert (failure.reason, failure.ours) == (reason, True)


async def test_a_runner_that_is_killed_from_outside_is_started_again(
    registry: Registry, runtime_image: RuntimeImage
) -> None:
    async with code_sandbox() as (containers, sandbox):
        assert await judged_in(sandbox, runtime_image, FINE, trying()) == CodeReport(1, 1, 0)
        code = f"{FINE}\n\ndef slow():\n    import time\n\n    time.sleep(3)\n    return True\n"
        checking = asyncio.ensure_future(sandbox.check(CodeJob(runtime_image, code, trying("slow()"))))
        found: list[str] = []
        while not found:
            listed = await containers._engine.containers(OWNER)
            found = [one["Id"] for one in listed if one["Names"][0].endswith("-image") and one["State"] == "running"]
        await containers._engine.kill(found[0])
        assert await checking == CodeReport(2, 2, 0)


async def test_a_check_that_is_cancelled_leaves_nothing(registry: Registry, runtime_image: RuntimeImage) -> None:
    async with code_sandbox() as (containers, sandbox):
        checking = asyncio.ensure_future(sandbox.check(CodeJob(runtime_image, "while True: pass\n", trying())))
        while not any(one["State"] == "running" for one in await containers._engine.containers(OWNER)):
            pass
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking
        assert await left_behind() == NOTHING
