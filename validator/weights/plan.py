"""From scores to what is sent: who is registered now, and which uid is whose (SPEC 11). Pure."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from validator.protocol.round import MetagraphSnapshot
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.scoring import Share, Version
from validator.settings import WeightsSettings

# Below this, what the sum of the weights misses of 1 is rounding and nobody's share.
_ROUNDING: Final = 1e-9
ASSESSMENTS: Final = tuple(map(str, ASSESSED_TYPES))
WORKFLOWS: Final = (str(SkillType.WORKFLOW),)

Windows = Mapping[str, Mapping[str, Sequence[float]]]


class Vector(NamedTuple):
    """What one submission holds.

    Attributes:
        uids: uid to weight as sent, the owner's share included; sums to 1 unless something is dropped.
        weights: hotkey to weight of the miners, none above the cap.
        scores: hotkey to score of every registered miner that has one.
        unallocated: the share that no miner takes (D-11).
        owner: who takes it; None where nobody does: nothing is left over, or the chain names no registered owner.
    """

    uids: dict[int, float]
    weights: dict[str, float]
    scores: dict[str, float]
    unallocated: float
    owner: str | None


def mechanisms(settings: WeightsSettings) -> dict[int, tuple[Share, ...]]:
    """Return mechanism id to the kinds of task that it pays, by id. One without a share has no say and no mechanism."""
    kinds: dict[int, tuple[Share, ...]] = {}
    for mechid, share in (
        (settings.assessment_mechid, Share(ASSESSMENTS, settings.assessment_share)),
        (settings.workflow_mechid, Share(WORKFLOWS, settings.workflow_share)),
    ):
        if share.share != 0:
            kinds[mechid] = (*kinds.get(mechid, ()), share)
    return dict(sorted(kinds.items()))


def plan_vector(
    version: Version, windows: Windows, snapshot: MetagraphSnapshot, validator_hotkey: str, kinds: Sequence[Share]
) -> Vector | None:
    """Return a mechanism's vector for the subnet as of `snapshot`, None if no miner has a positive score.

    Hotkeys that are not registered are left out before anything is computed, so that the cap stays the last step and
    nobody gets a share of theirs beyond it. The validator itself is no miner.
    """
    registered = {neuron.hotkey for neuron in snapshot.neurons} - {validator_hotkey}
    plan = version.mechanism_weights({hotkey: windows[hotkey] for hotkey in windows if hotkey in registered}, kinds)
    if not plan.weights:
        return None
    owner = _heir(plan.unallocated, snapshot)
    return Vector(resolve(plan.weights, plan.unallocated, snapshot), plan.weights, plan.scores, plan.unallocated, owner)


def resolve(weights: Mapping[str, float], unallocated: float, snapshot: MetagraphSnapshot) -> dict[int, float]:
    """Return uid to weight as of `snapshot`; hotkeys without a uid are dropped, the rest goes to the owner (D-11)."""
    uids = {neuron.hotkey: neuron.uid for neuron in snapshot.neurons}
    sent = {uids[hotkey]: weight for hotkey, weight in weights.items() if hotkey in uids}
    owner = _heir(unallocated, snapshot)
    if owner is not None:
        sent[uids[owner]] = sent.get(uids[owner], 0.0) + unallocated
    return sent


def _heir(unallocated: float, snapshot: MetagraphSnapshot) -> str | None:
    owner = snapshot.owner_hotkey
    if owner is None or unallocated <= _ROUNDING or snapshot.by_hotkey(owner) is None:
        return None
    return owner
