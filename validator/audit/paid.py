"""What each mechanism would pay now, and whom not (SPEC 11; SPEC 16, D-23)."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from validator.protocol.skill_types import WINDOW_TYPES
from validator.scoring import Share, WeightPlan
from validator.store import Transaction
from validator.store.rows import UnpaidWindow
from validator.store.vector_inputs import Basis, basis_now

Mechanisms = Mapping[int, Sequence[Share]]
UNMIXED: Mechanisms = {0: (Share(WINDOW_TYPES, 1.0),)}  # every type counts alike


class Paid(NamedTuple):
    """What a mechanism would pay now."""

    basis: Basis
    plan: WeightPlan

    @property
    def unpaid(self) -> tuple[UnpaidWindow, ...]:
        """The windows that it would leave unpaid."""
        return self.basis.unpaid(self.plan)


async def paid_now(tx: Transaction, mechid: int, kinds: Sequence[Share], registered: Collection[str]) -> Paid:
    """Return what the mechanism would pay these hotkeys now; raises as `basis_now`."""
    basis = await basis_now(tx, mechid)
    windows = {one: of_types for one, of_types in basis.windows.items() if one in registered}
    return Paid(basis, basis.version.mechanism_weights(windows, kinds, basis.standing))
