"""What settings grant is told at its lines, in every form that settings come in; ordinary settings grant nothing."""

import json
from typing import Any

import pytest

from miner.analysis.analyse import analyse
from miner.analysis.grants import read_grants
from miner.analysis.source import SourceFile
from validator.protocol.skill_types import SkillType


def written(**document: Any) -> str:
    return json.dumps(document, indent=2)


def server(command: str, *arguments: str) -> str:
    return written(mcpServers={"a": {"command": command, "args": list(arguments)}})


SOCKET = "services:\n  a:\n    volumes:\n      - /var/run/docker.sock:/var/run/docker.sock\n"
FOLDERS = "services:\n  a:\n    read_only: true\n    volumes:\n      - ./data:/data\n    privileged: false\n"
GRANTING = [
    (".claude/settings.json", written(permissions={"allow": ["Bash(*)"]}), "L4"),
    (".vscode/settings.json", written(**{"chat.tools.autoApprove": True}), "L2"),
    ("agent.toml", 'name = "a"\napproval_policy = "never"\n', "L2"),
    ("agent.yaml", "sandbox:\n  mode: danger-full-access\n", "L2"),
    ("manifest.json", written(capabilities=[], hosts=["*"]), "L4"),
    ("manifest.json", written(environment={"pass_through": "*"}), "L3"),
    ("compose.yml", "services:\n  a:\n    privileged: true\n", "L3"),
    ("compose.yml", SOCKET, "L4"),
    ("SKILL.md", '---\nname: a\nallowed-tools: "*"\n---\nText.\n', "L3"),
    (".mcp.json", server("npx", "-y", "a-server"), "L4"),
    (".mcp.json", server("docker", "run", "ghcr.io/a/b:latest"), "L4"),
    (".github/workflows/ci.yml", "on: pull_request_target\njobs: {}\n", "L1"),
]
HARMLESS = [
    (".claude/settings.json", written(permissions={"allow": ["Read(src/**)", "Bash(git diff:*)"]})),
    ("agent.toml", 'approval_policy = "on-request"\nauto_approve = false\n'),
    ("agent.yaml", "sandbox:\n  mode: workspace-write\n"),
    ("manifest.json", written(capabilities=["network"], hosts=["api.example.com"], skill_type="mcp_server")),
    ("compose.yml", FOLDERS),
    ("SKILL.md", "---\nname: a\nallowed-tools: Read, Grep\n---\nallowed-tools: '*'\n"),
    (".mcp.json", server("npx", "-y", "a-server@1.2.3")),
    (".mcp.json", server("node", "server.js")),
    ("schema.json", written(properties={"host": {"enum": ["any"]}})),
    (".github/workflows/ci.yml", "on: [push, pull_request]\npermissions:\n  contents: read\n"),
]


@pytest.mark.parametrize(("path", "text", "line"), GRANTING)
def test_what_is_granted_is_told_where_it_stands(path: str, text: str, line: str) -> None:
    found = read_grants([SourceFile(path, text.encode())]).findings
    assert [one.category for one in found] == ["excessive_capability"]
    assert found[0].evidence_ref.startswith(f"{path}#{line}-"), found[0].evidence_ref


@pytest.mark.parametrize(("path", "text"), HARMLESS)
def test_ordinary_settings_grant_nothing(path: str, text: str) -> None:
    assert read_grants([SourceFile(path, text.encode())]).findings == ()


def test_a_block_is_told_once_with_the_worst_of_it() -> None:
    text = server("docker", "run", "--privileged", "a/b")
    (found,) = read_grants([SourceFile("mcp.json", text.encode())]).findings
    assert (found.severity, found.evidence_ref) == ("high", "mcp.json#L4-L8")


@pytest.mark.parametrize(
    "entry",
    ['"origin": "git+https://a.invalid/b.git@main"', '"secrets": {"share_with": "*"}', '"human_review": false'],
)
def test_of_a_composition_it_is_a_risk_of_the_children(entry: str) -> None:
    files = {
        "composition.json": f'{{\n  {entry},\n  "children": []\n}}\n'.encode(),
        "manifest.json": b'{"skill_type": "agent_composition", "capabilities": []}',
    }
    found = analyse(files, SkillType.AGENT_COMPOSITION).findings
    assert [(one.category, one.evidence_ref) for one in found] == [("transitive_risk", "composition.json#L2-L2")]
