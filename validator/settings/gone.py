"""Settings that older versions had, and what an operator does now."""

from typing import Final

_SHARES: Final = "remove it: what workflows are paid beside assessments is a constant of the scoring version"
GONE: Final = {
    "tasks.exclude_recent": "remove it: the task that was given least often is always next",
    "weights.assessment_share": _SHARES,
    "weights.workflow_share": _SHARES,
}


def advice(dotted: str) -> str | None:
    """Return what to tell whoever still has the setting `section.key`; None: there never was one."""
    return f"is no setting any more; {GONE[dotted]}" if dotted in GONE else None
