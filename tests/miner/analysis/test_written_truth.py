"""A thorough analysis agrees with what is true of the written bundles; what is said to be true, is."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from analysis_kit import assert_fits_document

from miner.analysis import analyse
from miner.bundles.written import WrittenBundle, written_bundles
from sssa.protocol.answer import canary_marker
from sssa.protocol.bundles import evidence_resolves, index_bundle, read_bundle, with_canary
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from sssa.protocol.sssa import parse_evidence_ref
from sssa.protocol.task import parse_task

BUNDLES = {bundle.name: bundle for bundle in written_bundles()}
NONCE = "5a" * 32
each_bundle = pytest.mark.parametrize("name", BUNDLES)


def of_type(skill_type: SkillType) -> list[str]:
    return [name for name, bundle in BUNDLES.items() if bundle.skill_type is skill_type]


def test_every_type_has_good_and_bad_bundles() -> None:
    for skill_type in ASSESSED_TYPES:
        verdicts = {BUNDLES[name].truth.verdict for name in of_type(skill_type)}
        assert verdicts == {"ALLOW", "REVIEW", "BLOCK"}


@each_bundle
def test_analysis_agrees_with_truth(name: str) -> None:
    bundle = BUNDLES[name]
    truth = bundle.truth
    analysis = analyse(bundle.files, bundle.skill_type)
    assert analysis.verdict == truth.verdict
    assert truth.reference_risk is not None
    assert abs(analysis.risk_score - truth.reference_risk) <= 0.25
    assert truth.policy_rules is not None
    assert set(analysis.rules) == set(truth.policy_rules)
    assert analysis.manifest_sha256 == truth.manifest_sha256
    injections = {f.evidence_ref for f in analysis.findings if f.category == "prompt_injection"}
    assert injections == set(truth.injections or ())
    poisoned = {f.target_pattern for f in analysis.findings if f.category == "tool_poisoning"}
    if truth.poisoned_tools is not None:
        assert poisoned == set(truth.poisoned_tools)
    if truth.transitive_risk is not None:
        assert abs(analysis.risk_score - truth.transitive_risk) <= 0.1
    assert_fits_document(analysis, bundle.files, bundle.skill_type)


@each_bundle
def test_truth_holds_what_its_type_is_scored_by(name: str) -> None:
    bundle = BUNDLES[name]
    truth = bundle.truth
    assert (truth.injections is not None) == (not is_runtime(bundle.skill_type))
    assert (bundle.canary is not None) == (not is_runtime(bundle.skill_type))
    assert (truth.shell_commands is not None) == (bundle.skill_type is SkillType.EXECUTABLE_SCRIPT)
    assert (truth.transitive_risk is not None) == (bundle.skill_type is SkillType.AGENT_COMPOSITION)
    server = bundle.skill_type is SkillType.MCP_SERVER
    assert (truth.manifest_sha256 is not None) == (truth.poisoned_tools is not None) == server
    if server:
        assert truth.manifest_sha256 == sha256_hex(bundle.files["mcp.json"])
    counts = {entry.path: entry.lines for entry in index_bundle(bundle.files)}
    for ref in truth.injections or ():
        assert evidence_resolves(parse_evidence_ref(ref), counts)
    document = json.loads(bundle.files["manifest.json"])
    assert document["skill_type"] == bundle.skill_type


@each_bundle
def test_bundle_packs_into_a_task_that_is_accepted(name: str) -> None:
    bundle = BUNDLES[name]
    task = parse_task(canonical_bytes(bundle.task()))
    assert task.bundle_sha256 == sha256_hex(bundle.packed())
    assert read_bundle(bundle.packed()) == dict(bundle.files)


@pytest.mark.parametrize("name", [*of_type(SkillType.RAG_KNOWLEDGE), *of_type(SkillType.DECLARATIVE)])
def test_canary_is_found_and_changes_nothing_else(name: str) -> None:
    bundle = BUNDLES[name]
    assert bundle.canary is not None
    file = bundle.canary.file
    marked = read_bundle(with_canary(bundle.files, file, NONCE))
    plain, found = (
        analyse(bundle.files, bundle.skill_type),
        analyse(marked, bundle.skill_type, canary_marker=canary_marker(NONCE)),
    )
    last = marked[file].count(b"\n")
    canaries = [f for f in found.findings if f.category == "canary_match"]
    assert [(f.evidence_ref, f.target_pattern) for f in canaries] == [(f"{file}#L{last}-L{last}", file)]
    assert (found.verdict, found.risk_score, found.rules) == (plain.verdict, plain.risk_score, plain.rules)
    assert {f.evidence_ref for f in plain.findings} <= {f.evidence_ref for f in found.findings}


def folder_of(bundle: WrittenBundle, folder: Path) -> Path:
    for path, content in bundle.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder


@pytest.mark.parametrize("name", of_type(SkillType.EXECUTABLE_SCRIPT))
def test_expected_commands_are_what_bash_runs(name: str, tmp_path: Path) -> None:
    bundle = BUNDLES[name]
    folder = folder_of(bundle, tmp_path / "skill")
    log = tmp_path / "trace"
    bash = shutil.which("bash")
    assert bash is not None
    with log.open("wb") as trace:
        done = subprocess.run(
            [bash, "-x", "main.sh"],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "BASH_XTRACEFD": str(trace.fileno()), "HOME": str(tmp_path)},
            pass_fds=[trace.fileno()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    commands = {line.lstrip("+ ") for line in log.read_text().splitlines()}
    assert set(bundle.truth.shell_commands or ()) <= commands


@pytest.mark.parametrize("name", of_type(SkillType.EXECUTABLE_PYTHON))
def test_python_bundles_run(name: str, tmp_path: Path) -> None:
    bundle = BUNDLES[name]
    folder = folder_of(bundle, tmp_path / "skill")
    module, _, function = json.loads(bundle.files["manifest.json"])["entry_point"].partition(":")
    run_python(f"import {module}; {module}.{function}()", folder)


@pytest.mark.parametrize("name", of_type(SkillType.MCP_SERVER))
def test_servers_speak_mcp(name: str, tmp_path: Path) -> None:
    bundle = BUNDLES[name]
    folder = folder_of(bundle, tmp_path / "skill")
    declared = {tool["name"] for tool in json.loads(bundle.files["mcp.json"])["tools"]}
    answers = converse(folder, sorted(declared))
    assert answers[0]["serverInfo"]["name"] == json.loads(bundle.files["mcp.json"])["name"]
    listed = {tool["name"] for tool in answers[1]["tools"]}
    hidden = set(bundle.truth.poisoned_tools or ()) - declared
    assert listed == declared | hidden
    assert all(answer["content"][0]["type"] == "text" for answer in answers[2:])


def test_compositions_run_child_by_child(tmp_path: Path) -> None:
    for name in of_type(SkillType.AGENT_COMPOSITION):
        bundle = BUNDLES[name]
        folder = folder_of(bundle, tmp_path / name)
        document = json.loads(bundle.files["composition.json"])
        names = {child["name"] for child in document["children"]}
        assert {end for edge in document["flow"] for end in edge} == names | {document["name"]}
        for child in document["children"]:
            inner = folder / child["path"]
            entry = json.loads((inner / "manifest.json").read_text())["entry_point"]
            if child["skill_type"] == "executable_python":
                module, _, function = entry.partition(":")
                run_python(f"import {module}; {module}.{function}()", inner)
            elif child["skill_type"] == "executable_script":
                subprocess.run(["bash", entry], cwd=inner, check=True, capture_output=True, timeout=30)
            elif child["skill_type"] == "mcp_server":
                assert len(converse(inner, ["high_water"])) == 3


def run_python(code: str, folder: Path) -> None:
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"]
    subprocess.run(command, cwd=folder, env={}, check=True, capture_output=True, timeout=30)


def converse(folder: Path, tools: list[str]) -> list[dict[str, Any]]:
    calls = [("tools/call", {"name": tool, "arguments": {}}) for tool in tools]
    requests = [("initialize", {"protocolVersion": "2025-06-18"}), ("tools/list", {}), *calls]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params})
        for n, (method, params) in enumerate(requests)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    done = subprocess.run(
        [sys.executable, "-I", "server.py"],
        input="\n".join(lines) + "\n",
        cwd=folder,
        env={},
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(len(requests)))
    return [answer["result"] for answer in answers]
