import msgspec
import pytest

from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot, Neuron
from validator.chain.interface import VERSION_KEY, Head, SubnetParameters
from validator.weights.chain_view import ChainView, Slot, chain_blocker, due_block, validity

PARAMETERS = SubnetParameters(20, 10, 50.0, 0, False, 1)
ME = Neuron("Va", 0, 50.0, True, None)


def view_of(
    neuron: Neuron | None = ME, *, block: int = 50, updated: int = 0, commits: int = 0, version_key: int = 0
) -> ChainView:
    snapshot = MetagraphSnapshot(1, block, "ab" * 32, 0, 2, 20, None, (neuron,) if neuron else ())
    slot = None if neuron is None else Slot(neuron, updated, 0, list(range(block - commits, block)), {})
    return ChainView(snapshot, PARAMETERS._replace(version_key=version_key), slot)


@pytest.mark.parametrize(
    ("end", "before", "due"), [(62, 5, 57), (62, 0, 61), (62, 1, 61), (62, 500, -438), (None, 5, 45)]
)
def test_due_is_late_in_the_epoch_but_before_its_last_block(end: int | None, before: int, due: int) -> None:
    assert due_block(Head(45, "ab" * 32, 0, 2, end), before) == due


@pytest.mark.parametrize(("end", "block", "valid"), [(62, 50, 8), (62, 58, 4), (62, 61, 1), (62, 62, 1), (None, 50, 8)])
def test_a_submission_is_not_valid_past_the_epochs_end(end: int | None, block: int, valid: int) -> None:
    assert validity(Head(45, "ab" * 32, 0, 2, end), block, 8) == valid


@pytest.mark.parametrize(
    ("view", "mechid", "reason", "retry"),
    [
        (view_of(None), 0, Reason.WEIGHTS_NOT_REGISTERED, 51),
        (view_of(None), 1, Reason.WEIGHTS_REJECTED, 51),
        (view_of(msgspec.structs.replace(ME, validator_permit=False)), 0, Reason.WEIGHTS_NO_PERMIT, 51),
        (view_of(msgspec.structs.replace(ME, stake_tao=49.9)), 0, Reason.WEIGHTS_LOW_STAKE, 51),
        (view_of(), 1, Reason.WEIGHTS_REJECTED, 51),
        (view_of(version_key=VERSION_KEY + 1), 0, Reason.WEIGHTS_VERSION_KEY, 51),
        (view_of(commits=10), 0, Reason.WEIGHTS_UNREVEALED, 51),
        (view_of(updated=45), 0, Reason.WEIGHTS_RATE_LIMITED, 55),
    ],
)
def test_what_the_chain_would_refuse(view: ChainView, mechid: int, reason: Reason, retry: int) -> None:
    found = chain_blocker(view, mechid)
    assert found is not None
    assert (found.reason, found.retry) == (reason, retry)


def test_nothing_stands_in_the_way_once_the_rate_limit_has_passed() -> None:
    assert chain_blocker(view_of(updated=40, commits=9, version_key=VERSION_KEY), 0) is None
    assert chain_blocker(view_of(updated=40, block=49), 0) is not None
