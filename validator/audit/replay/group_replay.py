"""Replay of a settled round's groups, one at a time: answers, gates, scores and proofs.

The attestations of one group are decoded at a time: those of a whole round may take more memory than there is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from validator.audit.replay.differences import Difference, compared, uncomputed
from validator.audit.replay.gate_replay import StoredGates
from validator.kinds.interface import ProvenTask
from validator.kinds.registry import kind_of
from validator.proofs.document import Unsealed, is_sealed, require_signer
from validator.proofs.records import ProofError
from validator.protocol.reasons import Reason
from validator.protocol.results import Packed, Passed, Rejection, RoundResults, VoidDispatch
from validator.protocol.round import GroupPlan, RoundInput, RoundPlan, RoundTask
from validator.protocol.signatures import verified_once
from validator.protocol.strict_json import JsonError, decode_plain
from validator.protocol.workflow_run import WorkflowRun
from validator.scoring import FindingKeys, ScoredTask, Version
from validator.store import Transaction
from validator.store.codec import unpack
from validator.store.dispatch_record import Dispatch
from validator.store.errors import DamagedError
from validator.store.record import Group
from validator.store.repositories.records import Kept, kept_answer, unpacked


@dataclass(frozen=True, slots=True)
class Bodies:
    """Raw answers of a round, void tasks aside: judged again, gone with their retention, too costly (D-27), and all."""

    judged: int = 0
    pruned: int = 0
    too_costly: int = 0
    dispatches: int = 0


def proof_difference(task_id: str, group: Group, again: Unsealed, hotkey: str) -> Difference | None:
    """Return where the stored proof of a task is another one, None where it is the same and signed by `hotkey`."""
    path = f"proofs[{task_id}]"
    try:
        stored = group.proof
        if stored is None:
            return Difference(path, "missing in the store")
        if is_sealed(stored, again, hotkey):
            return None
        document: Any = decode_plain(stored, limit=len(stored))
        if not isinstance(document, dict):
            raise DamagedError("it is no object")
    except (DamagedError, JsonError) as error:
        return Difference(path, f"cannot be read: {error}")
    what = "the same values, but the stored bytes are not their canonical form"
    try:
        require_signer({**again.document, "signature": document.get("signature")}, hotkey)
    except ProofError as error:
        what = str(error)
    return compared(path, {**document, "signature": None}, again.document) or Difference(path, what)


_TOGETHER: Final = 1024 * 1024  # bytes of raw bodies of a round that are read at once


@dataclass(slots=True)
class RawBodies:
    """The raw answers of a round that are still kept, read one at a time; all at once where they are small."""

    tx: Transaction
    dispatches: Sequence[Dispatch]
    _found: dict[tuple[str, str], bytes] | None = None

    async def of(self, record: Dispatch) -> bytes | None:
        """Return the body of a dispatch; None where it is gone (DamagedError: it is not what was stored)."""
        if self._found is None and sum(one.body_bytes or 0 for one in self.dispatches) <= _TOGETHER:
            self._found = await self.tx.dispatches.bodies_of_round(record.round_id)
        if self._found is None:
            return await self.tx.dispatches.answer_body(record.key)
        blob = self._found.pop((record.task_id, record.hotkey), None)
        return None if blob is None else await unpack(blob)


@dataclass(slots=True)
class GroupsReplay:
    """The results of the groups of a settled round, and what differs: answers, gates, outcome, proofs.

    Attributes:
        expected: (task_id, hotkey) of its dispatches that are not void; `alone` are those that are void alone.
        judged: of the dispatches whose stored judgement can be read: that, with documents by their digests.
        scored: by task, where all of a group can be read.
        measured: as in `Ended`.
        proven: digests of the proofs, by task.
    """

    tx: Transaction
    scored_by: Version
    frozen: RoundInput
    plan: RoundPlan
    void: AbstractSet[str]
    expected: AbstractSet[tuple[str, str]]
    alone: Mapping[tuple[str, str], VoidDispatch]
    bodies: RawBodies
    judged: dict[tuple[str, str], Rejection | Mapping[str, Any]] = field(default_factory=dict)
    scored: dict[str, ScoredTask] = field(default_factory=dict)
    measured: dict[tuple[str, str], WorkflowRun] = field(default_factory=dict)
    answers: list[Difference] = field(default_factory=list)
    gates: list[Difference] = field(default_factory=list)
    outcome: list[Difference] = field(default_factory=list)
    proofs: list[Difference] = field(default_factory=list)
    proven: dict[str, str] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)

    @property
    def bodies_counted(self) -> Bodies:
        """Number of answers whose gates could be recomputed."""
        counted = self.counted
        return Bodies(counted["judged"], counted["pruned"], counted["too_costly"], len(self.expected))

    async def run(self) -> None:
        """Go through the groups of the round's record (raises as `Records`)."""
        round_id = self.frozen.index
        head = await self.tx.records.head(round_id)
        facts = head.dispatches if head else ()
        of_task = {task_id: tuple(some) for task_id, some in groupby(facts, attrgetter("task_id"))}
        tasks = {task.task_id: (task, group) for task, group in zip(self.frozen.tasks, self.plan.groups, strict=True)}
        async for group in self.tx.records.groups(round_id):
            if group.task_id not in tasks:
                continue
            with verified_once():  # of one group: it keeps what was verified
                await self._group(*tasks[group.task_id], of_task.get(group.task_id, ()), group)

    async def _group(self, task: RoundTask, planned: GroupPlan, facts: Sequence[Dispatch], group: Group) -> None:
        named = group.named()
        read = [
            (dispatch, one, _readable(dispatch, one))
            for dispatch in facts
            if (dispatch.task_id, dispatch.hotkey) in self.expected
            for one in [kept_answer(dispatch, named)]
        ]
        stored = {
            dispatch.hotkey: one
            for dispatch, one, answer in read
            if isinstance(one, Packed | Rejection) and not isinstance(answer, DamagedError)
        }
        confirmed = await self._judge_again(task, [dispatch for dispatch, *_ in read], stored)
        for dispatch, _, answer in read:
            signed = dispatch.hotkey in confirmed
            self.answers.extend(_answer_differences(self.scored_by, task, dispatch, answer, signed=signed))
        for hotkey, one in stored.items():
            self.judged[task.task_id, hotkey] = one if isinstance(one, Rejection) else one.named()
        answers = [answer for *_, answer in read if answer is not None and not isinstance(answer, DamagedError)]
        members = {(task.task_id, hotkey) for hotkey, _ in planned.members}
        if task.task_id in self.void or len(answers) != len(members & self.expected):
            self._without_proof(group)
        else:
            self._score(task, planned, answers, group)

    def _score(self, task: RoundTask, planned: GroupPlan, answers: Sequence[Passed | Rejection], group: Group) -> None:
        keys = FindingKeys()
        alone = tuple(one for one in self.alone.values() if one.task_id == task.task_id)
        results = RoundResults.of(answers, alone=alone)
        try:
            scored = self.scored_by.score_group(self.frozen, task, planned, results, keys)
            self.measured |= self.scored_by.measured_runs(task, results.passed, scored)
        except Exception as error:  # noqa: BLE001 - altered inputs may break any rule that honest ones keep
            self.outcome.append(uncomputed("outcome", error))
            return
        self.scored[task.task_id] = scored
        try:
            proof = kind_of(task).prove(ProvenTask(self.frozen, task, results.passed, scored, keys))
            again = None if proof is None else Unsealed.of(proof)
        except Exception as error:  # noqa: BLE001 - likewise
            self.proofs.append(uncomputed("proofs", error))
            return
        if again is None:
            self._without_proof(group)
            return
        self.proven[task.task_id] = again.digest
        found = proof_difference(task.task_id, group, again, self.frozen.validator_hotkey)
        self.proofs.extend([] if found is None else [found])

    def _without_proof(self, group: Group) -> None:
        if group.kept_proof is not None:
            self.proofs.append(Difference(f"proofs[{group.task_id}]", "is stored, but the task has no proof"))

    async def _judge_again(
        self, task: RoundTask, records: Sequence[Dispatch], stored: Mapping[str, Packed | Rejection]
    ) -> AbstractSet[str]:
        """Send what is kept of a group's raw answers through the gates again; return whose attestations they confirm.

        What was too costly to judge is never judged again: the stored reason is kept (D-27).
        """
        gates, judged = StoredGates(self.frozen, task), set[str]()
        brought = [record for record in records if record.body_bytes is not None and record.seconds is not None]
        kept = [record for record in brought if record.reason != Reason.PARSE_TOO_COSTLY]
        self.counted["too_costly"] += len(brought) - len(kept)
        for record in kept:
            try:
                body = await self.bodies.of(record)
            except DamagedError as error:
                self.gates.append(Difference(_gates(record), str(error)))
                continue
            if body is None or record.seconds is None:
                self.counted["pruned"] += 1
                continue
            if len(body) != record.body_bytes:
                what = f"stored {len(body)} bytes, received {record.body_bytes}"
                self.gates.append(Difference(_gates(record), what))
            elif record.raw is not None and not record.raw.holds(body):
                what = "the stored bytes are not those that arrived: other digest"
                self.gates.append(Difference(_gates(record), what))
            gates.judge(record.hotkey, record.role, body, record.seconds, stored.get(record.hotkey))
            judged.add(record.hotkey)
        self.counted["judged"] += len(judged)
        differences = dict(gates.differences(stored))
        self.gates += [
            Difference(f"gates[{task.task_id}/{hotkey}].{found.path}", found.what)
            for hotkey, found in differences.items()
        ]
        attested = {hotkey for hotkey, one in stored.items() if isinstance(one, Packed) and one.run is None}
        return attested & judged - differences.keys()


def _readable(record: Dispatch, one: Kept) -> Passed | Rejection | DamagedError | None:
    try:
        return unpacked(record, one) if isinstance(one, Packed) else one
    except DamagedError as error:
        return error


def _answer_differences(
    scored_by: Version,
    task: RoundTask,
    record: Dispatch,
    answer: Passed | Rejection | DamagedError | None,
    *,
    signed: bool,
) -> Iterator[Difference]:
    """Yield the first thing wrong with a stored answer: it is readable, still signed, and in step with its dispatch.

    `signed` says that the gates have confirmed it: what a miner signed is not looked at once more.
    """
    path = f"answers[{record.task_id}/{record.hotkey}]"
    if answer is None:
        yield Difference(path, f"the dispatch is {record.state}, but no judgement of it is stored")
    elif isinstance(answer, DamagedError):
        yield Difference(f"{path}.{task.answer.signed_part}", str(answer))
    elif not isinstance(answer, Rejection):
        fault = None if signed else kind_of(task).fault(scored_by, task, answer)
        if fault is not None:
            yield Difference(f"{path}.{fault.path}", fault.what)
            return
        stored = record.reason, record.seconds, record.signed_sha256
        computed = answer.reason(task.windows), answer.seconds, answer.sha256
        if stored != computed:
            names = ("reason", "seconds", "sssa_sha256")
            pair = (dict(zip(names, values, strict=True)) for values in (stored, computed))
            yield from filter(None, [compared(path, *pair)])


def _gates(record: Dispatch) -> str:
    return f"gates[{record.task_id}/{record.hotkey}]"
