"""What a run says of an owner's tasks: plain values, as `--json` prints them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from localnet.own.ledger import OwnAnswer
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType

Why = Literal[
    "separates", "by_group", "upside_down",
    "equal", "speed", "late", "failed", "too_few", "truth_missing", "unjudged", "nobody", "not_given",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MinerOnTask:
    """What one miner made of one task; means are over what passed and has a value, None where nothing has.

    Attributes:
        dispatches: how often it got the task.
        passed: how many of its answers passed the gates.
        mean_score: quality times consensus.
    """

    hotkey: str
    name: str
    behaviour: str
    dispatches: int
    passed: int
    mean_quality: float | None
    mean_consensus: float | None
    mean_score: float | None


@dataclass(frozen=True, slots=True)
class Counts:
    """What dispatches came to; means are over answers that passed and have a value.

    Attributes:
        dispatches: how many there were.
        passed: answers that passed the gates.
        failed: reason code to how many failed for it.
    """

    dispatches: int
    passed: int
    failed: Mapping[Reason, int]
    mean_quality: float | None
    mean_consensus: float | None
    mean_score: float | None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task of the owner's.

    Attributes:
        task: its path below the folder.
        sha256: of its bundle, or of its workflow's document at this pace.
        given: rounds in which miners got it.
        spread: between the miners' mean scores; None below two miners with one.
        by: the parts of the score that differ between miners by as much as counts, the widest first.
        separates: whether it tells miners apart.
        why: whether and why, as a code.
        advice: that in a line.
        analysis_s: seconds of processor time of an analysis; None where none was made.
        miners: by mean score, descending.
        answers: every dispatch, in the order of the rounds.
    """

    task: str
    skill_type: SkillType
    sha256: str
    has_truth: bool
    given: int
    counts: Counts
    spread: float | None
    by: tuple[str, ...]
    separates: bool
    why: Why
    advice: str
    analysis_s: float | None
    miners: tuple[MinerOnTask, ...]
    answers: Sequence[OwnAnswer]


@dataclass(frozen=True, slots=True)
class TypeResult:
    """All tasks of a type; `separating` of its `tasks` tell miners apart, `given` of them were given to miners."""

    skill_type: SkillType
    tasks: int
    given: int
    separating: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of a task's rounds, beside its answers.

    Attributes:
        given, skipped: rounds in which miners got it, and in which nobody could take it.
        analysis_s: seconds of processor time of an analysis, None where none was made.
        pace: of the network.
    """

    given: int
    skipped: int
    analysis_s: float | None
    pace: float
