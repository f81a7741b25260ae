"""Sliding window of agreement samples of one miner and type, and the flag that it raises (SPEC 9)."""

from collections.abc import Sequence

from validator.protocol.arithmetic import mean
from validator.protocol.round import AgreementPair
from validator.scoring.v1.rules import Ruled
from validator.scoring.values import WindowStep


def auditors_are_witnesses(version: Ruled, agreement: float) -> bool:
    """Return whether two auditors with this agreement are witnesses: not if they contradict each other (D-14)."""
    return agreement >= version.rules.collusion.witnesses


def window_means(window: Sequence[AgreementPair]) -> AgreementPair:
    """Return the means of agreements and qualities; `window` must not be empty."""
    return AgreementPair(
        mean([one.with_primaries for one in window]),
        mean([one.with_auditors for one in window]),
        mean([one.own for one in window]),
        mean([one.witnesses for one in window]),
    )


def add_sample(version: Ruled, window: Sequence[AgreementPair], sample: AgreementPair) -> WindowStep:
    """Add a counted sample to the window of one (hotkey, skill_type) and say whether it raises a flag (SPEC 9).

    Agreements of a cohort consume the window: the next flag needs new samples (D-9). They raise a flag only where the
    witnesses are clearly more right than the miner (D-50).
    """
    rules = version.rules.collusion
    extended = (*window, sample)[-rules.window :]
    means = window_means(extended)
    suspect = (
        len(extended) >= rules.min_samples
        and means.with_primaries > rules.primaries_above
        and means.with_auditors < rules.auditors_below
    )
    raised = suspect and means.own < rules.worse * means.witnesses
    return WindowStep(() if suspect else extended, len(extended), means, raised)
