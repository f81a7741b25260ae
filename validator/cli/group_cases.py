"""The stable document of `validator groups select`, in the form of the spec's vectors."""

from typing import Any

import msgspec

from validator.cli.score_cases import Case, version_of
from validator.protocol.answer import Id
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Hex32
from validator.protocol.strict_json import SchemaError
from validator.scoring import Candidate


class SelectionCase(Case, frozen=True):
    """A frozen pool; `seed` is the hex of round_seed."""

    candidates: tuple[Candidate, ...]
    round_id: Id
    seed: Hex32
    skill_type: SkillType
    task_id: Id


def select_case(case: SelectionCase) -> dict[str, Any]:
    """Return primaries, auditors, promoted, demoted, excluded and mode (SPEC 8).

    Raises:
        SchemaError: naming the field.
    """
    seen: set[str] = set()
    for i, candidate in enumerate(case.candidates):
        if candidate.hotkey in seen:
            raise SchemaError(f"this hotkey stands in it twice - at `$.candidates[{i}].hotkey`")
        if candidate.failures > candidate.dispatches:
            raise SchemaError(f"must not exceed dispatches - at `$.candidates[{i}].failures`")
        seen.add(candidate.hotkey)
    group = version_of(case).select_group(case.candidates, bytes.fromhex(case.seed), case.round_id, case.task_id)
    result = msgspec.structs.asdict(group)
    del result["task_id"]
    return result
