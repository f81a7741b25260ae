"""Three ways to write an MCP server over stdio by hand: one JSON-RPC message per line."""

from typing import Final, NamedTuple


class Skeleton(NamedTuple):
    """A program with marks (`@TABLE@` and the like) where the tools go; `imports` beside json and sys."""

    imports: tuple[str, ...]
    source: str


_PLAIN: Final = '''"""@SUMMARY@: an MCP server that speaks JSON-RPC over standard input and output."""

@IMPORTS@

NAME = @SERVER@
VERSION = @VERSION@
PROTOCOL = "2025-06-18"


@FUNCTIONS@


TOOLS = @TABLE@

ENTRIES = @ENTRIES@


def result(request, value):
    return {"jsonrpc": "2.0", "id": request["id"], "result": value}


def error(identifier, code, message):
    return {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": message}}


def call(request):
    params = request.get("params")
    if not isinstance(params, dict):
        return error(request["id"], -32602, "params must be an object")
    function = TOOLS.get(str(params.get("name")))
    if function is None:
        return error(request["id"], -32602, "unknown tool")
    try:
        text, failed = function(**params.get("arguments", {})), False
    except (TypeError, ValueError, AttributeError, ArithmeticError) as problem:
        text, failed = str(problem), True
    return result(request, {"content": [{"type": "text", "text": text}], "isError": failed})


def answer(request):
    method = request.get("method")
    if "id" not in request:
        return None
    if method == "initialize":
        info = {"name": NAME, "version": VERSION}
        return result(request, {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": info})
    if method == "ping":
        return result(request, {})
    if method == "tools/list":
        return result(request, {"tools": ENTRIES})
    if method == "tools/call":
        return call(request)
    return error(request["id"], -32601, "method not found")


def main():
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
        except ValueError:
            response = error(None, -32700, "parse error")
        else:
            response = answer(request) if isinstance(request, dict) else error(None, -32600, "invalid request")
        if response is not None:
            print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main()
'''

_CLASS: Final = '''"""@SUMMARY@.

Started by an MCP client, which writes one JSON-RPC message per line to standard input and reads the answers from
standard output. The list of tools stands in mcp.json beside this file.
"""

@IMPORTS@


@FUNCTIONS@


FUNCTIONS = @TABLE@


class RpcError(Exception):
    """What goes wrong before a tool is called."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Server:
    """Answers one message after the other."""

    def __init__(self, manifest):
        self.entries = manifest["tools"]
        self.methods = {
            "initialize": self.initialize,
            "ping": lambda params: {},
            "tools/list": lambda params: {"tools": self.entries},
            "tools/call": self.call,
        }

    def initialize(self, params):
        return {
            "protocolVersion": params.get("protocolVersion", "2024-11-05"),
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": @SERVER@, "version": @VERSION@},
        }

    def call(self, params):
        function = FUNCTIONS.get(str(params.get("name")))
        if function is None:
            raise RpcError(-32602, "unknown tool")
        try:
            text = function(**params.get("arguments", {}))
        except (TypeError, ValueError, AttributeError, ArithmeticError) as problem:
            return {"content": [{"type": "text", "text": str(problem)}], "isError": True}
        return {"content": [{"type": "text", "text": text}], "isError": False}

    def handle(self, message):
        """Return the answer to a message, None for a notification."""
        if "id" not in message:
            return None
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            method = self.methods.get(str(message.get("method")))
            if method is None:
                raise RpcError(-32601, "method not found")
            params = message.get("params", {})
            if not isinstance(params, dict):
                raise RpcError(-32602, "params must be an object")
            reply["result"] = method(params)
        except RpcError as problem:
            reply["error"] = {"code": problem.code, "message": str(problem)}
        return reply

    def run(self, source, sink):
        """Serve until the source ends."""
        for line in source:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            reply = self.handle(message) if isinstance(message, dict) else None
            if reply is not None:
                sink.write(json.dumps(reply) + "\\n")
                sink.flush()


if __name__ == "__main__":
    with open(pathlib.Path(__file__).with_name("mcp.json"), encoding="utf-8") as file:
        Server(json.load(file)).run(sys.stdin, sys.stdout)
'''

_MATCH: Final = '''"""@SUMMARY@."""

@IMPORTS@

SERVER_INFO = {"name": @SERVER@, "version": @VERSION@}
HERE = pathlib.Path(__file__).parent


@FUNCTIONS@


HANDLERS = @TABLE@


def list_tools(_):
    with (HERE / "mcp.json").open(encoding="utf-8") as file:
        return {"tools": json.load(file)["tools"]}


def call_tool(params):
    name = str(params.get("name"))
    if name not in HANDLERS:
        raise LookupError(f"no tool of that name among {len(HANDLERS)}")
    try:
        content, failed = HANDLERS[name](**params.get("arguments", {})), False
    except (TypeError, ValueError, AttributeError, ArithmeticError) as problem:
        content, failed = f"could not compute: {problem}", True
    return {"content": [{"type": "text", "text": content}], "isError": failed}


def initialize(params):
    version = params.get("protocolVersion", "2025-03-26")
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": SERVER_INFO}


METHODS = {
    "initialize": initialize,
    "ping": lambda _: {},
    "tools/list": list_tools,
    "tools/call": call_tool,
}


def respond(message):
    method = METHODS.get(str(message.get("method")))
    if method is None:
        return {"error": {"code": -32601, "message": "method not found"}}
    params = message.get("params", {})
    if not isinstance(params, dict):
        return {"error": {"code": -32602, "message": "params must be an object"}}
    try:
        return {"result": method(params)}
    except LookupError as problem:
        return {"error": {"code": -32602, "message": str(problem.args[0])}}


def serve():
    while line := sys.stdin.readline():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **respond(message)}
            sys.stdout.write(json.dumps(reply) + "\\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve()
'''

SKELETONS: Final = (Skeleton((), _PLAIN), Skeleton(("pathlib",), _CLASS), Skeleton(("pathlib",), _MATCH))
