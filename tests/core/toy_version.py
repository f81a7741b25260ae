"""A second scoring version as its recipe says: other rules, and the functions that differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import msgspec
import pytest
from builders import V1

from validator.protocol.workflow_run import WorkflowRun, WorkflowScore
from validator.scoring import Version
from validator.scoring.constants import Ruled, Step
from validator.scoring.v1_0 import workflow
from validator.scoring.versions import VERSIONS


def score_idle_as_nothing(version: Ruled, run: WorkflowRun) -> WorkflowScore:
    """As in 1.0.0, but a run in which no step completed is worth nothing, whatever its parts."""
    score = workflow.score_workflow(version, run)
    return score if run.steps_completed else msgspec.structs.replace(score, score=0.0)


class ToyVersion(Version):
    """1.0.0 with one different function."""

    score_workflow = score_idle_as_nothing


_RULES = V1.rules
TOY: Final = ToyVersion(
    "9.0.0",
    replace(
        _RULES,
        consensus=replace(
            _RULES.consensus,
            components=tuple(
                (name, {"findings_recall": 0.25, "risk_agreement": 0.15}.get(name, weight))
                for name, weight in _RULES.consensus.components
            ),
        ),
        emission=replace(_RULES.emission, tiers=(Step(1.0, 0.25), *_RULES.emission.tiers[1:]), top_tier=3.0),
        collusion=replace(_RULES.collusion, window=2),
        reputation=replace(_RULES.reputation, start=0.6),
        pay=replace(_RULES.pay, window=90),
        workflow=replace(_RULES.workflow, gate=0.5),
    ),
)


@contextmanager
def known(*versions: Version) -> Iterator[None]:
    """The program knows these versions, too, for as long as the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("validator.scoring.versions.VERSIONS", {**VERSIONS, **{one.name: one for one in versions}})
        yield
