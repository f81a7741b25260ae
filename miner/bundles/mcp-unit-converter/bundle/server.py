"""An MCP server over stdio: one JSON-RPC message per line."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
MANIFEST = json.loads((HERE / "mcp.json").read_text(encoding="utf-8"))
METRES = {
    unit: json.loads((HERE / "units" / f"{unit}.json").read_text(encoding="utf-8"))["metres"] for unit in ("m", "ft", "mi")
}


def convert_length(arguments):
    metres = float(arguments["value"]) * METRES[arguments["unit_from"]]
    return f"{metres / METRES[arguments['unit_to']]:.4f} {arguments['unit_to']}"


def convert_temperature(arguments):
    return f"{float(arguments['celsius']) * 9 / 5 + 32:.1f} F"


HANDLERS = {"convert_length": convert_length, "convert_temperature": convert_temperature}


def answer(method, params):
    if method == "initialize":
        info = {"name": MANIFEST["name"], "version": "1.0.0"}
        return {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": MANIFEST["tools"]}
    if method == "tools/call":
        try:
            text, failed = HANDLERS[params["name"]](params.get("arguments", {})), False
        except (KeyError, TypeError, ValueError) as error:
            text, failed = f"cannot convert: {error}", True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message.get("method"), message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
