"""The numbers of version 1.1.0 that differ from those of 1.0.0 (SPEC 16); they never change."""

from dataclasses import replace
from typing import Final

from validator.scoring.constants import Rules
from validator.scoring.v1_0.rules import RULES as RULES_1_0

RULES: Final[Rules] = replace(
    RULES_1_0,
    pay=replace(RULES_1_0.pay, full_share_miners=7),
    workflow=replace(RULES_1_0.workflow, gate=RULES_1_0.workflow.gate + 1e-12),
)
