"""Collusion samples and flags (SPEC 9)."""

from collections.abc import Sequence
from typing import NamedTuple

from validator.protocol.round import AgreementPair
from validator.protocol.scoring_version import (
    COLLUSION_AUDITORS_BELOW,
    COLLUSION_MIN_SAMPLES,
    COLLUSION_PRIMARIES_ABOVE,
    COLLUSION_WINDOW,
    WITNESS_AGREEMENT,
)
from validator.scoring.means import mean


class WindowStep(NamedTuple):
    """The window after one counted sample.

    Attributes:
        window: what the next sample is added to; empty after a flag.
        flag: the two means when the sample raised one.
        samples: how many the means are over, this one included.
        means: with primaries and with auditors, whether they raised a flag or not.
    """

    window: tuple[AgreementPair, ...]
    flag: tuple[float, float] | None
    samples: int
    means: tuple[float, float]


def auditors_are_witnesses(agreement: float | None) -> bool:
    """Whether a task gives samples: not when its two valid auditors contradict each other (D-14)."""
    return agreement is None or agreement >= WITNESS_AGREEMENT


def window_means(window: Sequence[AgreementPair]) -> tuple[float, float]:
    """Return the mean agreements with primaries and with auditors; `window` must not be empty."""
    return mean([pair.with_primaries for pair in window]), mean([pair.with_auditors for pair in window])


def add_sample(window: Sequence[AgreementPair], sample: AgreementPair) -> WindowStep:
    """Add a counted sample to the window of one (hotkey, skill_type) and say whether it raises a flag (SPEC 9, D-9).

    Raising a flag consumes the window: the next flag needs new samples.
    """
    extended = (*window, sample)[-COLLUSION_WINDOW:]
    primaries, auditors = window_means(extended)
    raised = (
        len(extended) >= COLLUSION_MIN_SAMPLES
        and primaries > COLLUSION_PRIMARIES_ABOVE
        and auditors < COLLUSION_AUDITORS_BELOW
    )
    if raised:
        return WindowStep((), (primaries, auditors), len(extended), (primaries, auditors))
    return WindowStep(extended, None, len(extended), (primaries, auditors))
