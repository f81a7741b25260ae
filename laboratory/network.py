"""One validator's network, round after round: its inputs are frozen, planned, scored, stepped and paid by the core."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from laboratory.behaviours import Crowd, Deed
from laboratory.population import Player, Population
from laboratory.streams import token
from laboratory.world import Latent, Library
from sssa.protocol.answer import Role
from sssa.protocol.draws import round_seed, salt_commitment
from sssa.protocol.execution import ExecutionEvent
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Checks, Rejection, RoundResults, Submission, VoidDispatch
from sssa.protocol.round import (
    AssessmentTask,
    ExecutionResult,
    MetagraphSnapshot,
    Neuron,
    RoundInput,
    RoundOutcome,
    RoundPlan,
)
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import KINDS, SkillType, is_runtime
from sssa.protocol.sssa import Evidence, Policy, Signature, Skill, Sssa
from sssa.scoring import (
    FindingKeys,
    WeightPlan,
    executed_tasks,
    plan_round,
    score_round,
    standing_of,
    version,
    windows_of,
)
from sssa.state.inputs import freeze_miner
from sssa.state.mechanism_state import Declarations, Shared, State
from sssa.state.round_end import Ended, apply, record_vector

_VALIDATOR: Final = "validator"
_TEMPO: Final = 360
_MECHANISM: Final = (1, 0)
_CONTENT: Final = Checks(probes=True, traces=None, manifest_digest=None, evidence_resolves=True, canary=None)
_RUN: Final = Checks(probes=True, traces=True, manifest_digest=True, evidence_resolves=True, canary=None)
_UNSIGNED: Final = "0x" + "0" * 128
_NO_EVIDENCE: Final = Evidence({}, None, None, None)


class Played(NamedTuple):
    """A round that was played, for those who look at it.

    Attributes:
        frozen, plan, results, outcome: as the core has them.
        latent: task to what was there to be found.
        deeds: (task, hotkey) to what the miner did.
    """

    frozen: RoundInput
    plan: RoundPlan
    results: RoundResults
    outcome: RoundOutcome
    latent: Mapping[str, Latent]
    deeds: Mapping[tuple[str, str], Deed]


class Network:
    """A network as one validator sees it.

    Attributes:
        state: after the rounds so far.
        index: of the next round.
        names: hotkey to the name of its miner, of everybody who ever took part.
    """

    def __init__(self, population: Population, place: str = "0") -> None:
        self.population, self._place = population, place
        self.version = version(population.version)
        self.state = State({}, Shared(since=0, sources={}))
        self.index = 0
        self.names: dict[str, str] = {}
        self._seed = population.seed
        self._library = Library(population.world, self.version, population.seed, place)
        self._players = population.members
        self._crowd = Crowd(self._players, population.world, population.seed, place)
        self._results: tuple[ExecutionResult, ...] = ()

    def play(self) -> Played:
        """Play one round."""
        index = self.index
        salt = bytes.fromhex(token(self._seed, self._place, "salt", self._epoch))
        latent = {one.task.task_id: one for one in self._library.round_tasks(index, salt)}
        frozen = self._frozen(salt, tuple(one.task for one in latent.values()))
        plan = plan_round(self.version, frozen)
        self._crowd.laboratory.begin()
        deeds: dict[tuple[str, str], Deed] = {}
        judgements = [one for one in self._judgements(plan, latent, deeds) if one is not None]
        void = tuple(VoidDispatch(*key, Reason.LOCAL_STALL) for key, deed in deeds.items() if deed.void)
        results = RoundResults.of(judgements, alone=void)
        outcome = score_round(self.version, frozen, plan, results, FindingKeys())
        ended = Ended(frozen, plan, "settled", outcome)
        self.state = apply(self.state, self.version.step(self.state, ended))
        self._results = self._executed(frozen, plan, outcome, latent, deeds)
        self.index += 1
        return Played(frozen, plan, results, outcome, latent, deeds)

    def pay(self) -> WeightPlan:
        """Compute the vector that is due now, and note it."""
        plan = self.vector()
        self.state = record_vector(self.state, _MECHANISM, self._epoch, str(self.index - 1))
        return plan

    def vector(self) -> WeightPlan:
        """Return what the registered miners would be paid now."""
        pays, state = self.version, self.state
        epochs = state.shared.vectors.get(_MECHANISM, {})
        last = max(epochs, default=None)
        since = None if last is None else int(epochs[last] or 0)
        declared = Declarations.since(state.shared, since)
        here = self._hotkeys()
        windows = windows_of(pays, state, here)
        standing = standing_of(pays, state, here, declared, self.index)
        return pays.mechanism_weights(windows, KINDS[:1], standing, pays.pay_basis(state, self._epoch, windows))

    @property
    def _epoch(self) -> int:
        return self.population.world.epoch + self.index // self.population.world.epoch_rounds

    def hotkey(self, player: Player, index: int) -> str:
        """Return the hotkey of a miner in a round: a hopper's changes."""
        life = (index - player.group.arrives) // player.group.every if player.group.behaviour == "hopper" else 0
        hotkey = "5" + token(self._seed, "hotkey", player.name, life)[:15]
        self.names[hotkey] = player.name
        return hotkey

    def _hotkeys(self) -> dict[str, Player]:
        """Return the registered miners by hotkey, sorted."""
        index = self.index
        here = [
            one
            for one in self._players
            if one.group.arrives <= index and (one.group.leaves is None or index < one.group.leaves)
        ]
        return dict(sorted((self.hotkey(one, index), one) for one in here))

    def _frozen(self, salt: bytes, tasks: tuple[AssessmentTask, ...]) -> RoundInput:
        index, rules, world = self.index, self.version.rules, self.population.world
        here = self._hotkeys()
        block_hash = token(self._seed, "block", index)
        miners = tuple(
            freeze_miner(
                self.state,
                hotkey,
                index,
                history_rounds=rules.groups.history_rounds,
                samples=rules.collusion.window,
                skill_types=player.group.types,
                max_concurrent=4,
            )
            for hotkey, player in here.items()
            if _declares(player, index)
        )
        block = (self._epoch * (_TEMPO + 1)) + index % world.epoch_rounds
        neurons = tuple(Neuron(hotkey, uid, 1.0, False, None) for uid, hotkey in enumerate((*here, _VALIDATOR)))
        frozen = RoundInput(
            input_version="1",
            scoring_version=self.version.name,
            round_id=str(index),
            validator_hotkey=_VALIDATOR,
            snapshot=MetagraphSnapshot(1, block, block_hash, 12 * block, self._epoch, _TEMPO, None, neurons),
            seed=round_seed(salt, str(index), block_hash).hex(),
            salt_commitment=salt_commitment(salt),
            miners=miners,
            tasks=tasks,
            runtime_image=UNPUBLISHED,
            executes=True,
            executions=self._results,
            filled=(),
            acts=(),
        )
        return self.version.complete(self.state, frozen)

    def _judgements(
        self, plan: RoundPlan, latent: Mapping[str, Latent], deeds: dict[tuple[str, str], Deed]
    ) -> Iterator[Submission | Rejection | None]:
        for group in plan.groups:
            task = latent[group.task_id]
            players = {hotkey: self._crowd.players[self.names[hotkey]] for hotkey, _ in group.members}
            members = Counter(player.group.name for player in players.values())
            for hotkey, role in group.members:
                player = players[hotkey]
                majority = 2 * members[player.group.name] > len(players)
                deed = deeds[group.task_id, hotkey] = self._crowd.deed(player, task, role, majority=majority)
                yield _judged(task.task, hotkey, role, player, deed)

    def _executed(
        self,
        frozen: RoundInput,
        plan: RoundPlan,
        outcome: RoundOutcome,
        latent: Mapping[str, Latent],
        deeds: Mapping[tuple[str, str], Deed],
    ) -> tuple[ExecutionResult, ...]:
        """Return the results of the round's executed tasks: a fail needs somebody's pass where others know the task."""
        results = []
        for one in executed_tasks(frozen, plan, outcome):
            runs = {hotkey: deeds[one.task_id, hotkey].runs for hotkey in one.primaries}
            if any(runs.values()) or latent[one.task_id].planted:
                results += [
                    ExecutionResult(frozen.round_id, one.task_id, hotkey, one.skill_type, _event(ran=ran))
                    for hotkey, ran in runs.items()
                ]
        return tuple(results)


def _event(*, ran: bool) -> ExecutionEvent:
    return "rerun_pass" if ran else "rerun_fail"


def _declares(player: Player, index: int) -> bool:
    """Return whether a miner declares anything in a round: a thinner is absent in some of ten, evenly spread."""
    return player.group.behaviour != "thinner" or 7 * index % 10 < 10 * player.group.share


def _judged(task: AssessmentTask, hotkey: str, role: Role, player: Player, deed: Deed) -> Submission | Rejection | None:
    """Return an answer as the gates leave it; None of a void dispatch."""
    if deed.answer is None:
        return None if deed.void else Rejection(task.task_id, hotkey, role, Reason.DEADLINE_LATE, None)
    analysis, rules = deed.answer.analysis, deed.answer.rules
    window = task.windows.of(role)
    name: SkillType = task.skill_type
    sssa = Sssa(
        "1.0",
        Skill(name, task.bundle_sha256, task.nonce),
        analysis,
        _NO_EVIDENCE,
        Policy(rules),
        Signature(hotkey, "sr25519", _UNSIGNED),
    )
    return Submission(
        task_id=task.task_id,
        hotkey=hotkey,
        role=role,
        seconds=window.t_min + player.group.speed * (window.deadline - window.t_min),
        sssa=sssa,
        sssa_sha256=task.nonce,
        checks=_RUN if is_runtime(name) and role == "primary" else _CONTENT,
    )
