"""Ordinary MCP servers over stdio, put together from small tools; Python's standard library is all they need."""

import json
from collections.abc import Mapping
from typing import Any

from validator.planting.draws import Draws, json_file
from validator.tasks.canary_skeletons import SKELETONS
from validator.tasks.canary_skills import history
from validator.tasks.canary_tools import TOOLS, Tool

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


def draw_server(draws: Draws) -> Mapping[str, bytes]:
    """Return the files of a harmless MCP server: `mcp.json`, `server.py`, `manifest.json`, and some text."""
    name, summary = f"{draws.pick(_FIRST)}-{draws.pick(_SECOND)}", draws.pick(_SUMMARIES)
    tools = [(draws.pick(tool.names), tool) for tool in draws.some(TOOLS, 2, 5)]
    entries = [_entry(draws, called, tool) for called, tool in tools]
    manifest = {
        "name": name,
        "version": draws.version(),
        "description": summary,
        "skill_type": "mcp_server",
        "entry_point": "server.py",
        "capabilities": [],
    }
    files = {
        "manifest.json": json_file(manifest),
        "mcp.json": json_file({"name": name, "tools": entries}),
        "server.py": _source(draws, manifest, tools, entries).encode(),
        "README.md": _readme(draws, name, summary, tools).encode(),
    }
    if draws.number(0, 1):
        files["CHANGELOG.md"] = history(draws, _CHANGES).encode()
    return files


def _entry(draws: Draws, called: str, tool: Tool) -> dict[str, Any]:
    schema = {"type": "object", "properties": tool.properties, "required": list(tool.properties)}
    return {"name": called, "description": draws.pick(tool.descriptions), "inputSchema": schema}


def _source(
    draws: Draws, manifest: Mapping[str, Any], tools: list[tuple[str, Tool]], entries: list[dict[str, Any]]
) -> str:
    skeleton = draws.pick(SKELETONS)
    modules = {"json", "sys", *skeleton.imports, *(module for _, tool in tools for module in tool.imports)}
    functions = "\n\n".join(tool.source.replace("@NAME@", called) for called, tool in tools)
    table = "".join(f'    "{called}": {called},\n' for called, _ in tools)
    parts = {
        "@SUMMARY@": manifest["description"].rstrip("."),
        "@IMPORTS@": "\n".join(f"import {module}" for module in sorted(modules)),
        "@SERVER@": json.dumps(manifest["name"]),
        "@VERSION@": json.dumps(manifest["version"]),
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
