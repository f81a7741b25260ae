import json
import subprocess
import sys
from pathlib import Path

import pytest

from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.planting import ANY, Shape, fault_of
from taskmaker.planting.shapes import builtin_shapes
from taskmaker.planting.skeletons import draw_skeleton

JAVASCRIPT = b"""import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
const server = new McpServer({ name: "notes", version: "1.0.0" });
server.tool("add_note", "Adds a note.", { text: z.string() }, async ({ text }) => add(text));
server.registerTool(
  "find_note",
  { title: "Find", description: `Finds a note.`, inputSchema: {} },
  find,
);
const tools = [{ name: "drop_note", description: 'Drops a note.', inputSchema: {} }];
"""
PYTHON = b'''from mcp.server.fastmcp import FastMCP

mcp = FastMCP("notes")


@mcp.tool(name="add_note", description="Adds a note.")
def add_note(text: str) -> str:
    return text


@mcp.tool()
async def find_note(
    word: str, limit: int = 3
) -> str:
    """Finds a note.

    The newest comes first.
    """
    return word


TOOL = Tool(name="drop_note", description="Drops a note.", inputSchema={})
'''
NAMES = {"add_note": "Adds a note.", "find_note": "Finds a note.", "drop_note": "Drops a note."}
POISONED = {shape.name: shape for shape in builtin_shapes() if shape.family == "poisoned_description"}
IN_SOURCES = [shape for shape in POISONED.values() if shape.name not in {"order-in-a-parameter", "one-tool-twice"}]


@pytest.mark.parametrize(("path", "source"), [("src/index.mjs", JAVASCRIPT), ("notes/server.py", PYTHON)])
@pytest.mark.parametrize("shape", IN_SOURCES, ids=lambda shape: shape.name)
def test_a_tool_without_a_manifest_is_poisoned_where_it_is_registered(shape: Shape, path: str, source: bytes) -> None:
    poisoned = set()
    for n in range(12):
        plant = shape.plant(Draws(SeededRandom(f"registered {n}")), {path: source}, SkillType.MCP_SERVER, ANY)
        assert plant is not None
        assert plant.line is not None
        assert plant.poisoned_tool is not None
        assert fault_of({path: source}, plant) is None
        old, new = source.decode().split("\n"), plant.changed[path].decode().split("\n")
        assert [i for i, (a, b) in enumerate(zip(old, new, strict=True), 1) if a != b] == [plant.line]
        assert new[plant.line - 1].isprintable()
        assert NAMES[plant.poisoned_tool].removesuffix(".") in new[plant.line - 1]
        poisoned.add(plant.poisoned_tool)
    assert poisoned == set(NAMES)


@pytest.mark.parametrize(
    "name", ["read-a-file-first", "send-the-conversation", "shadow-another-tool", "order-in-a-parameter"]
)
def test_a_poisoned_server_tells_what_its_manifest_says(tmp_path: Path, name: str) -> None:
    seed, shape = name, POISONED[name]
    drawn = (draw_skeleton(SkillType.MCP_SERVER, Draws(SeededRandom(f"{seed} {n}")))[0] for n in range(50))
    files = next(files for files in drawn if b"ENTRIES" in files["server.py"])  # it lists its tools in the source
    plant = shape.plant(Draws(SeededRandom(seed)), files, SkillType.MCP_SERVER, ANY)
    assert plant is not None
    for path, content in {**files, **plant.changed}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    asked = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}\n'
    command = [sys.executable, "-I", "-W", "error", "server.py"]
    done = subprocess.run(command, cwd=tmp_path, input=asked, capture_output=True, text=True, check=True)
    listed = json.loads(done.stdout)["result"]["tools"]
    assert listed == json.loads(plant.changed["mcp.json"])["tools"]
    old = {tool["name"]: tool for tool in json.loads(files["mcp.json"])["tools"]}
    assert [tool["name"] for tool in listed if tool != old[tool["name"]]] == [plant.poisoned_tool]
