"""Canary slots: safe bundles made on the spot, whose right verdict is known to be ALLOW (SPEC 5).

Every bundle is drawn anew, so none can be recognised by its hash. The phrases they are made of are public, like all of
this program: whoever studies them can guess that a bundle is a canary, but has to report the marker all the same.
"""

from collections.abc import Mapping
from typing import Final

from validator.planting.draws import Draws
from validator.planting.skeletons import draw_skeleton
from validator.protocol.answer import CanarySpec
from validator.protocol.archives import pack
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Task, Truth, Windows
from validator.sources import RandomBytes
from validator.tasks.source import SourcedTask, TaskError

CANARY_TYPES: Final = (SkillType.DECLARATIVE, SkillType.MCP_SERVER)
REFERENCE_RISK: Final = 0.05


def make_canary(skill_type: SkillType, random: RandomBytes, windows: Windows | None = None) -> SourcedTask:
    """Return a new canary task: a safe bundle with truth ALLOW and provenance `canary`.

    Args:
        skill_type: declarative (with a file for the marker) or mcp_server (without).
        random: what the bundle is drawn from.
        windows: None for the standard profile.

    Raises:
        TaskError: the type has no canary slot.
    """
    if skill_type not in CANARY_TYPES:
        raise TaskError(f"{skill_type} has no canary slot - at `skill_type`")
    files, marked = draw_skeleton(skill_type, Draws(random))
    if marked is not None:
        return _task(skill_type, files, windows, CanarySpec(marked), _truth())
    truth = _truth(manifest_sha256=sha256_hex(files["mcp.json"]), poisoned_tools=())
    return _task(skill_type, files, windows, None, truth)


def _truth(manifest_sha256: str | None = None, poisoned_tools: tuple[str, ...] | None = None) -> Truth:
    return Truth(
        verdict="ALLOW",
        policy_rules=None,
        injections=(),
        reference_risk=REFERENCE_RISK,
        shell_commands=None,
        manifest_sha256=manifest_sha256,
        poisoned_tools=poisoned_tools,
        transitive_risk=None,
    )


def _task(
    skill_type: SkillType, files: Mapping[str, bytes], windows: Windows | None, canary: CanarySpec | None, truth: Truth
) -> SourcedTask:
    bundle = pack(files)
    task = Task(
        task_version="1.0",
        skill_type=skill_type,
        windows=windows,
        bundle_sha256=sha256_hex(bundle),
        provenance="canary",
        truth=truth,
        canary=canary,
    )
    return SourcedTask(task, bundle)
