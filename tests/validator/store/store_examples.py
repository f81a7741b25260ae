"""Small rounds for the store's tests: everything is made from a few hotkeys and a round id."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from builders import NOTHING_LATE, V1
from msgspec import structs

from sssa.protocol.answer import CanarySpec, Role
from sssa.protocol.bundles import IndexEntry
from sssa.protocol.canonical import digest
from sssa.protocol.dispatch_record import Arrival, DispatchKey, Failure, JudgedAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Checks, Submission, packed
from sssa.protocol.round import (
    AgreementPair,
    AgreementSample,
    AssessedMember,
    AssessmentTask,
    Axon,
    Components,
    Emission,
    FailedMember,
    FlagRaised,
    GroupOutcome,
    GroupPlan,
    MetagraphSnapshot,
    MinerState,
    Mode,
    Neuron,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    TypeHistory,
)
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import (
    Analysis,
    Dependency,
    Evidence,
    Finding,
    Policy,
    Rule,
    Signature,
    Skill,
    Sssa,
)
from sssa.protocol.task import Truth
from sssa.state.round_end import Ended
from validator.store import Store, Transaction
from validator.store.codec import compressed

START = datetime(2026, 1, 1, tzinfo=UTC)
HOTKEYS = ("miner-a", "miner-b", "miner-c", "miner-d", "miner-e")
PYTHON, RAG, MCP = SkillType.EXECUTABLE_PYTHON, SkillType.RAG_KNOWLEDGE, SkillType.MCP_SERVER
MODES: dict[int, Mode] = {0: "skip", 1: "quality_only", 2: "quality_only", 3: "degraded_3", 4: "degraded_4", 5: "full"}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def sha(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


def task_id(round_id: int, skill_type: SkillType, slot: int = 0) -> str:
    return sha(round_id, skill_type, slot)[:32]


def snapshot(round_id: int = 0, hotkeys: Sequence[str] = HOTKEYS, block: int | None = None) -> MetagraphSnapshot:
    return MetagraphSnapshot(
        netuid=7,
        block=1000 + round_id if block is None else block,
        block_hash=sha("block", round_id),
        block_time=1_767_225_600 + 12 * round_id,
        epoch=3 + round_id // 10,
        tempo=360,
        owner_hotkey="owner",
        neurons=tuple(
            Neuron(hotkey, uid, 100.5 + uid, False, Axon("192.0.2.1", 8000 + uid), last_update=5)
            for uid, hotkey in enumerate(hotkeys)
        ),
    )


def round_task(round_id: int, skill_type: SkillType, slot: int = 0) -> AssessmentTask:
    return AssessmentTask(
        task_id=task_id(round_id, skill_type, slot),
        skill_type=skill_type,
        slot=slot,
        source_sha256=sha("source", round_id, skill_type, slot),
        bundle_sha256=sha("bundle", round_id, skill_type, slot),
        nonce=sha("nonce", round_id, skill_type, slot),
        windows=V1.rules.windows_of(skill_type),
        provenance="curated",
        truth=Truth("BLOCK", (Rule("net", "deny", "*"),), ("SKILL.md#L3-L4",), 0.75, None, None, None, None),
        canary=CanarySpec("SKILL.md"),
        index=(IndexEntry("SKILL.md", 120, 7), IndexEntry("src/übung.py", 0, 0)),
    )


def group_plan(task: AssessmentTask, hotkeys: Sequence[str]) -> GroupPlan:
    return GroupPlan(
        task_id=task.task_id,
        mode=MODES[len(hotkeys)],
        primaries=tuple(hotkeys[:3]),
        auditors=tuple(hotkeys[3:]),
        promoted=tuple(hotkeys[:1]),
        demoted=("miner-z",),
        excluded={"miner-y": Reason.LOW_REPUTATION, "miner-x": Reason.COLLUSION_FLAGS},
    )


def a_round(
    round_id: int = 0, groups: Mapping[SkillType, Sequence[str]] | None = None, salt_commitment: str = "c" * 64
) -> tuple[RoundInput, RoundPlan]:
    """Return input and plan of a round: one task per entry of `groups`, given to those hotkeys in that order."""
    chosen = {PYTHON: HOTKEYS} if groups is None else groups
    hotkeys = tuple(dict.fromkeys([*HOTKEYS, *(hotkey for members in chosen.values() for hotkey in members)]))
    tasks = tuple(round_task(round_id, skill_type) for skill_type in chosen)
    frozen = RoundInput(
        input_version="1",
        scoring_version="1.0.0",
        round_id=str(round_id),
        validator_hotkey="validator",
        snapshot=snapshot(round_id, hotkeys),
        seed=sha("seed", round_id),
        salt_commitment=salt_commitment,
        miners=tuple(
            MinerState(
                hotkey=hotkey,
                skill_types=(RAG, PYTHON),
                max_concurrent=2,
                reputations={PYTHON: 0.52},
                flags=1,
                history={PYTHON: TypeHistory(("primary", "auditor"), 4, 1, 0)},
                agreements={PYTHON: (AgreementPair(0.9, 1.0, 0.25, 0.75),)},
            )
            for hotkey in sorted(hotkeys)
        ),
        tasks=tasks,
        **NOTHING_LATE,
    )
    groups_ = tuple(group_plan(task, list(chosen[task.skill_type])) for task in tasks)
    return frozen, RoundPlan(str(round_id), groups_)


def an_sssa(hotkey: str, description: str = "reads ~/.ssh") -> Sssa:
    return Sssa(
        schema_version="1.0",
        skill=Skill(PYTHON, sha("bundle"), sha("nonce")),
        analysis=Analysis(
            verdict="BLOCK",
            risk_score=1.0,
            findings=(
                Finding("f1", "secrets_exposure", "high", description, "src/a.py#L1-L2", ("CVE-2024-12345",), "~/.ssh"),
            ),
            capabilities=("fs.read",),
            dependencies=(Dependency("requests", "2.31.0", ()),),
        ),
        evidence=Evidence({"fs": "sha256:" + "a" * 64}, None, None, None),
        policy=Policy((Rule("net", "deny", "*"),)),
        signature=Signature(hotkey, "sr25519", "0x" + "ab" * 64),
    )


def a_submission(key: DispatchKey, role: Role = "primary", description: str = "reads ~/.ssh") -> Submission:
    sssa = an_sssa(key.hotkey, description)
    return Submission(
        task_id=key.task_id,
        hotkey=key.hotkey,
        role=role,
        seconds=12.0,
        sssa=sssa,
        sssa_sha256=digest(sssa),
        checks=Checks(probes=True, traces=True, manifest_digest=None, evidence_resolves=False, canary=None),
        semantic_subset=0.25,
        shell_commands=("ls -l", "printf 'a\0b'"),
    )


def an_outcome(
    round_id: int,
    plan: RoundPlan,
    reasons: Mapping[str, Reason] | None = None,
    failing: frozenset[str] = frozenset(),
) -> RoundOutcome:
    """Return an outcome in which every other planned member was accepted; `reasons` overrides a task's."""
    given = reasons or {}
    groups = tuple(
        GroupOutcome(
            task_id=group.task_id,
            reason=given.get(group.task_id, Reason.SETTLED),
            mode=group.mode,
            n_valid=len(group.members),
            threshold=len(group.members) // 2 + 1,
            verdict="BLOCK",
            mean_risk=0.1 + 0.2,
            finding_keys=(sha("key1"), sha("key2")),
            provenance="curated",
            scored_verdict="BLOCK",
            auditor_agreement=0.875,
        )
        for group in plan.groups
    )
    settled = {group.task_id for group in groups if group.task_state == "settled"}
    members = tuple(
        (a_rejected if hotkey in failing else a_member)(group.task_id, hotkey, role)
        for group in plan.groups
        if group.task_id in settled
        for hotkey, role in group.members
    )
    return RoundOutcome(str(round_id), "1.0.0", groups, members, (), (), ())


def a_member(task: str, hotkey: str, role: Role) -> AssessedMember:
    return AssessedMember(
        task_id=task,
        hotkey=hotkey,
        role=role,
        reason=Reason.ACCEPTED,
        components=Components(1.0, 0.5, 1.0, 1 / 3, 0.9, 0.0, 1.0),
        consensus=0.7 + 0.1,
        agreement_with_primaries=0.95,
        agreement_with_auditors=None,
        emission=Emission(
            {"alpha": 1.0, "pi": 0.1 + 0.2}, 0.9, 0.81, 1.0, 1.4, 1.08, 0.6, 0.8, 1.5, 1.23456789012345678
        ),
        window_entry=1.23456789012345678,
    )


def a_rejected(task: str, hotkey: str, role: Role) -> FailedMember:
    return FailedMember(task, hotkey, role, Reason.DEADLINE_LATE, 0.0, 0.0)


async def open_round(
    store: Store, round_id: int = 0, groups: Mapping[SkillType, Sequence[str]] | None = None
) -> tuple[RoundInput, RoundPlan]:
    frozen, plan = a_round(round_id, groups)
    async with store.begin() as tx:
        await tx.rounds.open(frozen, plan, at(round_id))
    return frozen, plan


def an_arrival(key: DispatchKey, seconds: float, status: int, body: bytes, received_at: datetime) -> Arrival:
    return Arrival(key, seconds, status, compressed(body), len(body), received_at)


async def answer_all(store: Store, plan: RoundPlan, failing: frozenset[str] = frozenset()) -> None:
    """Bring every dispatch of a round to an end: those of `failing` hotkeys were late, the others were accepted."""
    round_id = int(plan.round_id)
    async with store.begin() as tx:
        for group in plan.groups:
            for hotkey, role in group.members:
                key = DispatchKey(round_id, group.task_id, hotkey)
                await tx.arrivals.sent([key], at(round_id))
                if hotkey in failing:
                    await tx.arrivals.failed([Failure(key, Reason.DEADLINE_LATE, seconds=90.0)])
                else:
                    await tx.arrivals.keep(
                        [an_arrival(key, 12.0, 200, f"answer of {hotkey}".encode(), at(round_id + 12))]
                    )
                    await tx.arrivals.judged([JudgedAnswer(key, Reason.ACCEPTED, packed(a_submission(key, role)))])


async def settle(  # noqa: PLR0913 - what a round came to
    store: Store,
    plan: RoundPlan,
    reasons: Mapping[str, Reason] | None = None,
    failing: frozenset[str] = frozenset(),
    *,
    samples: tuple[AgreementSample, ...] = (),
    flags: tuple[FlagRaised, ...] = (),
) -> RoundOutcome:
    round_id = int(plan.round_id)
    outcome = structs.replace(an_outcome(round_id, plan, reasons, failing), samples=samples, flags=flags)
    async with store.begin() as tx:
        await tx.rounds.settle(round_id, "settled", Reason.SETTLED, outcome, at(round_id + 60))
        await step(tx, plan, "settled", outcome)
    return outcome


async def step(
    tx: Transaction, plan: RoundPlan, state: Literal["settled", "void", "abandoned"], outcome: RoundOutcome | None
) -> None:
    """Take the round into the state."""
    stored = await tx.rounds.get(int(plan.round_id))
    assert stored is not None
    assert stored.input is not None
    planned = await tx.groups.plan_of(int(plan.round_id))
    await tx.state.step(Ended(stored.input, planned, state, outcome), V1.step, at(int(plan.round_id) + 60))


async def play_round(
    store: Store,
    round_id: int,
    groups: Mapping[SkillType, Sequence[str]] | None = None,
    *,
    failing: frozenset[str] = frozenset(),
    reasons: Mapping[str, Reason] | None = None,
) -> RoundPlan:
    """Open a round, end its dispatches and settle it."""
    _, plan = await open_round(store, round_id, groups)
    await answer_all(store, plan, failing)
    await settle(store, plan, reasons, failing)
    return plan
