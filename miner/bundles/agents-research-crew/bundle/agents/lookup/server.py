"""Times of high water over MCP: one JSON-RPC message per line on stdio."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = json.loads((HERE / "mcp.json").read_text(encoding="utf-8"))["tools"]
FIRST, LATER = (int((HERE / "harbor" / name).read_text(encoding="utf-8")) for name in ("first.txt", "later.txt"))


def high_water(day):
    minutes = (FIRST + LATER * day) % (24 * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def answer(method, params):
    if method == "initialize":
        info = {"name": "lookup", "version": "1.0.0"}
        return {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = high_water(int((params.get("arguments") or {}).get("day", 1)))
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
