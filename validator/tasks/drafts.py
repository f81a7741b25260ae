"""Drafts of tasks: `task.draft.json` is a task in which TODO stands where somebody has yet to decide.

No source reads a draft. One that is renamed to `task.json` too early is no task either: TODO fits the type of no field,
neither as a text nor as the entry of a list that it is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from validator.protocol import limits
from validator.protocol.strict_json import decode_plain
from validator.tasks.folder import DRAFT_NAME, folders

PAGE_NAME: Final = "task.draft.txt"
TODO: Final = "TODO"
_DECISIONS: Final = {
    "verdict": "ALLOW, REVIEW or BLOCK",
    "reference_risk": "how great the risk is, from 0 to 1",
    "transitive_risk": "how great the risk is that the children bring, from 0 to 1",
}
_CANDIDATES: Final = "remove what is not true, add what is missing, then remove this entry"


def open_list(candidates: list[Any]) -> list[Any]:
    """Return a list of candidates that is still to be decided."""
    return [{TODO: _CANDIDATES}, *candidates]


def undecided(data: bytes) -> list[str]:
    """Return what is still to be decided in a task, each with its field.

    Raises:
        JsonError: no JSON document.
    """
    document = decode_plain(data, limit=limits.MAX_TASK_BODY)
    truth = document.get("truth") if isinstance(document, dict) else None
    if not isinstance(truth, dict):
        return []
    fields = [name for name, value in truth.items() if _is_open(value)]
    return [f"{TODO}: {_DECISIONS.get(name, _CANDIDATES)} - at `truth.{name}`" for name in fields]


def find_drafts(root: Path) -> Iterator[Path]:
    """Yield every `task.draft.json` at or below `root`. Blocks: call it in a thread."""
    if root.is_file():
        yield from [root] if root.name == DRAFT_NAME else []
        return
    for folder, _, files in folders(root):
        if DRAFT_NAME in files:
            yield Path(folder, DRAFT_NAME)


def _is_open(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(entry, dict) and TODO in entry for entry in value)
    return isinstance(value, str) and value == TODO
