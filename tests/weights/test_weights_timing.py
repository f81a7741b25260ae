import pytest

from validator.chain.base import Head, SubnetParameters
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot, Neuron
from validator.weights.timing import due_block, hindrance

PARAMETERS = SubnetParameters(20, 10, 50.0, 0, False, 1)


def snapshot_of(block: int, neuron: Neuron | None) -> MetagraphSnapshot:
    return MetagraphSnapshot(1, block, "ab" * 32, 0, 2, 20, None, (neuron,) if neuron else ())


@pytest.mark.parametrize(
    ("end", "before", "due"), [(62, 5, 57), (62, 0, 61), (62, 1, 61), (62, 500, -438), (None, 5, 45)]
)
def test_due_is_late_in_the_epoch_but_before_its_last_block(end: int | None, before: int, due: int) -> None:
    assert due_block(Head(45, "ab" * 32, 0, 2, end), before) == due


@pytest.mark.parametrize(
    ("neuron", "mechid", "reason", "retry"),
    [
        (None, 0, Reason.WEIGHTS_NOT_REGISTERED, 51),
        (Neuron("Va", 0, 50.0, False, None, 0), 0, Reason.WEIGHTS_NO_PERMIT, 51),
        (Neuron("Va", 0, 49.9, True, None, 0), 0, Reason.WEIGHTS_LOW_STAKE, 51),
        (Neuron("Va", 0, 50.0, True, None, 0), 1, Reason.WEIGHTS_REJECTED, 51),
        (Neuron("Va", 0, 50.0, True, None, 45), 0, Reason.WEIGHTS_RATE_LIMITED, 55),
    ],
)
def test_what_the_chain_would_refuse(neuron: Neuron | None, mechid: int, reason: Reason, retry: int) -> None:
    found = hindrance(snapshot_of(50, neuron), PARAMETERS, "Va", mechid)
    assert found is not None
    assert (found.reason, found.retry) == (reason, retry)


def test_nothing_stands_in_the_way_once_the_rate_limit_has_passed() -> None:
    me = Neuron("Va", 0, 50.0, True, None, 40)
    assert hindrance(snapshot_of(50, me), PARAMETERS, "Va", 0) is None
    assert hindrance(snapshot_of(49, me), PARAMETERS, "Va", 0) is not None
