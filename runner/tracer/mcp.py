"""A small MCP client for traced servers: lists tools and calls each once, over pipes that `process.py` hands it."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any, Final

from tracer.records import Record

PROTOCOL_VERSION: Final = "2025-06-18"
MAX_TOOLS: Final = 64
_MAX_LINE: Final = 256 * 1024
_MAX_MESSAGES: Final = 1_000
_MAX_NAME: Final = 256
_MAX_PAGES: Final = 8
_SCHEMA_DEPTH: Final = 4


class ServerGoneError(Exception):
    """The server ended, or wrote too much without answering."""


class McpDialogue:
    """One conversation; `calls` grows as tools are called.

    Args:
        started: `time.monotonic()` that every `ts` counts from.
    """

    def __init__(self, started: float) -> None:
        self.calls: list[Record] = []
        self._started = started
        self._next_id = 0
        self._messages = 0

    async def talk(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        """Initialise, list the tools, call each with minimal arguments; ends early when the server does."""
        try:
            hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": _CLIENT}
            await self._request(writer, reader, "initialize", hello)
            await _send(writer, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            for tool in await self._list_tools(writer, reader):
                name = tool["name"]
                self.calls.append({"tool_name": name, "ts": round(time.monotonic() - self._started, 6)})
                arguments = minimal_value(tool.get("inputSchema"))
                parameters = {"name": name, "arguments": arguments if isinstance(arguments, dict) else {}}
                await self._request(writer, reader, "tools/call", parameters)
        except (ServerGoneError, ConnectionError):
            return

    async def _list_tools(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        cursor: object = None
        for _ in range(_MAX_PAGES):
            result = await self._request(writer, reader, "tools/list", {"cursor": cursor} if cursor else {})
            listed = result.get("tools")
            tools += [tool for tool in listed if _named(tool)] if isinstance(listed, list) else []
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or len(tools) >= MAX_TOOLS:
                break
        return tools[:MAX_TOOLS]

    async def _request(
        self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader, method: str, params: Mapping[str, object]
    ) -> dict[str, Any]:
        self._next_id += 1
        await _send(writer, {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        while self._messages < _MAX_MESSAGES:
            self._messages += 1
            message = await _receive(reader)
            if message.get("id") == self._next_id and "method" not in message:
                result = message.get("result")
                return result if isinstance(result, dict) else {}
        raise ServerGoneError


_CLIENT: Final = {"name": "sssa-tracer", "version": "1"}


def _named(tool: object) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str) and 0 < len(tool["name"]) <= _MAX_NAME


async def _send(writer: asyncio.StreamWriter, message: Mapping[str, object]) -> None:
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()


async def _receive(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Return the next JSON object; lines that are none give {}."""
    try:
        line = await reader.readline()
    except ValueError:
        raise ServerGoneError from None  # longer than the stream's limit
    if not line.endswith(b"\n"):
        raise ServerGoneError
    try:
        message = json.loads(line) if len(line) <= _MAX_LINE else {}
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def minimal_value(schema: object, depth: int = 0) -> Any:
    """Return a small value that a JSON schema admits: required properties only; null for what is not understood."""
    if not isinstance(schema, dict) or depth > _SCHEMA_DEPTH:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    return _minimal_of_type(schema, depth)


def _minimal_of_type(schema: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object":
        properties = schema.get("properties")
        required = schema.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return {}
        return {name: minimal_value(properties.get(name), depth + 1) for name in required if isinstance(name, str)}
    if kind in ("integer", "number"):
        low = schema.get("minimum", 1)
        return low if isinstance(low, int | float) else 1
    return {"string": "sample", "boolean": False, "array": []}.get(str(kind))
