"""A pace for local miners: nobody answers before t_min, or at once, as nobody could to whom the skill is new."""

from dataclasses import dataclass
from typing import Final

from miner.assessment import Assessment, Response
from miner.behaviours import Behaviour

PACE_S: Final = 1.0  # within the first quarter of the local network's windows: it costs no early bonus


@dataclass(frozen=True, slots=True)
class Paced:
    """Behaves as `inner` does, but not faster than the pace: shared analyses are instant for all but the first.

    Attributes:
        inner: what the miner makes of dispatches.
        pace_s: seconds before which it never answers; nor before the dispatch's own t_min.
    """

    inner: Behaviour
    pace_s: float = PACE_S

    async def respond(self, assessment: Assessment) -> Response:
        """Return the inner behaviour's response when its time has come."""
        response = await self.inner.respond(assessment)
        due = assessment.received + max(self.pace_s, assessment.dispatch.t_min_s)
        await assessment.clock.sleep(max(0.0, due - assessment.clock.monotonic()))
        return response
