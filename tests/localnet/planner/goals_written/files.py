"""The benchmark's files, as its version's folder holds them."""

import json
import re
from collections.abc import Mapping

from goals_written.specs import Spec, specs


def files() -> Mapping[str, bytes]:
    """Return every file of the newest version by name."""
    return {f"{re.sub('[^a-z0-9]+', '-', spec.name)}.json": _document(spec) for spec in specs()}


def _document(spec: Spec) -> bytes:
    document = {
        "task_version": "1.1" if "expected_text" in spec.reference else "1.0",
        "goal": spec.goal,
        "type": spec.kind,
        "required_steps": spec.steps,
        "constraints": {
            "max_budget_tao": round(spec.budget, 6),
            "max_latency_seconds": spec.latency,
            "allowed_services": spec.allowed,
        },
        "services": spec.services,
        "reference": spec.reference,
    }
    return (json.dumps(document, indent=2) + "\n").encode()
