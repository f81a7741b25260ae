"""Replay of workflow rounds on both databases: equal as stored; whatever is altered is found and named."""

import json
import re
from collections.abc import Callable
from typing import Any

from explained import HOTKEYS
from msgspec.structs import replace
from planned import GOOD, PLANNED_ROUNDS, SLOW, planned
from recorded import Tamper, dispatched, grouped, proven
from replays import executed, replayed, replayed_after
from sqlalchemy import delete, update

from validator.audit.replay.round_replay import replay_round
from validator.proofs.document import seal, verify_document
from validator.protocol.canonical import canonical_bytes, digest, sha256_hex
from validator.protocol.signatures import Signer
from validator.store import Store, Transaction
from validator.store.codec import compressed
from validator.store.dispatch_record import Dispatch
from validator.store.record import Group
from validator.store.tables import answers

Change = Callable[[dict[str, Any]], object]


def of(number: int = GOOD) -> Callable[[Dispatch], bool]:
    return lambda one: one.hotkey == HOTKEYS[number]


def resubmitted(**changes: Any) -> Tamper:
    """Change fields of one submission other than plan and run."""
    return dispatched(of(), submission=lambda own: {**own, **changes})


def another(change: Change, which: str, number: int = GOOD) -> Tamper:
    """Another plan or run with its own right hash in the place of the one that was recorded."""

    async def tamper(tx: Transaction) -> None:
        head = await tx.records.head(0)
        assert head is not None
        mine = next(one for one in head.dispatches if of(number)(one))
        old = mine.signed_sha256 if which == "plan" else mine.run_sha256
        groups = [group async for group in tx.records.groups(0)]
        document = json.loads(next(group.named()[old] for group in groups if old in group.named()))
        change(document)
        data, new = canonical_bytes(document), digest(document)
        told = {"plan_sha256": new} if which == "plan" else {"run_sha256": new}
        values: dict[str, Any] = {"submission": lambda own: {**own, **told}}
        await dispatched(
            lambda one: one.task_id == mine.task_id and of(number)(one),
            **values | ({"signed_sha256": new} if which == "plan" else {}),
        )(tx)

        def replaced(documents: tuple[bytes, ...]) -> tuple[bytes, ...]:
            return tuple(data if sha256_hex(one) == old else one for one in documents)

        await grouped(lambda one: replace(one, signed=replaced(one.signed), runs=replaced(one.runs)))(tx)

    return tamper


def dearer(plan: dict[str, Any]) -> None:
    plan["totals"]["estimated_cost"] = 0.5


def another_proof(change: Change, signer: Signer | None = None) -> Tamper:
    """A stored proof with other words in it; signed anew where somebody signs."""

    def changed(group: Group) -> Group:
        document = json.loads(group.proof or b"")
        change(document)
        if signer is not None:
            document = seal(verify_document(group.proof or b"").proof, signer)
        return proven(canonical_bytes(document))(group)

    return grouped(changed)


def cheaper(run: dict[str, Any]) -> None:
    run["steps"][0]["attempts"][0]["cost_tao"] = 0.001


def quicker(run: dict[str, Any]) -> None:
    run["seconds"] = 1.0


def another_output(run: dict[str, Any]) -> None:
    run["steps"][-1]["output"] = {"text": "The cat sat on the mat.", "code": "x", "data": None}


def forgotten_step(run: dict[str, Any]) -> None:
    run["steps"].pop()


def forgiven(run: dict[str, Any]) -> None:
    run["steps"][1]["attempts"] = run["steps"][1]["attempts"][:1]
    run["steps"][1]["attempts"][0]["outcome"] = "step_status"


def nothing(_document: dict[str, Any]) -> None:
    pass


def outspoken(proof: dict[str, Any]) -> None:
    proof["reasoning_summary"] = "All is well."


STEPS = r"answers\[.*\]\.run\.steps\[\d\]"
TAMPERINGS: dict[str, tuple[Any, str]] = {
    "quality": (resubmitted(quality=0.125), r"answers\[.*\]\.quality: is 0\.125, the output is worth"),
    "quality judged again": (resubmitted(quality=0.125), r"gates\[.*\]\.quality: stored 0\.125, recomputed"),
    "deferred": (resubmitted(quality=None), r"answers\[.*\]\.quality: is None, the output is worth"),
    "seconds": (resubmitted(seconds=0.5), r"answers\[.*\]\.seconds: stored 1\.0, recomputed 0\.5|gates\[.*\]\.seconds"),
    "no run": (
        grouped(lambda group: replace(group, runs=())),
        r"answers\[.*\]\.plan_or_run: .*no document [0-9a-f]{64}",
    ),
    "run byte": (
        grouped(lambda group: replace(group, runs=(b"{}",) * len(group.runs))),
        r"answers\[.*\]\.plan_or_run: .*no document",
    ),
    "no plan": (grouped(lambda group: replace(group, signed=())), r"answers\[.*\]\.plan_or_run: .*no document"),
    "another plan": (another(dearer, "plan"), r"answers\[.*\]\.plan: validity_signature"),
    "cheaper run": (another(cheaper, "run"), r"outcome\.members\[\d\]\.(workflow|window_entry).*: stored"),
    "quicker run": (another(quicker, "run"), rf"{STEPS}\.attempts\[0\]: is out of the order of time"),
    "another output": (another(another_output, "run"), rf"{STEPS}\.output: is not the one"),
    "a step less": (another(forgotten_step, "run"), r"answers\[.*\]\.run\.steps: are not the plan's"),
    "a forgiven timeout": (
        another(forgiven, "run", SLOW),
        r"outcome\.members\[\d\]\.(workflow|window_entry).*: stored",
    ),
    "another body": (
        executed(update(answers).values(body=compressed(b"{}"))),
        r"gates\[.*\]",
    ),
    "no proof": (
        grouped(proven(None)),
        r"proofs\[.*\]: missing in the store",
    ),
    "proof": (another_proof(outspoken), r'proofs\[.*\]\.reasoning_summary: stored "All is well\."'),
    "proof's agents": (
        another_proof(lambda proof: proof["supporting_agents"].append("5Somebody")),
        r'proofs\[.*\]\.supporting_agents\[0\]: stored "5Somebody"',
    ),
    "proof of somebody else": (
        another_proof(nothing, Signer.from_uri("//Somebody")),
        r"proofs\[.*\]: .*signature\.hotkey: is 5",
    ),
    "proof's checksum": (
        another_proof(lambda proof: proof.update(checksum="0" * 16)),
        r'proofs\[.*\]\.checksum: stored "0000000000000000"',
    ),
    "proof's digest": (
        another_proof(lambda proof: proof.update(digest="0" * 64)),
        r'proofs\[.*\]\.digest: stored "0',
    ),
    "proof's bytes": (
        grouped(proven(b"x")),
        r"proofs\[.*\]: .*cannot be read",
    ),
}


async def test_every_tampering_with_plans_runs_and_proofs_is_found_and_named(store: Store) -> None:
    await planned(store)
    missed = {}
    for name, (tamper, expected) in TAMPERINGS.items():
        replay = await replayed_after(store, tamper)
        named = [str(difference) for difference in replay.differences]
        if replay.verdict != "different" or not any(re.match(expected, line) for line in named):
            missed[name] = named
    assert missed == {}
    for round_id in range(PLANNED_ROUNDS):
        assert (await replayed(store, round_id)).verdict == "equal"


async def test_workflow_rounds_are_equal_with_their_answers_and_without(store: Store) -> None:
    await planned(store)
    for round_id in range(PLANNED_ROUNDS):
        whole = await replayed(store, round_id)
        assert (whole.verdict, whole.differences) == ("equal", ())
        assert list(whole.digests) == ["input", "plan", "answers", "outcome", "proofs", "rows"]
        assert whole.bodies.judged == whole.bodies.dispatches == 10
    before = await replayed(store, 0)
    async with store.begin() as tx:
        await tx.connection.execute(delete(answers))
        pruned = await replay_round(tx, 0)
    assert pruned is not None
    assert (pruned.verdict, pruned.digests, pruned.bodies.pruned) == ("equal", before.digests, 10)
