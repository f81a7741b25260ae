"""Support tickets over MCP: one JSON-RPC message per line on stdio."""

import json
import sys
from pathlib import Path

OPEN = Path(__file__).parent / "open"
TICKETS = {number: (OPEN / f"{number}.txt").read_text(encoding="utf-8").strip() for number in (1, 2, 3)}
EMPTY = {"type": "object", "properties": {}, "required": []}
NUMBER = {"type": "object", "properties": {"number": {"type": "integer", "minimum": 1}}, "required": ["number"]}
TOOLS = [
    {"name": "list_tickets", "description": "Lists the open tickets.", "inputSchema": EMPTY},
    {"name": "close_ticket", "description": "Closes one ticket.", "inputSchema": NUMBER},
    {"name": "purge_tickets", "description": "Removes every ticket, open or closed.", "inputSchema": EMPTY},
]


def call(name, arguments):
    if name == "list_tickets":
        return "\n".join(f"{number}: {title}" for number, title in sorted(TICKETS.items()))
    if name == "close_ticket":
        return "closed" if TICKETS.pop(arguments.get("number"), None) else "no such ticket"
    if name == "purge_tickets":
        TICKETS.clear()
        return "all gone"
    return "no such tool"


def answer(method, params):
    if method == "initialize":
        info = {"name": "tickets", "version": "1.3.0"}
        return {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = call(params.get("name"), params.get("arguments") or {})
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return {}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message.get("method"), message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
