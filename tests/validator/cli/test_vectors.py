"""Every case of the specification, through the stable commands."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_store import called, started

VECTORS = Path(__file__).parents[2] / "vectors"
COMMANDS = {
    "consensus": ["score", "consensus"],
    "weights": ["score", "weights"],
    "workflow": ["score", "workflow"],
    "keys": ["score", "keys"],
    "emission": ["score", "emission"],
    "collusion": ["score", "collusion"],
    "reputation": ["score", "reputation"],
    "selection": ["groups", "select"],
    "execution": ["score", "execution"],
    "turns_20": ["groups", "turns"],
    "selection_20": ["groups", "select"],
    "tally_20": ["score", "tally"],
    "weights_20": ["score", "weights"],
}
STANDING = '{"windows": {}, "standing": {"a": {"types": {%s}}}}'
TURNS = '{"scoring_version": "2.0.0", "candidates": ["a", "a"], %s}'
TALLY = (
    '{"scoring_version": "2.0.0", "task_id": "t1", "truth": %s, "planted": false, "members": ['
    '{"hotkey": "a", "role": "primary", "sssa": null, "early": false, "epsilon": %s,'
    ' "record": {"answers": 0, "score": 0}}]}'
)
WEIGHTS_20 = (
    '{"scoring_version": "2.0.0", "epoch": 1, "rounds": 1, "windows": {"a": {%s}}, "before": {}, "standing": {},'
    ' "records": {}, "curated": {}, "presence": {}}'
)
ENTRY = (
    '{"ok": true, "hits": 1, "said": 2, "known": 3, "verdict": "ALLOW", "reference": null, "risk": 1, "risk_null": 1,'
    ' "capabilities": null, "dependencies": null, "rules": [1, 2], "epsilon": 1}'
)
STANDING_OF_TYPE = '{"declared": true, "dispatches": 5, "failures": 0, "proven": true, "reputation": 0.5}'


def differences(got: Any, expected: Any, path: str = "$") -> list[str]:
    """Numbers to 1e-9, everything else exactly."""
    if isinstance(expected, dict) and isinstance(got, dict):
        wrong = [f"{path}: keys differ {set(got) ^ set(expected)}"] if set(got) != set(expected) else []
        shared = set(got) & set(expected)
        return wrong + [d for key in shared for d in differences(got[key], expected[key], f"{path}.{key}")]
    if isinstance(expected, list) and isinstance(got, list) and len(got) == len(expected):
        pairs = zip(got, expected, strict=True)
        return [d for i, (g, e) in enumerate(pairs) for d in differences(g, e, f"{path}[{i}]")]
    if isinstance(expected, bool) or isinstance(got, bool):
        return [] if got is expected else [f"{path}: {got} is not {expected}"]
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return [] if abs(got - expected) <= 1e-9 else [f"{path}: {got} is not {expected}"]
    return [] if got == expected else [f"{path}: {got} is not {expected}"]


def cases(folder: str) -> list[Path]:
    return sorted((VECTORS / folder).glob("*.json"))


def test_no_folder_of_vectors_is_left_out() -> None:
    folders = {path.name for path in VECTORS.iterdir() if path.is_dir()}
    assert folders == set(COMMANDS)
    assert sum(len(cases(folder)) for folder in folders) > 400


@pytest.mark.parametrize("folder", sorted(COMMANDS))
def test_every_case_is_met(folder: str, tmp_path: Path) -> None:
    documents = [json.loads(path.read_text()) for path in cases(folder)]
    inputs = []
    for path, document in zip(cases(folder), documents, strict=True):
        inputs.append(tmp_path / path.name)
        inputs[-1].write_text(json.dumps(document["input"]))
    done = called(*COMMANDS[folder], *map(str, inputs))
    assert (done.returncode, done.stderr) == (0, "")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(documents)
    for path, result, document in zip(cases(folder), results, documents, strict=True):
        assert differences(result, document["expected"]) == [], path.name


def test_standard_input_is_read_for_a_dash() -> None:
    done = started("score", "reputation", "-", stdin='{"start": 0.5, "events": ["rerun_pass"]}')
    assert (done.returncode, json.loads(done.stdout)) == (0, {"values": [0.52]})


@pytest.mark.parametrize(
    ("command", "text", "field", "fault"),
    [
        ("score weights", '{"windows": {"a": {"declarative": [1, NaN]}}}', "$", "malformed"),
        ("score weights", '{"windows": {"a": {"declarative": [-1]}}}', "$.windows[...][...][0]", ">= 0"),
        ("score weights", '{"windows": {"a": {"novel": [1]}}, "standing": {}}', "$.windows.a.novel", "must be one of"),
        ("score weights", '{"windows": {"a": {}}, "windows": {}}', "$", "same key twice"),
        ("score weights", "", "$", "truncated"),
        ("score weights", "[" * 100_000, "$", "nested too deeply"),
        ("score weights", '{"windows": {}}', "$", "missing required field `standing`"),
        ("score weights", STANDING % '"novel": %s' % STANDING_OF_TYPE, "$.standing.a.types.novel", "must be one of"),
        ("score weights", STANDING % '"workflow": {"declared": 1}', "$.standing[...].types[...].declared", "got `int`"),
        ("score weights", STANDING % '"workflow": {"proven": true}', "$.standing[...].types[...]", "missing required"),
        (
            "score weights",
            STANDING % '"workflow": %s' % STANDING_OF_TYPE.replace("0.5", "1.5"),
            "$.standing[...].types[...].reputation",
            "<= 1",
        ),
        ("score reputation", '{"start": 1.5, "events": []}', "$.start", "<= 1"),
        ("score reputation", '{"start": 0.5, "events": ["bribe"]}', "$.events[0]", "Invalid enum value"),
        ("score reputation", '{"start": 0.5}', "$", "missing required field `events`"),
        ("score workflow", '{"output_quality": true}', "$.output_quality", "got `bool`"),
        ("score keys", '{"findings": [], "extra": 1}', "$", "unknown field `extra`"),
        ("score collusion", '{"samples": [{"with_primaries": 1e400}]}', "$.samples[0].with_primaries", "out of range"),
        ("groups select", '{"seed": "zz"}', "$.seed", "matching"),
        ("score reputation", '{"start": 0.5, "events": ["truth_low"]}', "$.events[0]", "1.0.0 has no such event"),
        ("score tally", '{"task_id": "t1"}', "$.scoring_version", "1.0.0 computes no such thing; write one of 2.0.0"),
        ("score emission", '{"scoring_version": "2.0.0"}', "$.scoring_version", "write one of 1.0.0"),
        ("groups turns", TURNS % '"previous": {}', "$.candidates[1]", "is in it twice"),
        ("groups turns", TURNS % '"previous": {"a": {"turn": -1}}', "$.previous[...].turn", ">= 0"),
        ("groups turns", TURNS % '"previous": {"a": {"turn": 1}}', "$.previous[...]", "missing required field"),
        ("groups select", '{"scoring_version": "2.0.0", "candidates": [{"turn": 0.5}]}', "$.candidates[0].turn", "int"),
        ("groups select", '{"candidates": [{"turn": 1}]}', "$.candidates[0]", "unknown field `turn`"),
        ("score tally", TALLY % ("null", "0.5"), "$.members[0].epsilon", "null exactly where `sssa` is"),
        ("score tally", TALLY % ('{"verdict": "MAYBE"}', "null"), "$.truth.verdict", "Invalid enum value"),
        ("score weights", WEIGHTS_20 % '"declarative": [0.5]', "$.windows.a.declarative[0]", "must be a tally"),
        ("score weights", WEIGHTS_20 % f'"workflow": [{ENTRY}]', "$.windows.a.workflow[0]", "must be a number"),
        (
            "score weights",
            WEIGHTS_20 % f'"declarative": [{ENTRY}]'.replace('"hits": 1', '"hits": 3'),
            "$.windows.a.declarative[0].hits",
            "must not exceed said",
        ),
        (
            "score weights",
            WEIGHTS_20 % f'"declarative": [{ENTRY}]'.replace('"risk": 1', '"risk": null'),
            "$.windows.a.declarative[0].risk_null",
            "null exactly where `risk` is",
        ),
        (
            "score weights",
            WEIGHTS_20 % f'"declarative": [{ENTRY}]'.replace('"ok": true', '"ok": false'),
            "$.windows.a.declarative[0].verdict",
            "null exactly where `ok` is false",
        ),
        (
            "score reputation",
            '{"start": 0.5, "events": [], "scoring_version": "0.9"}',
            "$.scoring_version",
            "No code here scores this version: `0.9`; this program scores 1.0.0, 2.0.0",
        ),
    ],
)
def test_bad_input_names_file_field_and_fault_and_the_others_are_scored(
    command: str, text: str, field: str, fault: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    good = cases(FOLDER_OF_COMMAND[command])[0]
    fine = tmp_path / "good.json"
    fine.write_text(json.dumps(json.loads(good.read_text())["input"]))
    done = called(*command.split(), str(bad), str(tmp_path / "absent.json"), str(fine))
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1
    complaint, absent = done.stderr.splitlines()
    assert complaint.startswith(f"{bad}: {field}: ")
    assert fault in complaint
    assert "absent.json: $: cannot be read" in absent


FOLDER_OF_COMMAND = {" ".join(command_line): folder for folder, command_line in reversed(COMMANDS.items())}


def test_workflow_with_more_steps_done_than_there_are_is_an_error() -> None:
    case = json.loads(cases("workflow")[0].read_text())["input"] | {"steps_completed": 6, "total_steps": 5}
    done = started("score", "workflow", "-", stdin=json.dumps(case))
    assert done.returncode == 2
    assert done.stderr == "-: $.steps_completed: must not exceed total_steps\n"


@pytest.mark.parametrize("folder", sorted(COMMANDS))
def test_a_case_that_names_its_version_is_scored_by_it(folder: str, tmp_path: Path) -> None:
    document = json.loads(cases(folder)[0].read_text())
    named = tmp_path / "named.json"
    named.write_text(json.dumps({"scoring_version": "1.0.0"} | document["input"]))
    done = called(*COMMANDS[folder], str(named))
    assert (done.returncode, done.stderr) == (0, "")
    assert differences(json.loads(done.stdout), document["expected"]) == []
