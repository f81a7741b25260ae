import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracer.mcp import minimal_value
from tracing_kit import MCP, PROBE, fields, manifest, read, server_bundle, traced

from sssa.sources import Draws, SeededRandom
from taskmaker.planting.skeletons import draw_skeleton

ADD = {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
READ = {"name": "read_notes", "inputSchema": {"type": "object"}}


async def test_each_tool_is_called_once_with_what_its_schema_requires() -> None:
    on_call = 'open(params["name"] + "-" + "-".join(params["arguments"]), "w")'
    result = await traced(server_bundle([ADD, READ], on_call), MCP)
    assert [(run.ended, run.detail) for run in result.runs] == [("done", "")]
    assert fields(result.records, "tool_calls", "tool_name") == [("add",), ("read_notes",)]
    assert fields(result.records, "fs", "op", "path") == [
        ("write", PROBE.file_path),
        ("read", "/skill/server.py"),
        ("write", "/skill/add-a"),
        ("write", "/skill/read_notes-"),
    ]
    assert read(result.records, MCP).probes == (True, True, True)


@pytest.mark.parametrize("seed", ["a", "b", "c", "d", "e", "f"])
async def test_the_validator_s_canary_servers_answer_every_call(seed: str) -> None:
    files, _ = draw_skeleton(MCP, Draws(SeededRandom(seed)))
    result = await traced(files, MCP)
    assert [(run.ended, run.detail) for run in result.runs] == [("done", "")]
    listed = [(tool["name"],) for tool in json.loads(files["mcp.json"])["tools"]]
    assert fields(result.records, "tool_calls", "tool_name") == listed


async def test_two_runs_give_the_same_signatures() -> None:
    bundle = server_bundle([ADD, READ], 'open("log.txt", "a")')
    first, second = [read((await traced(bundle, MCP)).records, MCP) for _ in range(2)]
    assert first.signatures == second.signatures


@pytest.mark.parametrize(
    "source",
    [
        "raise SystemExit(1)",
        "print('no json'); print('[]'); print('{}')",
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        "import sys\nwhile True: print('{}')",
        "import os\nos.close(0); os.close(1)",
    ],
)
async def test_a_server_that_makes_no_sense_ends_with_its_probes(source: str) -> None:
    bundle = {"manifest.json": manifest("server.py"), "server.py": source.encode()}
    result = await traced(bundle, MCP)
    assert result.records["tool_calls"] == []
    assert read(result.records, MCP).probes == (True, True, True)


async def test_a_silent_server_is_cut_off_at_its_time() -> None:
    bundle = {"manifest.json": manifest("server.py"), "server.py": b"import time\ntime.sleep(600)\n"}
    result = await traced(bundle, MCP, timeout_s=3)
    assert [run.ended for run in result.runs] == ["timeout"]
    assert read(result.records, MCP).probes == (True, True, True)


@pytest.mark.parametrize("tools", [None, "x", [None, {"name": 7}, {"name": ""}, {"name": "x" * 300}]])
async def test_tools_without_a_usable_name_are_not_called(tools: object) -> None:
    result = await traced(server_bundle(tools), MCP)
    assert result.runs[0].ended == "done"
    assert result.records["tool_calls"] == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "sample"),
        ({"type": ["integer", "null"], "minimum": 5}, 5),
        ({"enum": ["b", "a"]}, "b"),
        ({"const": 3}, 3),
        ({"type": "array"}, []),
        ({"properties": {"a": {"type": "boolean"}, "b": {}}, "required": ["a"]}, {"a": False}),
        ({"type": "object", "required": ["x"]}, {}),
        (None, None),
    ],
)
def test_minimal_value(schema: object, value: object) -> None:
    assert minimal_value(schema) == value


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "enum", "properties", "required", "minimum", "object"]), inner, max_size=4
        )
    ),
)


@given(JSON)
def test_no_schema_breaks_it(schema: object) -> None:
    json.dumps(minimal_value(schema))
