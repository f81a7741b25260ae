"""Replay of workflow rounds on both databases: equal as stored; whatever is altered is found and named."""

import json
from collections.abc import Callable
from typing import Any

from explained import HOTKEYS
from msgspec.structs import replace
from planned import GOOD, PLANNED_ROUNDS, SLOW, planned
from recorded import Tamper, dispatched, grouped, proven
from replays import DOCUMENTS, LINES, executed, faults_after, replayed, unlike
from sqlalchemy import delete, update

from validator.audit.replay import replay_round
from validator.proofs.document import seal, verify_document
from validator.protocol.canonical import canonical_bytes, digest, sha256_hex
from validator.protocol.dispatch_record import Dispatch
from validator.protocol.signatures import Signer
from validator.store import Store, Transaction
from validator.store.codec import compressed
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


TAMPERINGS: dict[str, tuple[Tamper, str, str]] = {  # what replay names, and what `db check` does
    "quality": (
        resubmitted(quality=0.125),
        unlike("answers"),
        LINES,
    ),
    "deferred": (
        resubmitted(quality=None),
        unlike("answers"),
        LINES,
    ),
    "seconds": (
        resubmitted(seconds=0.5),
        unlike("answers"),
        LINES,
    ),
    "no run": (
        grouped(lambda group: replace(group, runs=())),
        "no document ",
        DOCUMENTS,
    ),
    "run byte": (
        grouped(lambda group: replace(group, runs=(b"{}",) * len(group.runs))),
        "no document ",
        DOCUMENTS,
    ),
    "no plan": (
        grouped(lambda group: replace(group, signed=())),
        "no document ",
        DOCUMENTS,
    ),
    "another plan": (
        another(dearer, "plan"),
        unlike("answers"),
        LINES,
    ),
    "cheaper run": (
        another(cheaper, "run"),
        unlike("answers"),
        LINES,
    ),
    "quicker run": (
        another(quicker, "run"),
        unlike("answers"),
        LINES,
    ),
    "another output": (
        another(another_output, "run"),
        unlike("answers"),
        LINES,
    ),
    "a step less": (
        another(forgotten_step, "run"),
        unlike("answers"),
        LINES,
    ),
    "a forgiven timeout": (
        another(forgiven, "run", SLOW),
        unlike("answers"),
        LINES,
    ),
    "another body": (
        executed(update(answers).values(body=compressed(b"{}"))),
        "answers: a stored raw answer is not the one that arrived",
        "",
    ),
    "no proof": (
        grouped(proven(None)),
        unlike("proof"),
        LINES,
    ),
    "proof": (
        another_proof(outspoken),
        unlike("proof"),
        LINES,
    ),
    "proof's agents": (
        another_proof(lambda proof: proof["supporting_agents"].append("5Somebody")),
        unlike("proof"),
        LINES,
    ),
    "proof of somebody else": (
        another_proof(nothing, Signer.from_uri("//Somebody")),
        unlike("proof"),
        LINES,
    ),
    "proof's checksum": (
        another_proof(lambda proof: proof.update(checksum="0" * 16)),
        unlike("proof"),
        LINES,
    ),
    "proof's digest": (
        another_proof(lambda proof: proof.update(digest="0" * 64)),
        unlike("proof"),
        LINES,
    ),
    "proof's bytes": (
        grouped(proven(b"x")),
        unlike("proof"),
        LINES,
    ),
}


async def test_every_tampering_with_plans_runs_and_proofs_is_named(store: Store) -> None:
    await planned(store)
    wrong = {}
    for name, (tamper, by_replay, by_check) in TAMPERINGS.items():
        replay, check = await faults_after(store, tamper)
        if not replay.startswith(by_replay) or by_check not in check or (replay, check) == ("", ""):
            wrong[name] = (replay, check)
    assert wrong == {}
    for round_id in range(PLANNED_ROUNDS):
        whole = await replayed(store, round_id)
        assert (whole.verdict, whole.difference, whole.judged) == ("equal", None, 10)
    async with store.begin() as tx:
        await tx.connection.execute(delete(answers))
        pruned = await replay_round(tx, 0)
    assert pruned is not None
    assert (pruned.verdict, pruned.difference, pruned.pruned) == ("equal", None, 10)
