"""A round of sixty attestations at their limit, an emoji in every text, takes bounded memory in every process."""

import os
import sys
from pathlib import Path

import pytest
from full_round import MOST_MIB, full_round


@pytest.mark.attack
@pytest.mark.skipif("HOSTILE_ROUNDS" not in os.environ, reason="a minute and a half: `make hostile` runs it")
async def test_sixty_full_answers_take_bounded_memory_from_answer_to_log(tmp_path: Path) -> None:
    peaks = await full_round(tmp_path)
    sys.stdout.write("".join(f"\nmemory of {name:10} {peak:.0f} MiB at most" for name, peak in peaks._asdict().items()))
    assert all(peak <= most for peak, most in zip(peaks, MOST_MIB, strict=True)), peaks
