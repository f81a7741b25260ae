"""Values of the mechanism's state: windows, pairs, miners, frozen rounds, and results still awaited; all frozen."""

from array import array
from typing import Final

from msgspec import Struct, field

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.round import AgreementPair, ClearedFlag
from sssa.protocol.skill_types import SkillType
from sssa.protocol.tallies import Presence
from sssa.protocol.workflow_run import WorkflowRun
from sssa.state.tallies import TallyWindow


class ExecutedTask(Struct, frozen=True):
    """A task that is executed (SPEC 15): what its results must say.

    Attributes:
        position: in the round's plan.
        primaries: the valid ones, in group order: all of them have a result, or none has.
        made_here: a fail needs nobody's pass.
    """

    task_id: str
    skill_type: SkillType
    position: int
    primaries: tuple[str, ...]
    made_here: bool


class DeferredAnswer(Struct, frozen=True):
    """An answer whose quality is judged after its round.

    Attributes:
        check_id: of the check of its code.
        measured: what is known of its run.
    """

    task_id: str
    hotkey: str
    check_id: str
    version: str
    measured: WorkflowRun


class Late(Struct, frozen=True):
    """Results that one round still awaits, each list in the order of its plan or draws."""

    executed: tuple[ExecutedTask, ...] = ()
    deferred: tuple[DeferredAnswer, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.executed or self.deferred)

    def execution(self, task_id: str) -> ExecutedTask | None:
        """Return the task whose results are awaited; None if they arrived, or it was not executed."""
        return next((one for one in self.executed if one.task_id == task_id), None)

    def quality(self, task_id: str, hotkey: str) -> DeferredAnswer | None:
        """Return the answer whose quality is awaited; None if it arrived, or was never deferred."""
        return next((one for one in self.deferred if (one.task_id, one.hotkey) == (task_id, hotkey)), None)

    def without(self, task_id: str, hotkey: str | None) -> "Late | None":
        """Return the rest once a task's results, or `hotkey`'s late quality, arrived; None if not awaited."""
        came = self.execution(task_id) if hotkey is None else self.quality(task_id, hotkey)
        if came is None:
            return None
        return Late(
            tuple(one for one in self.executed if one is not came),
            tuple(one for one in self.deferred if one is not came),
        )


def late_key(round_id: int, task_id: str, hotkey: str | None) -> tuple[str, ...]:
    """Return the name of a task's results of execution, or of a late quality."""
    return (str(round_id), task_id) if hotkey is None else (str(round_id), task_id, hotkey)


# No version looks further back; a test compares them with the rules of every version.
ROLES: Final = 100  # rounds of a pair's selection history
ROUNDS: Final = 30  # whose dispatches and failures count
SAMPLES: Final = 30  # of a collusion window
ENTRIES: Final = 100  # of a score window
RESULTS: Final = 10  # of execution
FROZEN_ROUNDS: Final = 4_096  # that are known by what was declared in them
LATE_ROUNDS: Final = 10_000  # of which results may still come
EPOCHS: Final = 8  # of a mechanism whose vectors are known

PairKey = tuple[str, SkillType]
Mechanism = tuple[int, int]
"""(netuid, mechid)."""


class Window(Struct, frozen=True, gc=False):
    """The newest entries of a score window; 16 bytes each, so that departed miners cost little.

    Attributes:
        values: doubles, oldest first.
        answers: of each value the answer that it belongs to, as a number of 8 bytes.
        added: how many entries there ever were.
    """

    values: bytes = b""
    answers: bytes = b""
    added: int = 0

    def newest(self, most: int) -> "array[float]":
        """Return the newest `most` values, oldest first."""
        return array("d", self.values)[-most:]

    def entered(self, round_id: int, task_id: str, value: float) -> "Window":
        """Return the window with one more entry."""
        values, answers = array("d", (value,)).tobytes(), _answer(round_id, task_id)
        return Window((self.values + values)[-8 * ENTRIES :], (self.answers + answers)[-8 * ENTRIES :], self.added + 1)

    def struck(self, round_id: int, task_id: str) -> "Window":
        """Return the window with an answer's entry as 0 (SPEC 11, D-30)."""
        answers = array("q", self.answers)
        answer = array("q", _answer(round_id, task_id))[0]
        if answer not in answers:
            return self
        values = array("d", self.values)
        values[answers.index(answer)] = 0.0
        return Window(values.tobytes(), self.answers, self.added)


def answer_number(round_id: int, task_id: str) -> int:
    """Return the number that a window names an answer by."""
    return array("q", _answer(round_id, task_id))[0]


def _answer(round_id: int, task_id: str) -> bytes:
    return bytes.fromhex(sha256_hex(f"{round_id}|{task_id}".encode())[:16])


class Pair(Struct, frozen=True):
    """One miner and one skill type.

    Attributes:
        reputation: None before the first event.
        agreements: counted collusion samples since the last flag, oldest first.
        roles: a letter per round in which it was assigned, newest first: `p` if it was primary for a task, else `a`.
        counts: round, dispatches and failures in it, oldest first.
        window: what it is paid for.
        results: round that counted a result of execution, and whether it was a fail, oldest first.
        excluded: the newest round whose plan left it out, while no answer of a later round has passed (SPEC 11, D-23).
        proven: the newest round with an answer that passed.
        number: its place in the declarations of rounds; None before the first.
        tallies: what it is paid for under 2.0.0; `window` then holds the entries of earlier versions.
        turn: after the newest round that froze one for it, with the dispatches of its plan (SPEC 17, D-34).
        presence: after the newest round that froze one for it and ended (SPEC 17, D-48); None before the first.
        candidate: how many rounds were frozen up to the newest one that had it as a candidate.
    """

    reputation: float | None = None
    agreements: tuple[AgreementPair, ...] = ()
    roles: str = ""
    counts: tuple[tuple[int, int, int], ...] = ()
    window: Window = Window()
    results: tuple[tuple[int, bool], ...] = ()
    excluded: int | None = None
    proven: int | None = None
    number: int | None = None
    tallies: TallyWindow = TallyWindow()
    turn: int = 0
    presence: Presence | None = None
    candidate: int = 0

    def dispatched(self, since: int) -> tuple[int, int]:
        """Return dispatches and failures in the rounds from `since` on."""
        counts = [one for one in self.counts if one[0] >= since]
        return sum(sent for _, sent, _ in counts), sum(failed for _, _, failed in counts)

    def executed(self, since: int, most: int) -> tuple[bool, ...]:
        """Return the newest `most` results of execution that rounds from `since` on counted: True is a fail."""
        return tuple(fail for index, fail in self.results if index >= since)[-most:]


class Miner(Struct, frozen=True):
    """One miner.

    Attributes:
        pairs: by skill type; those without any past are absent.
        flags: standing ones, raised in rounds that the state knows.
        earlier: how many stand that older rounds raised.
        answers: scores of the newest planted answers of all types, packed (SPEC 17, D-38).
        curated: of the newest answers to curated tasks that were first (SPEC 17, D-49).
        known: False: reputations, samples, roles and earlier flags are unknown.
    """

    pairs: dict[SkillType, Pair] = {}
    flags: tuple[ClearedFlag, ...] = ()
    earlier: int = 0
    known: bool = True
    answers: bytes = b""
    curated: bytes = b""

    @property
    def reputations(self) -> dict[SkillType, float]:
        """The reputation of each type that ever had an event."""
        return {name: pair.reputation for name, pair in self.pairs.items() if pair.reputation is not None}

    @property
    def has_window(self) -> bool:
        """True if any value ever entered a window of the miner."""
        return any(pair.window.added or pair.tallies.added for pair in self.pairs.values())


class FrozenRound(Struct, frozen=True, gc=False):
    """A frozen round, as far as later vectors need it.

    Attributes:
        block: of its snapshot.
        declared: a bit for each pair that was declared, by the numbers of pairs.
        counted: it settled or is void.
        barred: numbers of the pairs that its plan excluded for another reason than open dispatches (SPEC 17, D-34).
    """

    number: int
    block: int
    version: str
    declared: bytes
    counted: bool
    barred: tuple[int, ...] = ()

    def declares(self, number: int | None) -> bool:
        """Return whether the pair of this number was declared."""
        known = number is not None and number // 8 < len(self.declared)
        return number is not None and known and bool(self.declared[number // 8] >> number % 8 & 1)


class Shared(Struct, frozen=True):
    """The part of a state that belongs to no single miner.

    Attributes:
        since: the first round that the state knows; 0: nothing is unknown; None: it knows none yet.
        unknown_plan: the newest round whose plan is unknown.
        block, block_time: of the newest frozen round.
        rounds: frozen ones, oldest first.
        numbered: how many pairs were ever declared.
        late: round to what is still to come of it.
        late_since: the result of earlier rounds is unknown.
        late_unknown: the result of those, each once.
        frozen: rounds that were frozen.
        sources: source bundle to the first round that froze a task of it (SPEC 17, D-49); None: not
            all are known, or they are in the store's tasks.
        tallied: settled rounds whose entries are tallies (SPEC 17, D-42).
        blind: truths that were not shown: 1 of tasks of a source, so that not all entries are known; 2 of planted ones,
            so that records are not known either.
        vectors: epoch to the newest round frozen when its vector was computed (SPEC 11, D-23), of each mechanism.
    """

    since: int | None = None
    unknown_plan: int | None = None
    netuid: int | None = None
    block: int = 0
    block_time: int = 0
    rounds: tuple[FrozenRound, ...] = ()
    numbered: int = 0
    late: dict[int, Late] = {}
    late_since: int | None = None
    late_unknown: frozenset[tuple[str, ...]] = frozenset()
    frozen: int = 0
    sources: dict[str, int] | None = None
    tallied: int = 0
    blind: int = 0
    vectors: dict[Mechanism, dict[int, str | None]] = {}


class Declarations(Struct, frozen=True):
    """The rounds whose declarations a vector counts (SPEC 11, D-23).

    Attributes:
        rounds: settled and void ones; without any, the last round frozen.
    """

    rounds: tuple[FrozenRound, ...]
    counted: bool

    @classmethod
    def since(cls, shared: Shared, after: int | None) -> "Declarations":
        """Return those of the rounds after this one; None: of all."""
        counted = tuple(one for one in shared.rounds if one.counted and (after is None or one.number > after))
        return cls(counted or shared.rounds[-1:], bool(counted))

    def times(self, number: int | None) -> int:
        """Return in how many of the rounds the pair of this number was declared."""
        return sum(one.declares(number) for one in self.rounds)

    def holds(self, number: int | None) -> bool:
        """Return whether the pair of this number is missing in at most half of the rounds."""
        times = self.times(number)
        return times > 0 and 2 * (len(self.rounds) - times) <= len(self.rounds)


class State(Struct, frozen=True):
    """The mechanism's part of what decides the next round and the next vector."""

    miners: dict[str, Miner] = {}
    shared: Shared = field(default_factory=Shared)

    @property
    def whole(self) -> bool:
        """True if the state covers every round since the first one."""
        return self.shared.since == 0

    @property
    def exact(self) -> bool:
        """True if every plan since the first round is known."""
        return self.whole and self.shared.unknown_plan is None

    def miner(self, hotkey: str) -> Miner:
        """Return a miner; one that the state does not have is new where nothing is unknown, else unknown."""
        return self.miners.get(hotkey) or (_NEW if self.whole else _UNKNOWN)

    def pair(self, hotkey: str, skill_type: SkillType) -> Pair:
        """Return a pair, one without a past where there is none."""
        return self.miner(hotkey).pairs.get(skill_type, NO_PAST)

    def covers(self, since: int) -> bool:
        """Return whether all rounds from `since` on are known."""
        return self.whole or (self.shared.since is not None and since >= self.shared.since)

    def remembers(self, since: int) -> bool:
        """Return whether the declarations of all rounds from `since` on are known."""
        rounds = self.shared.rounds
        return self.covers(since) and (len(rounds) < FROZEN_ROUNDS or rounds[0].number <= since)


class Delta(Struct, frozen=True):
    """Change by one step: the miners that changed, and the shared part."""

    miners: dict[str, Miner]
    shared: Shared


NO_PAST: Final = Pair()
_NEW: Final = Miner()
_UNKNOWN: Final = Miner(known=False)
