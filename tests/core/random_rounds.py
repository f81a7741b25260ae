"""Rounds made of random answers: what a released version makes of them never changes.

Every round follows from its number alone, the same on every Python: `random.random` is all that is drawn from.
"""

import hashlib
import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from builders import all_paid
from workflow_builders import make_workflow

from sssa.protocol.answer import Role
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.execution import ExecutionEvent
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Checks, Rejection, RoundResults, Submission, VoidTask, WorkflowSubmission
from sssa.protocol.round import (
    AgreementPair,
    AssessmentTask,
    ExecutionResult,
    GoalTask,
    MetagraphSnapshot,
    MinerState,
    Neuron,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundTask,
    TypeHistory,
)
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Analysis, Dependency, Evidence, Finding, Policy, Rule, Signature, Skill, Sssa
from sssa.protocol.task import Truth, Windows
from sssa.protocol.workflow_plan import ErrorHandling, PlanEdge, PlanNode, PlanTask, Totals, WorkflowPlan
from sssa.protocol.workflow_run import Attempt, RunRecord, StepOutput, StepRecord
from sssa.scoring import Version, plan_round, score_round

T = TypeVar("T")

_REJECTIONS: Final = (  # one and two of every gate: later ones must not change what is drawn
    Reason.DEADLINE_LATE,
    Reason.DEADLINE_STATUS,
    Reason.PARSE_SCHEMA,
    Reason.VALIDITY_NONCE,
    Reason.VALIDITY_SIGNATURE,
    Reason.MANIFEST_DIGEST,
    Reason.TRACES_HASH,
    Reason.PROBES_ECHO,
)
_FAILED_STEPS: Final = (Reason.STEP_TIMEOUT, Reason.STEP_REFERENCE, Reason.STEP_STATUS)
_ROLES: Final[tuple[Role, ...]] = ("primary", "primary", "primary", "auditor", "auditor")
_PLACES: Final = ("a.py", "src/b.py#L3", "s1::src/b.py#L3-L3", "docs/u.md#L1-L9", "x|y.py#L1-L2", "./a.py#L7")
_TARGETS: Final = ("getfile", "requests", "pkg:pypi/Requests@2.0", "50%|z", " getfile\t")
_CVES: Final = ("CVE-2023-32681", "cve-2023-32681", "CVE-2020-14343", "GHSA-aaaa-bbbb-cccc")
_HEX: Final = "ab" * 32
_WORKFLOWS: Final = tuple(make_workflow(kind) for kind in ("code", "rag", "agent", "data_transform"))


class Dice(NamedTuple):
    """Draws of one round."""

    roll: Callable[[], float]

    def below(self, n: int) -> int:
        return int(self.roll() * n)

    def one(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def some(self, most: int, make: Callable[[], T]) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.below(most + 1)))

    def chance(self, share: float) -> bool:
        return self.roll() < share

    def maybe(self, share: float, make: Callable[[], T]) -> T | None:
        return make() if self.chance(share) else None


EVENTS: tuple[ExecutionEvent, ...] = ("rerun_pass", "rerun_fail")


def returned(number: int, version: Version) -> tuple[RoundInput, RoundPlan, RoundResults, Dice]:
    """A round as the version plans it, what came back, and the dice for what else is drawn."""
    dice = Dice(random.Random(f"round {number}").random)
    frozen = _frozen(number, dice, version)
    plan = plan_round(version, frozen)
    return frozen, plan, _results(frozen, plan, dice), dice


def scored(number: int, version: Version) -> tuple[RoundInput, RoundPlan, RoundOutcome, Dice]:
    """A round as the version plans and scores it, and the dice for what else is drawn."""
    frozen, plan, results, dice = returned(number, version)
    return frozen, plan, score_round(version, frozen, plan, results), dice


def crowded(miners: int, version: Version, *, new: bool) -> tuple[RoundInput, RoundPlan, RoundResults]:
    """A round of two tasks of each assessed type for so many miners; their reputations differ, or all are new."""
    dice, types = Dice(random.Random(f"crowd {miners} {new}").random), tuple(version.rules.types)
    hotkeys = tuple(f"5{i:047d}" for i in range(miners))

    def miner(hotkey: str) -> MinerState:
        history = {kind: TypeHistory(tuple(dice.one(_ROLES) for _ in range(100)), 20, dice.below(5)) for kind in types}
        return msgspec.structs.replace(
            _miner(hotkey, types, dice),
            skill_types=types,
            max_concurrent=4,
            flags=0,
            reputations={} if new else {kind: 0.3 + 0.7 * dice.roll() for kind in types},
            history=history,
        )

    few = _frozen(7, dice, version)
    neurons = tuple(Neuron(hotkey, uid, 1.0, False, None) for uid, hotkey in enumerate(hotkeys))
    frozen = msgspec.structs.replace(
        few,
        snapshot=msgspec.structs.replace(few.snapshot, neurons=neurons),
        miners=tuple(map(miner, hotkeys)),
        tasks=tuple(_task(7, kind, slot, dice) for kind in types for slot in range(2)),
        executions=(),
    )
    plan = plan_round(version, frozen)
    return frozen, plan, _results(frozen, plan, dice)


def digest_of(numbers: Iterable[int], version: Version) -> str:
    """The sha256 of everything that the version makes of these rounds, one after the other."""
    chain = hashlib.sha256()
    for number in numbers:
        frozen, plan, outcome, dice = scored(number, version)
        for value in (plan, outcome, weights_of(version, _windows(frozen, dice))):
            chain.update(msgspec.json.encode(value, order="deterministic"))
    return chain.hexdigest()


def weights_of(version: Version, windows: Mapping[str, Mapping[str, Sequence[float]]]) -> Any:
    """Return scores and weights of windows that are all paid."""
    return version.mechanism_weights(windows, standing=all_paid(windows))[:3]


def _frozen(number: int, dice: Dice, version: Version) -> RoundInput:
    hotkeys = tuple(f"hk{i}" for i in range(3 + dice.below(11)))
    types = tuple(dict.fromkeys(dice.one((*version.rules.types, SkillType.WORKFLOW)) for _ in range(1 + dice.below(2))))
    tasks = tuple(
        _task(number, kind, slot, dice) for kind in SkillType if kind in types for slot in range(1 + dice.below(2))
    )
    here = (hotkey for hotkey in (*hotkeys, "validator") if dice.chance(0.97))
    neurons = tuple(Neuron(hotkey, uid, 1.0, False, None) for uid, hotkey in enumerate(here))
    return RoundInput(
        input_version="1",
        scoring_version=version.name,
        round_id=str(number),
        validator_hotkey="validator",
        snapshot=MetagraphSnapshot(1, 100 + number, _HEX, 1_700_000_000, dice.below(60), 20, None, neurons),
        seed=sha256_hex(f"seed {number}".encode()),
        salt_commitment=_HEX,
        miners=tuple(_miner(hotkey, types, dice) for hotkey in hotkeys),
        tasks=tasks,
        executions=tuple(
            ExecutionResult(
                str(max(0, number - 1)),
                f"old{i}",
                dice.one(hotkeys),
                dice.one(types),
                dice.one(("rerun_pass", "rerun_fail")),
            )
            for i in range(dice.below(2))
        ),
        runtime_image=UNPUBLISHED,
        executes=False,
        filled=(),
        acts=(),
    )


def _miner(hotkey: str, types: tuple[SkillType, ...], dice: Dice) -> MinerState:
    return MinerState(
        hotkey=hotkey,
        skill_types=tuple(kind for kind in types if dice.chance(0.95)),
        max_concurrent=1 + dice.below(4),
        reputations={kind: dice.one((0.199, 0.2, 0.5, 0.7, 0.9, dice.roll())) for kind in types if dice.chance(0.8)},
        flags=dice.one((0, 0, 0, 0, 1, 2, 3)),
        history={kind: _history(dice) for kind in types if dice.chance(0.7)},
        agreements={kind: tuple(_pair(dice) for _ in range(dice.below(31))) for kind in types if dice.chance(0.7)},
    )


def _pair(dice: Dice) -> AgreementPair:
    return AgreementPair(0.85 + 0.15 * dice.roll(), 0.2 + 0.6 * dice.roll(), dice.roll(), dice.roll())


def _history(dice: Dice) -> TypeHistory:
    sent = dice.below(20)
    roles = dice.some(6, lambda: "auditor" if dice.chance(0.7) else "primary")
    return TypeHistory(roles, sent, min(sent, dice.below(12)), dice.below(2))  # type: ignore[arg-type]


def _task(number: int, kind: SkillType, slot: int, dice: Dice) -> RoundTask:
    source = sha256_hex(f"{number}/{kind}/{slot}".encode())
    truth = dice.maybe(0.6, lambda: _truth(dice))
    common = (source[:32], kind, slot, source, source, source, Windows((1, 10), (0, 5)))
    if kind is SkillType.WORKFLOW:
        return GoalTask(*common, dice.one(_WORKFLOWS))
    return AssessmentTask(*common, dice.one(("curated", "canary")) if truth else "none", truth, None, ())


def _truth(dice: Dice) -> Truth:
    return Truth(
        verdict=dice.one(("ALLOW", "BLOCK", "REVIEW")),
        policy_rules=dice.maybe(0.5, lambda: _rules(dice)),
        injections=dice.maybe(0.5, lambda: dice.some(3, lambda: dice.one(_PLACES))),
        reference_risk=dice.maybe(0.5, dice.roll),
        shell_commands=dice.maybe(0.5, lambda: dice.some(3, lambda: dice.one(("ls", "id", "pwd")))),
        manifest_sha256=dice.maybe(0.5, lambda: dice.one((_HEX, "cd" * 32))),
        poisoned_tools=dice.maybe(0.5, lambda: dice.some(2, lambda: dice.one(_TARGETS))),
        transitive_risk=dice.maybe(0.5, dice.roll),
    )


def _rules(dice: Dice) -> tuple[Rule, ...]:
    return dice.some(3, lambda: Rule(dice.one(("fs", "net")), "deny", dice.one("abc")))


def _results(frozen: RoundInput, plan: RoundPlan, dice: Dice) -> RoundResults:
    tasks = {task.task_id: task for task in frozen.tasks}
    answers: list[Submission] = []
    runs: list[WorkflowSubmission] = []
    failed: list[Rejection] = []
    void = tuple(VoidTask(task, Reason.BUG_CRASH) for task in tasks if dice.chance(0.03))
    for group in plan.groups:
        task, usual = tasks[group.task_id], _analysis(dice)
        for hotkey, role in group.members:
            if any(lost.task_id == task.task_id for lost in void):
                continue
            if dice.chance(0.2):
                failed.append(Rejection(task.task_id, hotkey, role, dice.one(_REJECTIONS), 3.0))
            elif isinstance(task, GoalTask):
                runs.append(_ran(task, hotkey, role, dice))
            else:
                answers.append(_answer(task, hotkey, role, usual if dice.chance(0.5) else _analysis(dice), dice))
    return RoundResults((*answers, *runs), tuple(failed), void)


def _answer(task: RoundTask, hotkey: str, role: Any, analysis: Analysis, dice: Dice) -> Submission:
    evidence = Evidence({}, dice.one((None, _HEX)), None, None)
    return Submission(
        task_id=task.task_id,
        hotkey=hotkey,
        role=role,
        seconds=11 * dice.roll(),
        sssa=Sssa(
            "1.0",
            Skill(task.skill_type, task.bundle_sha256, task.nonce),
            analysis,
            evidence,
            Policy(_rules(dice)),
            Signature(hotkey, "sr25519", "0x" + "0" * 128),
        ),
        sssa_sha256=_HEX,
        checks=Checks(
            dice.chance(0.9),
            dice.one((None, True, False)),
            dice.one((None, True, False)),
            dice.chance(0.8),
            dice.one((None, True, False)),
        ),
        semantic_subset=dice.maybe(0.5, dice.roll),
        shell_commands=dice.maybe(0.5, lambda: dice.some(3, lambda: dice.one(("ls", "id", "who")))),
    )


def _analysis(dice: Dice) -> Analysis:
    return Analysis(
        verdict=dice.one(("ALLOW", "BLOCK", "REVIEW")),
        risk_score=dice.one((0.0, 1.0, dice.roll())),
        findings=dice.some(4, lambda: _finding(dice)),
        capabilities=dice.some(3, lambda: dice.one(("network", "exec", "file_io"))),
        dependencies=dice.some(3, lambda: _dependency(dice)),
    )


def _finding(dice: Dice) -> Finding:
    categories = ("prompt_injection", "dependency_cve", "tool_poisoning", "other")
    return Finding(
        "f",
        dice.one(categories),  # type: ignore[arg-type]
        dice.one(("low", "medium", "high")),
        "words",
        dice.one(_PLACES),
        dice.some(2, lambda: dice.one(_CVES)),
        dice.one(_TARGETS),
    )


def _dependency(dice: Dice) -> Dependency:
    package = dice.one(("requests", "Zope.Interface", "zope_interface"))
    return Dependency(package, dice.one(("1.0", "2.0")), dice.some(2, lambda: dice.one(_CVES)))


def _ran(task: RoundTask, hotkey: str, role: Any, dice: Dice) -> WorkflowSubmission:
    ids = tuple(f"n{i}" for i in range(1 + dice.below(5)))
    plan = WorkflowPlan(
        schema_version="1.0",
        task=PlanTask(task.bundle_sha256, task.nonce),
        nodes=tuple(PlanNode(name, "text", "merge", {}, 0.01, 1.0, ErrorHandling(dice.below(3), 10.0)) for name in ids),
        edges=tuple(PlanEdge(one, other) for one, other in itertools.pairwise(ids) if dice.chance(0.7)),
        totals=Totals(0.05, 5.0),
        scoring_version="1.0.0",
        signature=Signature(hotkey, "sr25519", "0x" + "0" * 128),
    )
    run = RunRecord(
        "1.0", _HEX[:32], task.bundle_sha256, _HEX, dice.roll(), 80 * dice.roll(),
        tuple(_step(name, dice) for name in ids),
    )  # fmt: skip
    quality = dice.one((1.0, dice.roll(), 0.8, None))
    return WorkflowSubmission(task.task_id, hotkey, role, 3.0, plan, _HEX, run, quality)


def _step(name: str, dice: Dice) -> StepRecord:
    ended = Reason.STEP_SUCCEEDED if dice.chance(0.85) else dice.one(_FAILED_STEPS)
    outcomes = (*dice.some(2, lambda: dice.one(_FAILED_STEPS)), ended) if dice.chance(0.95) else ()
    attempts = tuple(Attempt(1.0, 2.0, outcome, dice.roll() / 8, None, 10, None, "") for outcome in outcomes)
    output = StepOutput("words", None, None) if ended is Reason.STEP_SUCCEEDED else None
    return StepRecord(name, ended, attempts, output, "")


def _windows(frozen: RoundInput, dice: Dice) -> dict[str, dict[str, tuple[float, ...]]]:
    return {
        miner.hotkey: {kind: tuple(4 * dice.roll() for _ in range(dice.below(30))) for kind in miner.skill_types}
        for miner in frozen.miners
    }
