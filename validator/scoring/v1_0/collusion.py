"""Sliding window of agreement samples of one miner and type, and the flag that it raises (SPEC 9)."""

from collections.abc import Sequence

from validator.protocol.arithmetic import mean
from validator.protocol.round import AgreementPair
from validator.scoring.constants import Ruled
from validator.scoring.values import WindowStep


def auditors_are_witnesses(version: Ruled, agreement: float | None) -> bool:
    """Return whether a task gives samples: not if its two valid auditors contradict each other (D-14)."""
    return agreement is None or agreement >= version.rules.collusion.witnesses


def window_means(window: Sequence[AgreementPair]) -> tuple[float, float]:
    """Return the mean agreements with primaries and with auditors; `window` must not be empty."""
    return mean([pair.with_primaries for pair in window]), mean([pair.with_auditors for pair in window])


def add_sample(version: Ruled, window: Sequence[AgreementPair], sample: AgreementPair) -> WindowStep:
    """Add a counted sample to the window of one (hotkey, skill_type) and say whether it raises a flag (SPEC 9, D-9).

    Raising a flag consumes the window: the next flag needs new samples.
    """
    rules = version.rules.collusion
    extended = (*window, sample)[-rules.window :]
    primaries, auditors = window_means(extended)
    raised = (
        len(extended) >= rules.min_samples and primaries > rules.primaries_above and auditors < rules.auditors_below
    )
    if raised:
        return WindowStep((), (primaries, auditors), len(extended), (primaries, auditors))
    return WindowStep(extended, None, len(extended), (primaries, auditors))
