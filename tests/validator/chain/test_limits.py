"""Order of the time limits of chain calls: what contains another limit outlasts it."""

from itertools import pairwise

from validator.chain.limits import LIMITS
from validator.daemon import watches
from validator.daemon.start import START_S
from validator.health.doctor import LIMITS as DOCTOR
from validator.health.report import CHAIN_LIMIT_S, STALE_S
from validator.weights import chain_view


def test_what_contains_another_limit_outlasts_it() -> None:
    # A silent endpoint, a look at the others, connecting to one of them: all within the call that met the silence.
    assert LIMITS.answer_s + LIMITS.look_s / 5 + 2 * LIMITS.look_s <= LIMITS.call_s
    ladder = [LIMITS.look_s, LIMITS.answer_s, LIMITS.call_s, LIMITS.still_s, LIMITS.no_block_s]
    assert all(inner < outer for inner, outer in pairwise(ladder))
    assert LIMITS.still_s <= 60.0
    assert LIMITS.no_block_s <= chain_view.READ_S <= LIMITS.submit_s
    # Connecting and one call to a silent endpoint; a start that has both still has time for the rest.
    assert 2 * LIMITS.call_s < START_S
    # What watches the head sees a call that ends without an answer before the chain counts as away.
    assert watches._HEAD_EVERY_S + LIMITS.call_s < CHAIN_LIMIT_S < STALE_S
    assert DOCTOR.endpoint + LIMITS.look_s < DOCTOR.chain < DOCTOR.whole
