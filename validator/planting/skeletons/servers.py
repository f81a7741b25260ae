"""Ordinary MCP servers over stdio, put together from small tools; Python's standard library is all they need."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from validator.planting.draws import Draws
from validator.planting.skeletons.extras import About, extras, history, json_text, manifest
from validator.planting.skeletons.programs import SKELETONS
from validator.planting.skeletons.tools import TOOLS, Tool
from validator.protocol.skill_types import SkillType

_FIRST = (
    "pocket",
    "desk",
    "paper",
    "garden",
    "harbour",
    "copper",
    "linen",
    "maple",
    "quiet",
    "north",
    "little",
    "plain",
)
_SECOND = ("tools", "helper", "kit", "bench", "drawer", "utilities", "companion", "toolbox", "shelf", "assistant")
_SUMMARIES = (
    "Small everyday helpers for texts and numbers.",
    "A handful of calculations for the office.",
    "Everyday conversions, offline and without dependencies.",
    "Little functions that save a trip to the calculator.",
)
_CHANGES = (
    "Clearer error messages.",
    "Descriptions reworded.",
    "One more tool.",
    "Answers to ping.",
    "Rounding made consistent.",
    "Works with older clients.",
    "Unknown tools are reported as invalid parameters.",
)


class _Server(NamedTuple):
    name: str
    version: str
    summary: str


def draw_server(draws: Draws) -> Mapping[str, bytes]:
    """Return the files of a harmless MCP server: `mcp.json`, `server.py`, `manifest.json`, and some text."""
    about = _Server(f"{draws.pick(_FIRST)}-{draws.pick(_SECOND)}", draws.version(), draws.pick(_SUMMARIES))
    tools = [(draws.pick(tool.names), tool) for tool in draws.some(TOOLS, 2, 9)]
    entries = [_entry(draws, called, tool) for called, tool in tools]
    files = {
        "manifest.json": manifest(draws, SkillType.MCP_SERVER, About(about.name, about.summary, "server.py")),
        "mcp.json": json_text(draws, {"name": about.name, "tools": entries}),
        "server.py": _source(draws, about, tools, entries).encode(),
    }
    if draws.number(0, 4):
        files["README.md"] = _readme(draws, about.name, about.summary, tools).encode()
    if draws.number(0, 1):
        files[draws.pick(("docs/tools.md", "TOOLS.md"))] = _pages(draws, entries).encode()
    if draws.number(0, 1):
        files["CHANGES.txt"] = history(draws, _CHANGES).encode()
    return {**extras(draws), **files}


def _pages(draws: Draws, entries: list[dict[str, Any]]) -> str:
    """Return a page with a section for each tool."""
    parts = [f"# {draws.pick(('Tools', 'All tools', 'Reference'))}"]
    for entry in entries:
        rows = [
            f"| `{key}` | {value['type']} | {value['description']} |"
            for key, value in entry["inputSchema"]["properties"].items()
        ]
        parts.append(f"## {entry['name']}\n\n{entry['description']}")
        parts.append("\n".join(("| argument | type | what |", "|---|---|---|", *rows)))
    return "\n\n".join(parts) + "\n"


def _entry(draws: Draws, called: str, tool: Tool) -> dict[str, Any]:
    schema = {"type": "object", "properties": tool.properties, "required": list(tool.properties)}
    return {"name": called, "description": draws.pick(tool.descriptions), "inputSchema": schema}


def _source(draws: Draws, about: _Server, tools: list[tuple[str, Tool]], entries: list[dict[str, Any]]) -> str:
    skeleton = draws.pick(SKELETONS)
    modules = {"json", "sys", *skeleton.imports, *(module for _, tool in tools for module in tool.imports)}
    functions = "\n\n".join(tool.source.replace("@NAME@", called) for called, tool in tools)
    table = "".join(f'    "{called}": {called},\n' for called, _ in tools)
    parts = {
        "@SUMMARY@": about.summary.rstrip("."),
        "@IMPORTS@": "\n".join(f"import {module}" for module in sorted(modules)),
        "@SERVER@": json.dumps(about.name),
        "@VERSION@": json.dumps(about.version),
        "@FUNCTIONS@": functions.rstrip("\n"),
        "@TABLE@": f"{{\n{table}}}",
        "@ENTRIES@": json.dumps(entries, indent=4),
    }
    source = skeleton.source
    for mark, text in parts.items():
        source = source.replace(mark, text)
    return source


def _readme(draws: Draws, name: str, summary: str, tools: list[tuple[str, Tool]]) -> str:
    lines = [f"- `{called}`: {draws.pick(tool.descriptions)}" for called, tool in tools]
    called, tool = draws.pick(tools)
    days, minutes = draws.number(2, 900), draws.number(2, 59)
    closing = draws.pick(
        (
            f"Tried with {draws.number(20, 9_999)} requests in a row, last on {draws.date()}.",
            f"In use since {draws.date()}; the last fault was {days} days and {minutes} minutes ago.",
            f"Questions are answered within {draws.number(2, 72)} hours. Last checked on {draws.date()}.",
        )
    )
    heading = draws.pick(("Tools", "What it offers", "Functions"))
    example = json.dumps({"name": called, "arguments": _varied(draws, tool.example)})
    return (
        f"# {name}\n\n{summary}\n\n## {heading}\n\n" + "\n".join(lines) + "\n\n"
        f"## {draws.pick(('Example', 'A call', 'Usage'))}\n\n```json\n{example}\n```\n\n{closing}\n"
    )


def _varied(draws: Draws, example: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with other numbers of the same size."""
    return {
        key: value + draws.number(1, 9) * (0.5 if isinstance(value, float) else 1)
        if isinstance(value, int | float)
        else value
        for key, value in example.items()
    }
