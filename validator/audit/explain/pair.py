"""The evidence that two miners share one analysis, row by row, next to what independent ones show (SPEC 17, D-39).

Read from the store for `validator flags show`.
"""

from collections.abc import Iterator
from typing import Final

from validator.protocol.round import AssessmentTask, RoundInput, RoundOutcome
from validator.protocol.sssa import Document
from validator.protocol.tallies import NO_RECORD, EvidenceRow, HotkeyPair, pair_of
from validator.scoring import Version20, version
from validator.store import Transaction

_MOST: Final = 1_000_000  # scores of a miner: all


class FaultTold(Document, frozen=True):
    """A planted fault that both could name; the pair's smaller hotkey comes first.

    Attributes:
        chances: of each to name it; None where the kind does not count yet.
        found: whether each named it.
    """

    kind: str
    chances: tuple[float, float] | None
    found: tuple[bool, bool]


class PairStep(Document, frozen=True):
    """A step of the pair's value."""

    round_id: int
    task_id: str
    skill_type: str
    faults: tuple[FaultTold, ...]
    ratio: float | None
    before: float
    after: float
    proven: bool


class PairExplanation(Document, frozen=True):
    """The evidence between two miners.

    Attributes:
        pair: the two, the smaller hotkey first.
        value, proven: as they are now.
        steps: all of them, oldest first.
        counted: faults of kinds that counted.
        same: of those, how many both named or both missed.
        expected: how many two independent miners of their abilities would have on average.
    """

    pair: HotkeyPair
    value: float
    proven: bool
    steps: tuple[PairStep, ...]
    counted: int
    same: int
    expected: float


async def explain_pair(tx: Transaction, one: str, other: str) -> PairExplanation | None:
    """Return the evidence between two hotkeys; None where no round has any of them."""
    pair = pair_of(one, other)
    of_each = [{score.round_id for score in await tx.scores.of_miner(hotkey, _MOST)} for hotkey in pair]
    steps: list[PairStep] = []
    for round_id in sorted(set.intersection(*of_each)):
        stored = await tx.rounds.get(round_id)
        if stored is not None and stored.input is not None and stored.outcome is not None:
            steps += _steps(pair, stored.input, stored.outcome)
    now = (await tx.state.whole()).evidence(pair)
    if not steps and now.value <= 1:
        return None
    counted = [(fault.chances, fault.found) for step in steps for fault in step.faults if fault.chances is not None]
    return PairExplanation(
        pair=pair,
        value=now.value,
        proven=now.proven,
        steps=tuple(steps),
        counted=len(counted),
        same=sum(found[0] == found[1] for _, found in counted),
        expected=sum(p * q + (1 - p) * (1 - q) for (p, q), _ in counted),
    )


def _steps(pair: HotkeyPair, frozen: RoundInput, outcome: RoundOutcome) -> Iterator[PairStep]:
    rows = [row for row in outcome.evidence or () if row.pair == pair]
    by = version(frozen.scoring_version)
    if not rows or not isinstance(by, Version20):
        return
    records = {miner.hotkey: miner.record or NO_RECORD for miner in frozen.miners}
    chances = [
        by.chances_of(frozen.slopes or {}, frozen.kinds or {}, records.get(hotkey, NO_RECORD)) for hotkey in pair
    ]
    tasks = {task.task_id: task for task in frozen.tasks if isinstance(task, AssessmentTask)}
    found = {(one.task_id, one.hotkey): getattr(one, "found", None) for one in outcome.members}
    for row in rows:
        bits = [found.get((row.task_id, hotkey)) or "" for hotkey in pair]
        yield _step(frozen.index, tasks[row.task_id], row, chances, bits)


def _step(
    round_id: int, task: AssessmentTask, row: EvidenceRow, chances: list[dict[str, float]], bits: list[str]
) -> PairStep:
    known = task.truth.findings if task.truth is not None else None
    mine, theirs = chances
    return PairStep(
        round_id=round_id,
        task_id=row.task_id,
        skill_type=str(task.skill_type),
        faults=tuple(
            FaultTold(
                fault.kind,
                (mine[fault.kind], theirs[fault.kind]) if fault.kind in mine else None,
                (one == "1", other == "1"),
            )
            for fault, one, other in zip(known or (), *bits, strict=False)
        ),
        ratio=row.ratio,
        before=row.before,
        after=row.after,
        proven=row.proven,
    )
