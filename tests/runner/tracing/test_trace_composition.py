import json

from tracer.launch import read_composition
from tracing_kit import PROBE, TEAM, fields, python_bundle, read, script_bundle, server_bundle, traced


def under(folder: str, files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def composition(*children: tuple[str, str], flow: list[list[str]]) -> bytes:
    members = [{"name": name, "skill_type": kind, "path": f"children/{name}"} for name, kind in children]
    return json.dumps({"name": "team", "children": members, "flow": flow}).encode()


TEAM_FILES = {
    "composition.json": composition(
        ("reader", "executable_python"),
        ("shell", "executable_script"),
        ("server", "mcp_server"),
        ("notes", "declarative"),
        flow=[["team", "reader"], ["reader", "shell"], ["shell", "notes"]],
    ),
    **under("children/reader", python_bundle("def run():\n    open('a.txt', 'w')\n")),
    **under("children/shell", script_bundle("cat SKILL.md > b.txt || true\n")),
    **under("children/server", server_bundle([{"name": "add"}], "open('c.txt', 'w')")),
    "children/notes/SKILL.md": b"x",
}


async def test_children_run_one_by_one_and_their_records_are_merged() -> None:
    result = await traced(TEAM_FILES, TEAM)
    assert [run.ended for run in result.runs] == ["done", "done", "done"]
    assert set(result.records) == {"network", "fs", "process", "secrets", "agent_calls"}
    paths = [str(path) for op, path in fields(result.records, "fs", "op", "path") if op == "write"]
    assert paths[:2] == [PROBE.file_path, "/skill/children/reader/a.txt"]
    assert {"/skill/children/shell/b.txt", "/skill/children/server/c.txt"} <= set(paths)
    assert fields(result.records, "agent_calls", "caller", "callee") == [
        ("team", "reader"),
        ("reader", "shell"),
        ("shell", "notes"),
    ]
    assert read(result.records, TEAM).probes == (True, True, True)


async def test_two_runs_give_the_same_signatures() -> None:
    first, second = [read((await traced(TEAM_FILES, TEAM)).records, TEAM) for _ in range(2)]
    assert first.signatures == second.signatures


async def test_a_composition_of_compositions_ends() -> None:
    inner = composition(("leaf", "executable_python"), ("again", "agent_composition"), flow=[["team", "leaf"]])
    files = {"composition.json": inner}
    for depth in range(6):
        folder = "/".join(["children/again"] * depth)
        level = {"composition.json": inner, **under("children/leaf", python_bundle("def run():\n    open('x', 'w')\n"))}
        files |= under(folder, level) if folder else level
    result = await traced(files, TEAM)
    assert len(result.runs) == 3
    assert len(result.records["agent_calls"]) == 3


async def test_one_without_runnable_children_performs_the_probes() -> None:
    for document in (b"{}", composition(("a", "declarative"), flow=[])):
        result = await traced({"composition.json": document}, TEAM)
        assert len(result.runs) == 1
        assert read(result.records, TEAM).probes == (True, True, True)


def test_a_child_s_path_stays_inside() -> None:
    for path in ("../x", "/etc", "a/../../b", "", "a/..", ".."):
        child = {"name": "a", "skill_type": "executable_python", "path": path}
        document = json.dumps({"name": "team", "children": [child], "flow": []}).encode()
        assert read_composition({"composition.json": document}) is None
