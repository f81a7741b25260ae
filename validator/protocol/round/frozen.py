"""The frozen input: everything that decides a round, written down before its first dispatch (SPEC 4 to 11)."""

from typing import Final, Literal

from validator.protocol.answer import Id, Role
from validator.protocol.code_report import CodeReport
from validator.protocol.execution import ExecutionEvent
from validator.protocol.round.acts import Acts, RoundId
from validator.protocol.round.snapshot import MetagraphSnapshot
from validator.protocol.round.tasks import RoundTask
from validator.protocol.runtime_image import UNPUBLISHED, RuntimeImage
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document, Unit

INPUT_VERSION: Final = "1"


class TypeHistory(Document, frozen=True):
    """What a miner did for one skill type, as selection needs it (SPEC 8).

    Attributes:
        recent_roles: one role per round in which it was assigned, newest first.
        dispatches: dispatches of the last 30 rounds.
        failures: those of them that failed a gate.
        in_flight: dispatches of earlier rounds that are still open.
    """

    recent_roles: tuple[Role, ...] = ()
    dispatches: int = 0
    failures: int = 0
    in_flight: int = 0


class AgreementPair(Document, frozen=True):
    """One counted collusion sample (SPEC 9)."""

    with_primaries: float
    with_auditors: float


class MinerState(Document, frozen=True):
    """A registered miner that declared something.

    Attributes:
        hotkey: its key.
        skill_types: usable declared types, in the spec's order.
        max_concurrent: open dispatches per type it takes.
        reputations: per type, before the round; absent means 0.5.
        flags: standing collusion flags, over all types.
        history: per type.
        agreements: counted samples per type since the last flag, oldest first, at most 30.
    """

    hotkey: str
    skill_types: tuple[SkillType, ...]
    max_concurrent: int
    reputations: dict[SkillType, float]
    flags: int
    history: dict[SkillType, TypeHistory]
    agreements: dict[SkillType, tuple[AgreementPair, ...]]


class ExecutionResult(Document, frozen=True):
    """The result of an answer whose task was executed since the last round (SPEC 15).

    Attributes:
        round_id, task_id, hotkey: which answer; of an earlier round.
        skill_type: of the task.
        event: what the comparison came to.
    """

    round_id: RoundId
    task_id: Id
    hotkey: str
    skill_type: SkillType
    event: ExecutionEvent


class FilledQuality(Document, frozen=True):
    """A quality that was deferred and came since the last round: the answer is worth its score with it (SPEC 12).

    Attributes:
        check_id: orders them.
        round_id, task_id, hotkey: whose answer it is; of an earlier round.
        report: what the task's tests and the linter found.
        score: S by the scoring version of the answer's round, of what was measured then and the report's quality.
    """

    check_id: str
    round_id: RoundId
    task_id: Id
    hotkey: str
    report: CodeReport
    score: Unit


class RoundInput(Document, frozen=True):
    """Everything that decides a round, frozen before its first dispatch. Its stored form is `InputForm` in `forms.py`.

    Attributes:
        input_version: form of this document.
        scoring_version: which code scores it.
        round_id: decimal index at this validator.
        validator_hotkey: who runs the round.
        snapshot: the metagraph it is pinned to.
        seed: hex of round_seed (SPEC 8); secret while its epoch's salt is in use.
        salt_commitment: sha256 of the epoch's salt, hex.
        miners: by hotkey.
        tasks: in plan order.
        runtime_image: what runs the bundles of runtime types, at miners and here.
        executes: this validator executes them (SPEC 15).
        executions: results since the last round, by round, then plan order of the task, then group order.
        filled: qualities of earlier rounds' answers since the last round, by check id.
        acts: of the operator since the last round, by time, then hotkey (SPEC 16, D-28).
    """

    input_version: Literal["1"]
    scoring_version: str
    round_id: str
    validator_hotkey: str
    snapshot: MetagraphSnapshot
    seed: str
    salt_commitment: str
    miners: tuple[MinerState, ...]
    tasks: tuple[RoundTask, ...]
    runtime_image: RuntimeImage = UNPUBLISHED
    executes: bool = False
    executions: tuple[ExecutionResult, ...] = ()
    filled: tuple[FilledQuality, ...] = ()
    acts: Acts = ()

    @property
    def index(self) -> int:
        """The round's id as the number that the program counts and stores by."""
        return int(self.round_id)
