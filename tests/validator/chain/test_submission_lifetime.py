"""Lifetime of a submission: the blocks within which it can still arrive."""

import bittensor_core
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.signatures import Signer, verify
from sssa.sources import VirtualClock
from validator.chain.submission import NotSignedError, OneSignature, era_period, submission_lifetime

ME = Signer.from_uri("//Validator")


@given(valid=st.integers(1, 2_000), head=st.integers(0, 10**8), passed=st.integers(0, 16), lag=st.integers(0, 50))
def test_no_block_after_the_lifetime_can_hold_it(valid: int, head: int, passed: int, lag: int) -> None:
    """The SDK begins an era at the newest finalised block; the head it signs at is at most the slack further on."""
    finalised = max(0, head + passed - lag)
    period = era_period(valid)
    first_too_late = bittensor_core.era_birth(period, finalised) + period
    assert first_too_late <= head + submission_lifetime(valid)
    assert valid <= period <= submission_lifetime(valid)
    assert period & (period - 1) == 0


async def test_a_hotkey_signs_once() -> None:
    once = OneSignature(ME, VirtualClock(), 5.0)
    assert verify(b"call", "0x" + once.sign(b"call").hex(), ME.hotkey, "sr25519")
    assert once.used
    with pytest.raises(NotSignedError, match="signed already"):
        once.sign(b"call")


@pytest.mark.parametrize("give_up", [True, False])
async def test_a_hotkey_does_not_sign_too_late(give_up: bool) -> None:
    clock = VirtualClock()
    once = OneSignature(ME, clock, 5.0)
    if give_up:
        once.give_up()
    else:
        await clock.advance(5.1)
    with pytest.raises(NotSignedError, match="took too long"):
        once.sign(b"call")
    assert once.late
    assert not once.used
