"""Complaints of `validator tasks check` about truth that no answer can match, and about missing parts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from task_builders import make_task, make_truth, write_task

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Rule
from sssa.protocol.task import TRUTH_OF_AXIS
from sssa.protocol.vocabulary import MAX_PATTERN, RESOURCES, pattern_fault
from sssa.scoring import CURRENT, version
from taskmaker.check import check_tasks
from validator.tasks.folder import located

REST = tuple(Rule(resource, "deny", "*") for resource in RESOURCES)
SERVER = {"mcp.json": b'{"tools": [{"name": "note"}]}\n', "manifest.json": b"{}\n", "a.md": b"first\n \t\n\nlast\n"}


def looked_over(
    folder: Path, files: Mapping[str, bytes] | None = None, **fields: Any
) -> tuple[dict[str, str], dict[str, str]]:
    """The problems and notes of one task, text by field."""
    kind, canary = fields.pop("skill_type", SkillType.MCP_SERVER), fields.pop("canary", None)
    task = make_task(files or SERVER, skill_type=kind, canary=canary, truth=make_truth(**fields) if fields else None)
    (checked,) = check_tasks(write_task(folder, task))
    problems, notes = (
        {str(one.field): one.text for one in map(located, some)} for some in (checked.problems, checked.notes)
    )
    return problems, notes


@pytest.mark.parametrize(
    ("rule", "field", "text"),
    [
        (("web", "allow", "a.example"), "resource", "`web` is no resource: network, process, "),
        (("network", "permit", "a.example"), "action", "`permit` is no action: allow, deny, review"),
        (("network", "allow", "*"), "action", "never allowed"),
        (("network", "review", "a.example"), "pattern", "only `*` is put to review"),
        (("network", "allow", "API.example"), "pattern", "lower case"),
        (("network", "allow", "https://a.example"), "pattern", "no scheme, port, path"),
        (("network", "allow", "a.example:443"), "pattern", "no scheme, port, path"),
        (("network", "deny", "*.example"), "pattern", "no scheme, port, path"),
        (("process", "deny", "/bin/sh"), "pattern", "has a folder"),
        (("process", "allow", "git clone"), "pattern", "without its arguments"),
        (("environment", "allow", "$HOME"), "pattern", "its name alone"),
        (("code", "deny", "eval()"), "pattern", "its name alone"),
        (("file_read", "allow", ""), "pattern", "is empty"),
        (("file_read", "allow", "x" * (MAX_PATTERN + 1)), "pattern", "longer than 256"),
        (("file_write", "allow", "a\nb"), "pattern", "line break"),
    ],
)
def test_a_rule_that_no_analysis_writes_is_a_problem(
    rule: tuple[str, str, str], field: str, text: str, tmp_path: Path
) -> None:
    problems, _ = looked_over(tmp_path, policy_rules=(*REST, Rule(*rule)))
    assert list(problems) == [f"truth.policy_rules[{len(REST)}].{field}"]
    assert text in problems[f"truth.policy_rules[{len(REST)}].{field}"]


def test_rules_that_exclude_each_other_are_problems(tmp_path: Path) -> None:
    host, program = Rule("network", "allow", "a.example"), Rule("process", "allow", "git")
    problems, _ = looked_over(
        tmp_path, policy_rules=(host, program, host, Rule("process", "deny", "git"), Rule("process", "deny", "*"))
    )
    assert problems == {
        "truth.policy_rules[2]": "the same rule as `truth.policy_rules[0]`",
        "truth.policy_rules[3].action": "`truth.policy_rules[1]` says `allow` of the same pattern, "
        "and an analysis says one of the two",
    }
    _, notes = looked_over(tmp_path, policy_rules=(host, Rule("process", "deny", "*")))
    assert "no rule for `*` of network, file_read, file_write, environment, code" in notes["truth.policy_rules"]


@pytest.mark.parametrize(
    ("resource", "pattern"),
    [
        ("network", "api.example"),
        ("network", "::1"),
        ("network", "localhost"),
        ("process", "python3.12"),
        ("environment", "API_KEY"),
        ("code", "importlib.import_module"),
        ("file_read", "~/My notes/*.txt"),
        ("file_write", "$HOME/out"),
    ],
)
def test_what_analyses_write_is_no_problem(resource: str, pattern: str) -> None:
    assert not pattern_fault(resource, pattern)


def test_places_and_names_that_nothing_can_meet_are_problems(tmp_path: Path) -> None:
    problems, notes = looked_over(
        tmp_path,
        verdict="ALLOW",
        injections=("a.md#L2-L3", "a.md#L4", "x::a.md#L4-L4", "a.md"),
        shell_commands=("ls", " ", "ls", "cat a "),
        poisoned_tools=("note", "ghost", "note"),
        manifest_sha256=sha256_hex(SERVER["a.md"]),
    )
    assert problems == {
        "truth.injections[0]": "`a.md#L2-L3` holds nothing but blanks",
        "truth.injections[2]": "the same place as `truth.injections[1]`",
        "truth.shell_commands[1]": "blank",
        "truth.shell_commands[3]": "begins or ends with a blank, as no traced command does",
        "truth.shell_commands[2]": "the same as `truth.shell_commands[0]`",
        "truth.poisoned_tools[2]": "the same as `truth.poisoned_tools[0]`",
    }
    assert set(notes) == {
        "truth.policy_rules",
        "truth.injections[3]",
        "truth.poisoned_tools[1]",
        "truth.manifest_sha256",
        "truth.verdict",
        "skill_type",
    }


@pytest.mark.parametrize("kind", ASSESSED_TYPES)
def test_every_axis_of_a_type_that_truth_leaves_out_is_noted(kind: SkillType, tmp_path: Path) -> None:
    problems, notes = looked_over(tmp_path, skill_type=kind, verdict="ALLOW")
    axes = [name for name, _ in version(CURRENT).rules.types[kind].axes]
    assert problems == {}
    missing = [field for field, text in notes.items() if text.startswith("missing: ")]
    assert missing == [f"truth.{TRUTH_OF_AXIS[axis]}" for axis in axes if axis not in {"alpha", "eta"}]
    assert ("skill_type" in notes) != ("canary" in notes)  # what is run needs an engine, documents can carry a marker


def test_a_marker_that_changes_what_its_file_is_is_noted(tmp_path: Path) -> None:
    files = {"a.md": b"\xff\xfe\n", "b.json": b"{}\n", "c.md": b"text\n"}
    kind, found = SkillType.RAG_KNOWLEDGE, {}
    for number, file in enumerate(files):
        _, found[file] = looked_over(tmp_path / str(number), files, skill_type=kind, canary=file)
    assert "no text in UTF-8" in found["a.md"]["canary.file"]
    assert "no longer what its name says" in found["b.json"]["canary.file"]
    assert set(found["c.md"]) == {"truth"}
