"""Small bundles of the tests' own, and what is asked about their traces."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tracer.records import Probes
from tracer.run import Traced, trace

from miner.tracing import Records, pack_traces
from sssa.protocol.answer import probe_values
from sssa.protocol.skill_types import SkillType
from sssa.protocol.traces import Traces, read_traces

# A probe's file is in one folder for the whole machine, and tests look whether theirs is gone.
NONCE = f"{os.getpid():08x}" + "0" * 56
PROBE = Probes.of(NONCE[:8])

PYTHON = SkillType.EXECUTABLE_PYTHON
SCRIPT = SkillType.EXECUTABLE_SCRIPT
MCP = SkillType.MCP_SERVER
TEAM = SkillType.AGENT_COMPOSITION


def manifest(entry_point: str, **more: object) -> bytes:
    return json.dumps({"name": "sample", "version": "1", "entry_point": entry_point, **more}).encode()


def python_bundle(source: str, **modules: str) -> dict[str, bytes]:
    files = {f"{name}.py": text.encode() for name, text in modules.items()}
    return {"manifest.json": manifest("main:run"), "main.py": source.encode(), **files}


def script_bundle(source: str, **scripts: str) -> dict[str, bytes]:
    files = {f"{name}.sh": text.encode() for name, text in scripts.items()}
    return {"manifest.json": manifest("main.sh"), "main.sh": source.encode(), **files}


def server_bundle(tools: object, on_call: str = "pass") -> dict[str, bytes]:
    source = f"""\
import json, sys
TOOLS = json.loads({json.dumps(json.dumps(tools))})
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}}}
    if request["method"] == "tools/list":
        result = {{"tools": TOOLS}}
    elif request["method"] == "tools/call":
        params = request["params"]
        {on_call}
        result = {{"content": []}}
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}), flush=True)
"""
    return {"manifest.json": manifest("server.py"), "server.py": source.encode(), "mcp.json": b"{}"}


async def traced(files: Mapping[str, bytes], skill_type: SkillType, timeout_s: float = 20) -> Traced:
    return await trace(files, skill_type, PROBE, timeout_s=timeout_s)


def read(records: Records, skill_type: SkillType) -> Traces:
    return read_traces(pack_traces(records), skill_type, probe_values(NONCE))


def fields(records: Records, name: str, *keys: str) -> list[tuple[object, ...]]:
    return [tuple(record.get(key) for key in keys) for record in records[name]]


def running(marker: str) -> list[str]:
    """Command lines of the live processes that mention `marker`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if marker in line:
            found.append(line)
    return found
