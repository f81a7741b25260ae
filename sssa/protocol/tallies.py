"""Entries and records of scoring version 2.0.0, as frozen inputs and outcomes hold them (SPEC 17)."""

from typing import Annotated

from msgspec import Meta

from sssa.protocol.limits import MAX_SAFE_INTEGER
from sssa.protocol.sssa import Document, Unit, Verdict

Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
Share = tuple[Count, Count]
"""Things in both sets, and in either."""


class Record(Document, frozen=True):
    """A miner's newest planted answers, of all types.

    Attributes:
        score: sum of the answer scores.
        answers: number of answers, failed ones included.
    """

    score: Annotated[float, Meta(ge=0)] = 0.0
    answers: Count = 0


NO_RECORD = Record()


class Presence(Document, frozen=True):
    """Turns of a miner for a type, and how many of them it took (SPEC 17, D-48)."""

    asked: Count = 0
    answered: Count = 0


NO_PRESENCE = Presence()


class Tally(Document, frozen=True):
    """The entry of one answer in a score window (SPEC 17, D-38). A field without a reference is null.

    Attributes:
        ok: it passed gates 1 to 6, was not early, and its epsilon reached the floor.
        hits, said, known: findings in both, in the answer, in the reference.
        verdict: the answer's; null without `ok`.
        reference: the verdict to compare with.
        risk: agreement with the reference risk.
        risk_null: agreement of a risk of 0.5 with it.
        capabilities, dependencies, rules: in both, in either.
        epsilon: evidence factor; null without `ok`.
    """

    ok: bool
    hits: Count | None
    said: Count | None
    known: Count | None
    verdict: Verdict | None
    reference: Verdict | None
    risk: Unit | None
    risk_null: Unit | None
    capabilities: Share | None
    dependencies: Share | None
    rules: Share | None
    epsilon: Unit | None
