"""A second scoring version as its recipe says: with other rules."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import pytest
from builders import V1

from sssa.scoring import Version
from sssa.scoring.v1.rules import Step
from sssa.scoring.versions import VERSIONS

_RULES = V1.rules
TOY: Final = Version(
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
        patch.setattr("sssa.scoring.versions.VERSIONS", {**VERSIONS, **{one.name: one for one in versions}})
        yield
