"""Guessed skill types: the evidence for a guess, and the start of the guessed part."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.skill_types import SkillType
from validator.tasks.layout import completed, guess_skill_type

MCP_WHEEL = {
    "served/__init__.py": b"",
    "served/__main__.py": b"from served.server import main\nmain()\n",
    "served/server.py": b"import sys\nfrom mcp.server import Server\n",
    "served-2.dist-info/METADATA": b"Name: served\nVersion: 2\nRequires-Dist: httpx\nRequires-Dist: MCP[cli] >=1.2\n",
    "served-2.dist-info/entry_points.txt": b"[console_scripts]\nserved = served:main\n",
}
CLIENT_WHEEL = {
    "agent/__init__.py": b"from mcp import ClientSession\n",
    "agent/servers.py": b"RUN = ['npx', '@modelcontextprotocol/server-x']  # not one from mcp.server\n",
    "tests/test_it.py": b"server = FastMCP('x')\n",
    "agent-1.dist-info/METADATA": b"Name: agent\nRequires-Dist: mcp\n",
}
EXTRA_WHEEL = {
    "agent/__init__.py": b"",
    "agent-1.dist-info/METADATA": b"Name: agent\nRequires-Dist: mcp; extra == 'mcp'\n",
}


def package(**fields: object) -> bytes:
    return json.dumps({"name": "@scope/thing", "version": "3.1.0", **fields}).encode()


@pytest.mark.parametrize(
    ("files", "skill_type", "reason", "entry_point"),
    [
        (
            MCP_WHEEL,
            "mcp_server",
            "it depends on `mcp`, and `served/server.py` line 2 serves tools",
            "served/__main__.py",
        ),
        (CLIENT_WHEEL, "executable_python", "it holds Python code: `agent/__init__.py` and 2 more, described by", None),
        (EXTRA_WHEEL, "executable_python", "it holds Python code: `agent/__init__.py`, described by", None),
        (
            {"pyproject.toml": b'[project]\nname = "p"\ndependencies = ["fast_mcp", "fastmcp~=2.0"]\n', "a.py": b""},
            "mcp_server",
            "it depends on `fastmcp`",
            "a.py",
        ),
        ({"run.py": b"\nserver = FastMCP('x')\n"}, "mcp_server", "`run.py` line 2 serves tools", "run.py"),
        (
            {
                "package.json": package(
                    dependencies={"@modelcontextprotocol/sdk": "^1"}, bin={"zz": "z.js", "thing": "./dist/cli.js"}
                ),
                "dist/cli.js": b"#!/usr/bin/env node\n",
                "z.js": b"",
                "README.md": b"",
            },
            "mcp_server",
            "it depends on `@modelcontextprotocol/sdk`",
            "dist/cli.js",
        ),
        (
            {"package.json": package(mcpName="io.x/y", main="lib"), "lib/index.js": b"", "README.md": b""},
            "mcp_server",
            "package.json has a name for MCP's registry (`mcpName`)",
            "lib/index.js",
        ),
        (
            {
                "package.json": package(devDependencies={"@modelcontextprotocol/sdk": "1"}, main="out.mjs"),
                "out.mjs": b"var s=new e.McpServer({})",
            },
            "mcp_server",
            "`out.mjs` line 1 serves tools",
            "out.mjs",
        ),
        (
            {"package.json": package(name="@modelcontextprotocol/sdk"), "a.js": b"new McpServer()"},
            "executable_script",
            "it holds JavaScript or TypeScript: `a.js`",
            "a.js",
        ),
        (
            {"manifest.json": b'{"server": {"type": "node"}}', "server/index.js": b""},
            "mcp_server",
            "manifest.json is that of an MCP bundle",
            "server/index.js",
        ),
        (
            {"package.json": package(bin="cli.js"), "cli.js": b"", "tool.py": b""},
            "executable_script",
            "package.json has a program (`bin`): `cli.js`",
            "cli.js",
        ),
        ({"bin/go": b"#!/usr/bin/env bash\n"}, "executable_script", "it holds shell scripts: `bin/go`", None),
        ({"SKILL.md": b"", "scripts/a.py": b""}, "declarative", "it holds SKILL.md", "SKILL.md"),
        (
            {"docs/b.md": b"", "docs/a.rst": b"", "README.md": b""},
            "rag_knowledge",
            "it holds documents and no code: `docs/a.rst` and 1 more",
            None,
        ),
    ],
)
def test_what_is_inside_says_the_type_and_why(
    files: Mapping[str, bytes], skill_type: str, reason: str, entry_point: str | None
) -> None:
    guess = guess_skill_type(files)
    assert guess is not None
    assert guess.skill_type == skill_type
    assert guess.reason.startswith(reason)
    assert completed(files, guess.skill_type, "x")["entry_point"] == entry_point


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": b"", "LICENSE.txt": b"", "CHANGELOG.md": b"", "docs/contributing.md": b""},
        {"x-1.dist-info/top_level.txt": b"", "x-1.dist-info/METADATA": b"Name: x\n"},
        {"guide.md": b"", "main.go": b""},
        {"picture.png": b""},
        {"package.json": b'{"bin": {"x": "absent.js"}}'},
    ],
)
def test_what_could_be_anything_is_not_guessed(files: Mapping[str, bytes]) -> None:
    assert guess_skill_type(files) is None


JUNK = st.one_of(
    st.binary(max_size=60),
    st.dictionaries(
        st.sampled_from(["name", "version", "bin", "main", "dependencies", "server", "mcpName", "skill_type"]),
        st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2)),
    ).map(lambda document: json.dumps(document).encode()),
    st.sampled_from(
        [b"[" * 3000, b"a = " + b"[" * 3000, b"[project]\ndependencies = 3\nscripts = 1", b"[project]\nname=1"]
    ),
)
NAMES = [
    "package.json",
    "manifest.json",
    "pyproject.toml",
    "PKG-INFO",
    "x-1.dist-info/entry_points.txt",
    "a.py",
    "a.js",
]


@given(st.dictionaries(st.sampled_from(NAMES), JUNK))
def test_no_metadata_breaks_the_guess(files: dict[str, bytes]) -> None:
    guess = guess_skill_type(files)
    for skill_type in SkillType if guess is None else [guess.skill_type]:
        entry = completed(files, skill_type, "x")["entry_point"]
        assert entry is None or entry in files or ":" in entry


def test_an_npm_package_describes_itself() -> None:
    manifest = completed({"package.json": package(description="Does\nit. ")}, SkillType.MCP_SERVER, "x")
    assert (manifest["name"], manifest["version"], manifest["description"]) == ("@scope/thing", "3.1.0", "Does it.")
