"""Conversion of scores to the vector that is sent, by the uids that are registered now (SPEC 11). Pure."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sssa.protocol.round import MetagraphSnapshot, Neuron
from sssa.protocol.skill_types import Kind
from sssa.protocol.weight_rows import left_over, shares_of, to_u16
from sssa.scoring import TallyPay
from validator.settings.model import WeightsSettings
from validator.store.rows import UnpaidWindow
from validator.store.vector_inputs import Basis


class Vector(NamedTuple):
    """The content of one submission.

    Attributes:
        uids: uid to weight as sent, the owner's share included; sums to 1 unless something is dropped.
        weights: hotkey to weight of the miners, none above the cap.
        scores: hotkey to score of every registered miner that has one.
        unallocated: the share that no miner takes (D-11).
        owner: the hotkey that takes it; None if the share is 0 or the chain names no registered owner.
        unpaid: windows of registered miners that count as 0 (SPEC 11, D-23).
        assessments, workflows: hotkey to score of each kind, 0 where the mechanism does not pay it.
        workflow_share: of the pay, where the mechanism pays both kinds; else None.
        tallied: how tallies became scores; None before 2.0.0.
        link: number of the receipt of this vector; None before it is written.
    """

    uids: dict[int, float]
    weights: dict[str, float]
    scores: dict[str, float]
    unallocated: float
    owner: str | None
    scoring_version: str
    unpaid: tuple[UnpaidWindow, ...]
    assessments: Mapping[str, float] = {}
    workflows: Mapping[str, float] = {}
    workflow_share: float | None = None
    link: int | None = None
    tallied: TallyPay | None = None

    @property
    def positive(self) -> bool:
        """True if any miner has a score above 0; without one nothing is sent."""
        return bool(self.weights)

    @property
    def row(self) -> dict[int, int]:
        """The row as it is sent, uid to u16; empty without a positive score."""
        return to_u16(self.uids)

    def log_fields(self) -> dict[str, Any]:
        """Return the fields of its lines in the log."""
        unpaid: dict[str, dict[str, str]] = {}
        for one in self.unpaid:
            unpaid.setdefault(one.hotkey, {})[one.skill_type] = one.reason
        return {
            "scoring_version": self.scoring_version,
            "weights": self.weights,
            "uids": {str(uid): weight for uid, weight in sorted(self.uids.items())},
            "scores": self.scores,
            "unpaid": unpaid,
            "unallocated": self.unallocated,
            "owner": self.owner,
        }


def mechanisms(settings: WeightsSettings) -> dict[int, tuple[Kind, ...]]:
    """Return mechanism id to the kinds of task that it pays, by id."""
    kinds: dict[int, tuple[Kind, ...]] = {settings.assessment_mechid: ("assessments",)}
    kinds[settings.workflow_mechid] = (*kinds.get(settings.workflow_mechid, ()), "workflows")
    return dict(sorted(kinds.items()))


def plan_vector(basis: Basis, snapshot: MetagraphSnapshot, validator_hotkey: str, kinds: Collection[Kind]) -> Vector:
    """Return a mechanism's vector for the subnet as of `snapshot`.

    Hotkeys that are not registered are removed before anything is computed: the cap is the last step, and no miner gets
    a share of theirs beyond it. The validator itself is not a miner.
    """
    registered = {neuron.hotkey for neuron in snapshot.neurons} - {validator_hotkey}
    plan = basis.plan(registered, kinds)
    positive = bool(plan.weights)
    return Vector(
        uids=resolve(plan.weights, plan.unallocated, snapshot) if positive else {},
        weights=plan.weights,
        scores=plan.scores,
        unallocated=plan.unallocated,
        owner=_heir(plan.unallocated, snapshot) if positive else None,
        scoring_version=basis.version.name,
        unpaid=basis.unpaid(plan),
        tallied=plan.tallied,
        assessments=plan.assessments,
        workflows=plan.workflows,
        workflow_share=plan.workflow_share,
    )


def resolve(weights: Mapping[str, float], unallocated: float, snapshot: MetagraphSnapshot) -> dict[int, float]:
    """Return uid to weight as of `snapshot`; hotkeys without a uid are dropped, the rest goes to the owner (D-11)."""
    uids = {neuron.hotkey: neuron.uid for neuron in snapshot.neurons}
    owner = owner_of(snapshot)
    return shares_of(weights, unallocated, uids, None if owner is None else owner.uid)


def owner_of(snapshot: MetagraphSnapshot) -> Neuron | None:
    """Return the slot of the subnet's owner, None where the chain names none that is registered."""
    return None if snapshot.owner_hotkey is None else snapshot.by_hotkey(snapshot.owner_hotkey)


def _heir(unallocated: float, snapshot: MetagraphSnapshot) -> str | None:
    owner = owner_of(snapshot)
    return None if owner is None or not left_over(unallocated) else owner.hotkey
