"""The interface of a kind of task, as the round flow, replay, audit and explain call it: one value per kind."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from sssa.kinds.judging import Accepted, Expected, Judged
from sssa.kinds.task_explanation import TaskExplanation, TaskFacts
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.protocol.answer import Role
from sssa.protocol.results import Packed, Passed
from sssa.protocol.round import RoundInput, RoundTask
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import SkillType
from sssa.scoring import Fault, FindingKeys, ScoredTask, Version

T = TypeVar("T", bound=RoundTask)
A = TypeVar("A", bound=Passed)


class Request(NamedTuple):
    """Request that every member of a role receives for a task.

    Attributes:
        body: what begins the body.
        limit: most bytes that may come back.
        sha256: hex digest of the whole body.
        tail: what ends the body: the same bytes for every role, kept once.
    """

    path: str
    body: bytes
    limit: int
    sha256: str
    tail: bytes = b""

    @property
    def whole(self) -> bytes:
        """All of the body."""
        return self.body + self.tail


class ProvenTask(NamedTuple, Generic[T]):
    """A scored task, with all that its proof follows from.

    Attributes:
        answers: those to the task that passed, in any order.
        keys: of the task's findings, as far as scoring needed them.
    """

    frozen: RoundInput
    task: T
    answers: Sequence[Passed]
    scored: ScoredTask
    keys: FindingKeys | None = None


@dataclass(frozen=True, slots=True)
class Kind(Generic[T, A]):
    """A kind of task; `T` is the class of its tasks, `A` that of answers to them that passed.

    All functions are pure but for the time they take, and belong off the event loop.

    Attributes:
        name: as explanations and those who hold a `Runner` for it name the kind.
        runs: whether what passes the gates is run then; so that judging it does not wait behind what is only judged.
        send: (round_id, the round's image, task, bundle) to the request for each role.
        judge: sends one answer through the gates (SPEC 5): its judgement, or what is to be run.
        completed: completes what passed, by all judgements of a task; both are by hotkey, in the same order.
        fault: what does not hold of a stored answer to a task, None where it follows from what its miner signed.
        needs_truth: whether the score of an answer that passed rests on its task's truth, where the task has one.
        prove: the consensus proof of a task's group (SPEC 14); None for a task without a group.
        explain: the task as one miner met it; None where that was no candidate.
        gates: numbers of the gates that an answer of a role goes through.
        misstated: what a record says of an answer that passed, and its gates cannot have established, None where all
            may be so. Takes how many answers to the task gate 7 compared with each other.
    """

    name: str
    types: tuple[SkillType, ...]
    runs: bool
    send: Callable[[str, RuntimeImage, T, bytes | None], Mapping[Role, Request]]
    judge: Callable[[Expected[T], bytes, float], Judged | Accepted]
    completed: Callable[[Version, Mapping[str, Judged]], dict[str, Packed]]
    fault: Callable[[Version, T, A], Fault | None]
    prove: Callable[[ProvenTask[T]], ConsensusProof | None]
    explain: Callable[[RoundInput, TaskFacts[T], str], TaskExplanation | None]
    needs_truth: Callable[[Version, T, A], bool]
    gates: Callable[[T, Role], Collection[int]]
    misstated: Callable[[Version, Expected[T], A, int], Fault | None]
