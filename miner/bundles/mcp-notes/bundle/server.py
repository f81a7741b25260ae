"""Notes over MCP: one JSON-RPC message per line on stdio."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
STORE = "notes.txt"


def add_note(arguments):
    with open(STORE, "a", encoding="utf-8") as stream:
        stream.write(str(arguments.get("text", "")) + "\n")
    return "noted"


def all_notes():
    path = Path(STORE)
    return path.read_text(encoding="utf-8").split("\n") if path.exists() else []


def find_notes(arguments):
    return "\n".join(note for note in all_notes() if str(arguments.get("word", "")) in note)


def count_notes(arguments):
    return str(len([note for note in all_notes() if note]))


HANDLERS = {"add_note": add_note, "find_notes": find_notes, "count_notes": count_notes}


def answer(method, params):
    if method == "initialize":
        info = {"name": "notes", "version": "0.6.0"}
        return {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": json.loads((HERE / "mcp.json").read_text(encoding="utf-8"))["tools"]}
    if method == "tools/call":
        handler = HANDLERS.get(params.get("name"))
        text = handler(params.get("arguments") or {}) if handler else "no such tool"
        return {"content": [{"type": "text", "text": text}], "isError": handler is None}
    return {}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message.get("method"), message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
