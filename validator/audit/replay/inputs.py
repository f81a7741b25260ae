"""Replay of a round's input: its own columns, what the rounds before left, and late qualities (SPEC 12)."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from validator.audit.input_check import input_fault
from validator.audit.replay.differences import Difference, compared
from validator.protocol.draws import round_seed, salt_commitment, task_id
from validator.protocol.errors import ValidatorError
from validator.protocol.results import WorkflowSubmission
from validator.protocol.round import FilledQuality, GoalTask, RoundInput
from validator.protocol.text import printable
from validator.scoring import Version, version
from validator.state.inputs import learned
from validator.state.round_end import Ended, UnknownFlagError, acted, apply, known_from
from validator.state.values import State
from validator.store import DispatchKey, Transaction
from validator.store.rows import RoundRecord, SaltRecord, StoredRound


def input_differences(frozen: RoundInput, record: RoundRecord, salt: SaltRecord | None) -> Iterator[Difference]:
    """Yield where the frozen input contradicts the round's own columns, its epoch's salt or its tasks' ids.

    The seed is never shown: it is secret while its salt is in use.
    """
    snapshot = frozen.snapshot
    columns = {"round_id": record.round_id, "epoch": record.epoch, "block": record.block, "hash": record.block_hash}
    own = {
        "round_id": frozen.index,
        "epoch": snapshot.epoch,
        "block": snapshot.block,
        "hash": snapshot.block_hash,
    }
    difference = compared("round", columns, own)
    if difference is not None:
        yield difference
    if salt is None or salt_commitment(salt.salt) != frozen.salt_commitment:
        yield Difference("input.salt_commitment", "the stored salt of its epoch is another one, or missing")
    elif round_seed(salt.salt, frozen.round_id, snapshot.block_hash).hex() != frozen.seed:
        yield Difference("input.seed", "does not follow from the stored salt")
    for i, task in enumerate(frozen.tasks):
        own_id = task_id(frozen.round_id, str(task.skill_type), task.slot, task.source_sha256)
        difference = compared(f"input.tasks[{i}].task_id", task.task_id, own_id)
        if difference is not None:
            yield difference


@dataclass(slots=True)
class Past:
    """The state before the next round. What it does not know is learned from the first input that tells it.

    `next_round` is None where any may follow, about which nothing is known.
    """

    state: State = field(default_factory=State)
    next_round: int | None = None

    def begin(self, round_id: int) -> None:
        """Come to a round; where it does not follow the one before, nothing is known."""
        if round_id != self.next_round:
            self.state = known_from(State(), round_id)
        self.next_round = round_id + 1

    def forget(self) -> None:
        """Let the next round begin with nothing: nobody can say what this one left."""
        self.next_round = None

    def difference(self, scored_by: Version, frozen: RoundInput) -> Difference | None:
        """Return where a round's input does not follow from the rounds before it; learn what they do not tell."""
        self.state = learned(self.state, frozen)
        try:
            state = acted(self.state, frozen.acts)
        except UnknownFlagError as error:
            return Difference(f"input.acts{error.place}", "is not an active flag")
        wrong = input_fault(scored_by, state, frozen)
        return None if wrong is None else Difference(f"input.{wrong[0]}", wrong[1])

    def step(self, scored_by: Version, ended: Ended) -> None:
        """Take in what the round left."""
        self.state = apply(self.state, scored_by.step(self.state, ended))


class _Answered(NamedTuple):
    """An earlier round, as far as filling its windows needs it."""

    stored: StoredRound
    version: Version
    deferred: dict[tuple[str, str], str]


async def filled_differences(tx: Transaction, frozen: RoundInput) -> AsyncIterator[Difference]:
    """Yield what is wrong with each quality that a round's input fills in, the first thing of each.

    It must be of a deferred answer of an earlier settled round, be filled once, and be worth what the answer's own
    round makes of it.
    """
    rounds: dict[str, _Answered | str] = {}
    for i, filled in enumerate(frozen.filled):
        if filled.round_id not in rounds:
            rounds[filled.round_id] = await _answered(tx, frozen, filled.round_id)
        answered = rounds[filled.round_id]
        what = answered if isinstance(answered, str) else await _fault(tx, frozen, filled, answered)
        if what is not None:
            yield Difference(f"input.filled[{i}]", what)


async def _answered(tx: Transaction, frozen: RoundInput, round_id: str) -> _Answered | str:
    """Return an earlier round, or what is wrong with it."""
    if int(round_id) >= frozen.index:
        return f"fills an answer of round {round_id}, which is not before this one"
    stored = await tx.rounds.get(int(round_id))
    if stored is None or stored.input is None or stored.outcome is None:
        return f"fills an answer of round {round_id}, which has not been settled or cannot be read"
    scored_by = version(stored.input.scoring_version)
    deferred = scored_by.deferred_runs(stored.input, scored_by.plan(stored.input), stored.outcome)
    return _Answered(stored, scored_by, {(one.task_id, one.hotkey): one.check_id for one in deferred})


async def _fault(tx: Transaction, frozen: RoundInput, filled: FilledQuality, answered: _Answered) -> str | None:
    key = (filled.task_id, filled.hotkey)
    if key not in answered.deferred:
        return f"fills an answer of round {filled.round_id} that was not deferred"
    if answered.deferred[key] != filled.check_id:
        return f"is named {filled.check_id}, its answer's is {answered.deferred[key]}"
    entered = await tx.windows.entered_in(DispatchKey(int(filled.round_id), filled.task_id, filled.hotkey))
    if entered not in {None, frozen.index}:
        return f"was filled by round {entered}"
    score = await _score(tx, filled, answered)
    return None if score == filled.score else f"stored score {filled.score!r}, recomputed {score!r}"


async def _score(tx: Transaction, filled: FilledQuality, answered: _Answered) -> float | str:
    """Return what the answer is worth with the report, or why that cannot be told."""
    tasks = answered.stored.input.tasks if answered.stored.input else ()
    task = next((task for task in tasks if task.task_id == filled.task_id), None)
    try:
        results = await tx.submissions.results(int(filled.round_id), [filled.task_id])
    except ValidatorError as error:
        return printable(str(error))
    ran = results.answers(filled.task_id, WorkflowSubmission)
    answer = next((one for one in ran if one.hotkey == filled.hotkey), None)
    if answer is None or not isinstance(task, GoalTask):
        return "nothing: its run is not in the store"
    measured = answered.version.measure(task.goal, answer.plan, answer.run, 0.0)
    return answered.version.fill_run(measured, filled.report).score.score
