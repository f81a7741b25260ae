"""The draft of a task: what is known stands in it, candidates stand under a TODO, and TODO where a person decides."""

import json
from contextlib import ExitStack
from typing import Any, Final

import msgspec

from miner.drafting.known import Known
from miner.drafting.packed import Packed
from validator.files import made_folders, new_file, settle
from validator.protocol.canonical import sha256_hex
from validator.protocol.sssa import Finding
from validator.scoring import CURRENT, version
from validator.tasks.check import TRUTH_OF_AXIS
from validator.tasks.folder import BUNDLE_NAME, DRAFT_NAME, PAGE_NAME, TODO, open_list, writing

_SHORT: Final = 2  # fields of an object that stands in one line, as windows and canary do
_FIELDS: Final = (
    "verdict",
    "policy_rules",
    "injections",
    "reference_risk",
    "shell_commands",
    "manifest_sha256",
    "poisoned_tools",
    "transitive_risk",
    "findings",
)


def draft_document(packed: Packed, known: Known) -> dict[str, Any]:
    """Return `task.draft.json`: a task of version 1.1. A field that the type is not scored by is null.

    Verdict and risks are a person's: no candidate is given, so that truth is not what the reference miner says.
    """
    axes = {name for name, _ in version(CURRENT).rules.types[packed.skill_type].axes}
    scored = {field for axis, field in TRUTH_OF_AXIS.items() if axis in axes}
    known_fields: dict[str, Any] = {
        "policy_rules": open_list([msgspec.to_builtins(rule) for rule, _ in known.rules]),
        "injections": open_list([*known.injections]),
        "reference_risk": TODO,
        "shell_commands": open_list([*known.commands]),
        "manifest_sha256": known.manifest_sha256,
        "poisoned_tools": open_list([*known.poisoned]),
        "transitive_risk": TODO,
    }
    truth = {
        "verdict": TODO,
        **{field: known_fields[field] if field in scored else None for field in known_fields},
        "findings": open_list([_finding(one) for one in known.findings]),
    }
    return {
        "task_version": "1.1",
        "skill_type": packed.skill_type.value,
        "windows": msgspec.to_builtins(packed.windows),
        "bundle_sha256": sha256_hex(packed.bundle),
        "provenance": "curated",
        "truth": {field: truth[field] for field in _FIELDS},
        "canary": msgspec.to_builtins(packed.canary),
    }


def write_draft(packed: Packed, document: dict[str, Any], page: str) -> None:
    """Write `task.draft.json`, `task.draft.txt` and a bundle from elsewhere: all of them, or nothing.

    Raises:
        TaskError: they cannot be written; what was there is left, and no folder was made.
    """
    files = {DRAFT_NAME: _lines(document).encode() + b"\n", PAGE_NAME: page.encode()}
    if packed.is_new:
        files[BUNDLE_NAME] = packed.bundle
    with writing(packed.folder), made_folders(packed.folder), ExitStack() as stack:
        for name, content in files.items():
            stream = stack.enter_context(new_file(packed.folder / name, mode=None, replace=name != BUNDLE_NAME))
            stream.write(content)
            settle(stream)


def _lines(value: Any, margin: str = "") -> str:
    """Return JSON with a line for each field and each entry of a list, to be edited.

    In ASCII: nothing of a bundle turns the text around, or hides in it, where somebody decides.
    """
    inner = f"{margin}  "
    if isinstance(value, dict) and len(value) > _SHORT:
        fields = [f"{inner}{json.dumps(name)}: {_lines(one, inner)}" for name, one in value.items()]
        return "{\n" + ",\n".join(fields) + f"\n{margin}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{inner}{json.dumps(one)}" for one in value) + f"\n{margin}]"
    return json.dumps(value)


def _finding(one: Finding) -> dict[str, Any]:
    """Return a candidate as a truth names it; its kind is its category until somebody says better."""
    return {
        "category": one.category,
        "severity": one.severity,
        "evidence_ref": one.evidence_ref,
        "cve_ids": [*one.cve_ids],
        "target_pattern": one.target_pattern,
        "kind": one.category,
    }
