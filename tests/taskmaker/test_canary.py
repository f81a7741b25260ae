import ast
import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sssa.protocol.answer import canary_line
from sssa.protocol.bundles import count_lines, read_bundle, with_canary
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from sssa.protocol.task import Windows
from sssa.sources import Draws, SeededRandom, SystemRandom
from taskmaker.canary import is_harmless, make_canary
from taskmaker.planting.lexicon import Scope
from taskmaker.planting.planting import Files
from taskmaker.planting.skeletons import draw_skeleton, word_lists
from validator.tasks.folder import faults, read_task

NONCE = "0123456789abcdef" * 4
SEEDS = [f"canary {n}" for n in range(6)]


def files_of(skill_type: SkillType, seed: str) -> Files:
    """Return the files of a canary without a fault: tests run them, which they must not do with planted content."""
    return draw_skeleton(skill_type, Draws(SeededRandom(seed)))[0]


def unpacked(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
def test_no_two_canaries_have_the_same_hash(skill_type: SkillType) -> None:
    made = {make_canary(skill_type, SystemRandom()).task.bundle_sha256 for _ in range(8)}
    assert len(made) == 8


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
def test_canaries_follow_from_their_random_bytes(skill_type: SkillType) -> None:
    assert make_canary(skill_type, SeededRandom("a")) == make_canary(skill_type, SeededRandom("a"))


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
@settings(max_examples=4)
@given(seed=st.text(max_size=8))
def test_a_canary_is_a_sound_task_whose_truth_is_what_was_planted(skill_type: SkillType, seed: str) -> None:
    canary = make_canary(skill_type, SeededRandom(seed))
    task = canary.task
    assert list(faults(task, canary.bundle)) == []
    assert task.skill_type is skill_type
    assert task.provenance == "canary"
    assert task.windows is None
    assert task.truth is not None
    assert isinstance(task.truth.findings, tuple)
    assert task.truth.findings or (task.truth.verdict, task.truth.reference_risk) == ("ALLOW", 0.0)
    assert (task.canary is None) == is_runtime(skill_type)
    assert is_harmless(canary) == (not task.truth.findings)


def test_a_canary_on_disk_reads_back(tmp_path: Path) -> None:
    windows = Windows(primary=(0, 6), auditor=(0, 4))
    canary = make_canary(SkillType.MCP_SERVER, SystemRandom(), windows)
    (tmp_path / "bundle.tar.gz").write_bytes(canary.bundle)
    (tmp_path / "task.json").write_bytes(msgspec.json.encode(canary.task))
    assert replace(read_task(tmp_path), nonce=canary.nonce) == canary
    assert canary.task.windows == windows


@pytest.mark.parametrize("seed", SEEDS)
def test_the_marker_is_the_last_line_and_shifts_no_other(seed: str) -> None:
    canary = make_canary(SkillType.DECLARATIVE, SeededRandom(seed))
    assert canary.task.canary is not None
    name = canary.task.canary.file
    before = read_bundle(canary.bundle)
    after = read_bundle(with_canary(before, name, NONCE))
    lines = after[name].decode().split("\n")
    assert lines[-2:] == [canary_line(NONCE, name), ""]
    assert lines[:-2] == before[name].decode().split("\n")[:-1]
    assert count_lines(after[name]) == count_lines(before[name]) + 1
    assert {**after, name: b""} == {**before, name: b""}


@pytest.mark.parametrize("skill_type", [SkillType.DECLARATIVE, SkillType.MCP_SERVER])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_canary_follows_the_layout_of_its_type(skill_type: SkillType, seed: str) -> None:
    files = files_of(skill_type, seed)
    manifest = json.loads(files["manifest.json"])
    assert sorted(manifest) == ["capabilities", "description", "entry_point", "name", "skill_type", "version"]
    assert manifest["skill_type"] == skill_type
    assert manifest["entry_point"] in files
    for content in files.values():
        assert content.decode().isascii()
        assert b"{a}" not in content
        assert b"@" not in content


def test_every_phrase_can_be_filled_in() -> None:
    scope = Scope(Draws(SeededRandom("phrases")), {}, word_lists())
    for name in ("topic", "subject"):
        for entry in scope.rows(name):
            assert isinstance(entry, Mapping)
            for phrase in (phrase for values in entry.values() for phrase in values):
                told = scope.child({}, entry).fill(str(phrase))
                assert told
                assert "@" not in told


def test_tool_names_are_used_once() -> None:
    names = [name for tool in word_lists()["tool"] for name in tool["called"]]
    assert len(set(names)) == len(names)


def test_mcp_canaries_are_clean_code(tmp_path: Path) -> None:
    for number, seed in enumerate(SEEDS):
        files = files_of(SkillType.MCP_SERVER, seed)
        tree = ast.parse(files["server.py"])
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert imported <= set(sys.stdlib_module_names)
        unpacked(tmp_path / str(number), files)
    command = [sys.executable, "-m", "bandit", "--quiet", "--recursive", "--format", "json", str(tmp_path)]
    review = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(review.stdout)
    assert len([name for name in report["metrics"] if name.endswith("server.py")]) == len(SEEDS)
    assert (report["results"], report["errors"]) == ([], [])


async def talk(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """Send the lines to the server in `folder` and return its answers once it has ended at the end of its input."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-W", "error", "server.py"),
        cwd=folder,
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, complaints = await process.communicate("".join(line + "\n" for line in lines).encode())
    assert (process.returncode, complaints) == (0, b"")
    return [json.loads(line) for line in out.splitlines()]


def request(number: int, method: str, params: Any = None) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {} if params is None else params})


def arguments_for(name: str) -> dict[str, Any]:
    return next(json.loads(tool["example"]) for tool in word_lists()["tool"] if name in tool["called"])


@pytest.mark.parametrize("seed", SEEDS[:4])
async def test_an_mcp_canary_answers_over_stdio(tmp_path: Path, seed: str) -> None:
    files = files_of(SkillType.MCP_SERVER, seed)
    manifest = json.loads(files["mcp.json"])
    calls = [{"name": tool["name"], "arguments": arguments_for(tool["name"])} for tool in manifest["tools"]]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    answers = await talk(
        unpacked(tmp_path, files),
        request(1, "initialize", hello),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(2, "tools/list"),
        *(request(3 + n, "tools/call", call) for n, call in enumerate(calls)),
    )
    assert [answer["id"] for answer in answers] == list(range(1, 3 + len(calls)))
    info = answers[0]["result"]
    assert (info["protocolVersion"], info["serverInfo"]["name"]) == ("2025-06-18", manifest["name"])
    assert answers[1]["result"]["tools"] == manifest["tools"]
    for answer in answers[2:]:
        assert answer["result"]["isError"] is False
        assert answer["result"]["content"][0]["text"]


@pytest.mark.parametrize("seed", SEEDS[:2])
async def test_an_mcp_canary_survives_bad_requests(tmp_path: Path, seed: str) -> None:
    files = files_of(SkillType.MCP_SERVER, seed)
    name = json.loads(files["mcp.json"])["tools"][0]["name"]
    answers = await talk(
        unpacked(tmp_path, files),
        request(1, "tools/call", {"name": "absent", "arguments": {}}),
        request(2, "tools/call", {"name": name, "arguments": {"wrong": 1}}),
        request(3, "tools/call", {"name": [name], "arguments": {}}),
        request(4, "tools/call", [1]),
        request(5, "no/such"),
        json.dumps({"jsonrpc": "2.0", "id": 6, "method": ["ping"]}),
        request(7, "ping"),
        "",
    )
    by_id = {answer["id"]: answer for answer in answers}
    codes = {number: by_id[number].get("error", {}).get("code") for number in (1, 3, 4, 5, 6)}
    assert codes == {1: -32602, 3: -32602, 4: -32602, 5: -32601, 6: -32601}
    assert by_id[2]["result"]["isError"] is True
    assert by_id[7]["result"] == {}


def test_the_manifest_hash_is_that_of_mcp_json() -> None:
    canary = make_canary(SkillType.MCP_SERVER, SeededRandom("x"))
    truth = canary.task.truth
    assert truth is not None
    assert truth.manifest_sha256 == sha256_hex(read_bundle(canary.bundle)["mcp.json"])
    assert truth.poisoned_tools is not None


@pytest.mark.parametrize("tool", word_lists()["tool"], ids=lambda tool: tool["called"][0])
def test_every_tool_takes_its_example_and_fails_softly_on_nonsense(tool: Any) -> None:
    space: dict[str, Any] = {}
    exec(f"{tool['imports']}\n{tool['source'].replace('@tool.called@', 'run')}", space)
    assert isinstance(space["run"](**json.loads(tool["example"])), str)
    values: tuple[Any, ...] = (None, "", [], -1, 0.5, float("nan"), {})
    for nonsense in values:
        try:
            space["run"](**dict.fromkeys((one["name"] for one in tool["arguments"]), nonsense))
        except (TypeError, ValueError, AttributeError, ArithmeticError):
            continue


def test_threads_that_draw_at_once_from_a_seed_get_different_bytes() -> None:
    random, before = SeededRandom("network"), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            drawn = [*threads.map(lambda _: [random.token(16) for _ in range(2_500)], range(8))]
    finally:
        sys.setswitchinterval(before)
    assert len({token for some in drawn for token in some}) == 8 * 2_500
