"""A round of sixty attestations at their limit, an emoji in every text, takes bounded memory in every process."""

import os
import sys
from pathlib import Path

import pytest
from full_round import MOST_MIB, Peaks, full_round, round_of_plans


def bounded(peaks: Peaks, what: str) -> None:
    told = (f"\nmemory of {name:10} {peak:.0f} MiB at most, {what}" for name, peak in peaks._asdict().items())
    sys.stdout.write("".join(told))
    assert all(peak <= most for peak, most in zip(peaks, MOST_MIB, strict=True)), peaks


@pytest.mark.attack
@pytest.mark.skipif(
    "HOSTILE_ROUNDS" not in os.environ,
    reason="a minute and a half: HOSTILE_ROUNDS runs it",
)
async def test_sixty_full_answers_take_bounded_memory_from_answer_to_log(tmp_path: Path) -> None:
    bounded(await full_round(tmp_path), "sixty attestations")


@pytest.mark.attack
async def test_ten_full_plans_take_bounded_memory_from_run_to_log(tmp_path: Path) -> None:
    bounded(await round_of_plans(tmp_path), "ten plans")
