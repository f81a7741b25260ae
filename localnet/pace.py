"""A pace for local miners: nobody answers at once, as nobody could who saw the skill for the first time."""

from dataclasses import dataclass
from typing import Final

from localnet.miner.assessment import Assessment, Response
from localnet.miner.behaviours import Behaviour

PACE_S: Final = 1.0  # within the first quarter of the local network's windows: it costs no early bonus


@dataclass(frozen=True, slots=True)
class Paced:
    """Behaves as `inner` does, but not faster than the pace: shared analyses are instant for all but the first."""

    inner: Behaviour

    async def respond(self, assessment: Assessment) -> Response:
        """Return the inner behaviour's response when its time has come."""
        response = await self.inner.respond(assessment)
        due = assessment.received + PACE_S
        await assessment.clock.sleep(max(0.0, due - assessment.clock.monotonic()))
        return response
