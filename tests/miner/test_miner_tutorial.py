"""docs/tutorial-miner.md: its blocks are parts of the template, which passes; each change leads to its fault."""

import asyncio
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest
from aiohttp import web
from check_kit import check_at
from cli_store import called
from miner_kit import VALIDATOR

from miner.check.report import Section, fault_lines
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from validator.daemon.exits import Exit

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial-miner.md").read_text()
TEMPLATE = files("miner.template").joinpath("miner.py").read_text()
KEY = Signer.from_uri("//my-miner")
ANSWERS, WINDOWS, LIMITS = Section.ANSWERS, Section.WINDOWS, Section.LIMITS

# What the page has one change: how, and what is sent to see it.
CHANGES = {
    "`nonce=` one that was sent before, in `skill`": (
        '"bundle_sha256", "nonce")}',
        '"bundle_sha256")} | {"nonce": "00" * 32}',
        ANSWERS,
    ),
    "no `separators` in `sign`": (' separators=(",", ":"),', "", ANSWERS),
    'no `"dependencies"` in the attestation': ('            "dependencies": [],\n', "", ANSWERS),
    "another `key` in `attestation`": (
        "    }\n    return sign(document, key)\n\n\ndef answer",
        '    }\n    return sign(document, Keypair.create_from_uri("//other"))\n\n\ndef answer',
        ANSWERS,
    ),
    "`probe_evidence` without its `dns_host`": (
        '"probe_evidence": dispatch["probe_spec"]',
        '"probe_evidence": {name: said for name, said in dispatch["probe_spec"].items() if name != "dns_host"}',
        ANSWERS,
    ),
    "the text of the nonce in place of its bytes in `marker_of`": (
        'bytes.fromhex(dispatch["nonce"])',
        'dispatch["nonce"].encode()',
        ANSWERS,
    ),
    "the risk in percent": ("RISK[verdict]", "100 * RISK[verdict]", ANSWERS),
    "no `sleep` in `assessments`": ("        await asyncio.sleep(began + t_min_s - time.monotonic())\n", "", WINDOWS),
    "no `client_max_size` in `app`": ("client_max_size=12 * MIB", "", LIMITS),
}


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [block for named, block in found if named == language]


def test_the_blocks_of_the_page_are_parts_of_the_template_in_its_order() -> None:
    places = [TEMPLATE.find(block) for block in blocks("python")]
    assert places == sorted(places)
    assert -1 not in places


def test_the_page_tells_of_every_change() -> None:
    assert [row for row, _ in faults_of_the_page()] == list(CHANGES)


def faults_of_the_page() -> list[tuple[str, str]]:
    _, _, rest = PAGE.partition("<!-- table: faults -->")
    return re.findall(r"^\| (.*?) \| `(\w+)` \|$", rest, re.MULTILINE)


@asynccontextmanager
async def serving(source: str) -> AsyncIterator[Axon]:
    module = ModuleType("miner")
    exec(compile(source, "miner.py", "exec"), module.__dict__)
    runner = web.AppRunner(module.Miner(KEY.keypair, frozenset({VALIDATOR.hotkey})).app(), shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Axon(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(("change", "code"), faults_of_the_page())
async def test_a_change_comes_to_the_fault_that_the_page_names(change: str, code: str) -> None:
    old, new, section = CHANGES[change]
    assert TEMPLATE.count(old) == 1
    async with serving(TEMPLATE.replace(old, new)) as axon:
        report = await check_at(KEY.hotkey, axon, section, types=(SkillType.DECLARATIVE,))
    (line,) = fault_lines(report)
    assert re.match(rf"{code}\b", line), line


def test_the_template_is_copied_and_never_overwrites(tmp_path: Path) -> None:
    done = called("miner", "new", "mine", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "mine" / "miner.py").read_text() == TEMPLATE
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["miner.py", "requirements.txt"]
    (tmp_path / "mine" / "miner.py").write_text("mine")
    again = called("miner", "new", "mine", cwd=tmp_path)
    assert again.returncode == Exit.INPUT
    assert "has a miner.py already: name another folder" in again.stderr
    taken = called("miner", "new", "mine/miner.py", cwd=tmp_path)
    assert taken.returncode == Exit.INPUT
    assert "is no folder" in taken.stderr
    assert (tmp_path / "mine" / "miner.py").read_text() == "mine"


async def test_the_page_is_followed_and_the_miner_passes(tmp_path: Path) -> None:
    lines = [shlex.split(line) for block in blocks("") for line in block.splitlines()]
    (new,), (serve,), (check,) = (
        [line for line in lines if line[: len(begin)] == begin]
        for begin in (["validator", "miner", "new"], ["python"], ["validator", "miner", "check"])
    )
    assert called(*new[1:], cwd=tmp_path).returncode == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    miner = await asyncio.create_subprocess_exec(
        sys.executable, *serve[1:], "--port", str(port), cwd=tmp_path, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert miner.stderr is not None
        told = (await asyncio.wait_for(miner.stderr.readline(), 60)).decode()
        assert told == f"miner {check[-1]} at http://127.0.0.1:{port}\n"
        words = [word.replace("8091", str(port)) for word in check[1:]]
        program = [sys.executable, "-c", "from validator.cli import main; main()", *words]
        done = await asyncio.to_thread(
            subprocess.run, program, capture_output=True, text=True, check=False, timeout=240
        )
    finally:
        miner.terminate()
        await miner.wait()
    assert (done.returncode, done.stdout.splitlines()[-1][:35]) == (0, "passed: 11 of 11 dispatches as a va"), (
        done.stdout
    )
    assert serve[-1] in done.stderr
    assert "to change" not in done.stdout
    (shown,) = blocks("text")
    printed = {without_times(line) for line in done.stdout.splitlines()}
    assert [line for line in shown.splitlines() if without_times(line) not in printed] == []


def without_times(line: str) -> str:
    """A line of the table without how it is laid out, and without the seconds that the miner took."""
    return " ".join(re.sub(r"\d+\.\d\d( +[\d.]+-\d+ )", r"\1", line).split())
