"""Replay of workflow rounds on both databases: equal as stored; whatever is altered is found and named."""

import json
from collections.abc import Callable
from typing import Any

from explained import HOTKEYS
from msgspec.structs import replace
from planned import GOOD, PLANNED_ROUNDS, planned
from recorded import Tamper, dispatched, grouped, proven
from replays import DOCUMENTS, LINES, executed, faults_after, replayed, unlike
from sqlalchemy import delete, update

from sssa.proofs.document import seal, verify_document
from sssa.protocol.canonical import canonical_bytes, digest, sha256_hex
from sssa.protocol.dispatch_record import Dispatch
from sssa.protocol.signatures import Signer
from validator.audit.replay import replay_round
from validator.store import Store, Transaction
from validator.store.codec import compressed
from validator.store.record import Group
from validator.store.tables import answers

Change = Callable[[dict[str, Any]], object]


def is_good(one: Dispatch) -> bool:
    return one.hotkey == HOTKEYS[GOOD]


def resubmitted(**changes: Any) -> Tamper:
    """Change fields of one submission other than plan and run."""
    return dispatched(is_good, submission=lambda own: {**own, **changes})


def another(change: Change, which: str) -> Tamper:
    """Another plan or run with its own right hash in the place of the one that was recorded."""

    async def tamper(tx: Transaction) -> None:
        head = await tx.records.head(0)
        assert head is not None
        mine = next(one for one in head.dispatches if is_good(one))
        old = mine.signed_sha256 if which == "plan" else mine.run_sha256
        groups = [group async for group in tx.records.groups(0)]
        document = json.loads(next(group.named()[old] for group in groups if old in group.named()))
        change(document)
        data, new = canonical_bytes(document), digest(document)
        named = {"plan_sha256": new} if which == "plan" else {"run_sha256": new}
        values: dict[str, Any] = {"submission": lambda own: {**own, **named}}
        await dispatched(
            lambda one: one.task_id == mine.task_id and is_good(one),
            **values | ({"signed_sha256": new} if which == "plan" else {}),
        )(tx)

        def replaced(documents: tuple[bytes, ...]) -> tuple[bytes, ...]:
            return tuple(data if sha256_hex(one) == old else one for one in documents)

        await grouped(lambda one: replace(one, signed=replaced(one.signed), runs=replaced(one.runs)))(tx)

    return tamper


def dearer(plan: dict[str, Any]) -> None:
    plan["totals"]["estimated_cost"] = 0.5


def cheaper(run: dict[str, Any]) -> None:
    run["steps"][0]["attempts"][0]["cost_tao"] = 0.001


def signed_by_somebody_else(group: Group) -> Group:
    proof = verify_document(group.proof or b"").proof
    return proven(canonical_bytes(seal(proof, Signer.from_uri("//Somebody"))))(group)


TAMPERINGS: dict[str, tuple[Tamper, str, str]] = {  # what replay names, and what `db check` does
    "quality": (resubmitted(quality=0.125), unlike("answers"), LINES),
    "no run": (grouped(lambda group: replace(group, runs=())), "no document ", DOCUMENTS),
    "run byte": (grouped(lambda group: replace(group, runs=(b"{}",) * len(group.runs))), "no document ", DOCUMENTS),
    "no plan": (grouped(lambda group: replace(group, signed=())), "no document ", DOCUMENTS),
    "another plan": (another(dearer, "plan"), unlike("answers"), LINES),
    "another run": (another(cheaper, "run"), unlike("answers"), LINES),
    "another body": (
        executed(update(answers).values(body=compressed(b"{}"))),
        "answers: a stored raw answer is not the one that arrived",
        "",
    ),
    "no proof": (grouped(proven(None)), unlike("proof"), LINES),
    "proof of somebody else": (grouped(signed_by_somebody_else), unlike("proof"), LINES),
    "proof's bytes": (grouped(proven(b"x")), unlike("proof"), LINES),
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
