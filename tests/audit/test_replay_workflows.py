"""Replay of workflow rounds on both databases: equal as stored; whatever is altered is found and named."""

import json
import re
from collections.abc import Callable
from typing import Any

from explained import HOTKEYS
from planned import GOOD, PLANNED_ROUNDS, SLOW, planned
from replays import executed, replayed, replayed_after
from sqlalchemy import Row, delete, insert, select, update

from validator.audit.replay.rounds import replay_round
from validator.proofs import seal, verify_document
from validator.protocol.canonical import canonical_bytes, digest
from validator.protocol.signatures import Signer
from validator.store import Store, Transaction
from validator.store.codec import compressed, expanded
from validator.store.tables import answers, dispatches, proofs, scores, sssas, workflow_runs

Change = Callable[[dict[str, Any]], object]
MINE = dispatches.c.hotkey == HOTKEYS[GOOD]


async def _row(tx: Transaction, number: int = GOOD) -> Row[Any]:
    mine = (dispatches.c.hotkey == HOTKEYS[number]) & (dispatches.c.round_id == 0)
    return (await tx.connection.execute(select(dispatches).where(mine).order_by(dispatches.c.task_id).limit(1))).one()


def resubmitted(**changes: Any) -> Callable[[Transaction], Any]:
    """What is told of one submission beside plan and run, changed."""

    async def tamper(tx: Transaction) -> None:
        row = await _row(tx)
        at = (dispatches.c.task_id == row.task_id) & MINE
        await tx.connection.execute(update(dispatches).where(at).values(submission={**row.submission, **changes}))

    return tamper


def another_run(change: Change, number: int = GOOD) -> Callable[[Transaction], Any]:
    """Another run with a right hash of its own in the place of the one that was recorded."""

    async def tamper(tx: Transaction) -> None:
        row = await _row(tx, number)
        old = workflow_runs.c.sha256 == row.submission["run_sha256"]
        blob = (await tx.connection.execute(select(workflow_runs.c.document).where(old))).scalar_one()
        document = json.loads(expanded(blob))
        change(document)
        data = canonical_bytes(document)
        sha256 = digest(document)
        await tx.connection.execute(insert(workflow_runs).values(sha256=sha256, document=compressed(data)))
        at = (dispatches.c.task_id == row.task_id) & (dispatches.c.hotkey == row.hotkey)
        submission = {**row.submission, "run_sha256": sha256}
        await tx.connection.execute(update(dispatches).where(at).values(submission=submission))

    return tamper


async def another_plan(tx: Transaction) -> None:
    row = await _row(tx)
    blob = (
        await tx.connection.execute(select(sssas.c.document).where(sssas.c.sha256 == row.signed_sha256))
    ).scalar_one()
    document = json.loads(expanded(blob))
    document["totals"]["estimated_cost"] = 0.5
    new = digest(document)
    await tx.connection.execute(insert(sssas).values(sha256=new, document=compressed(canonical_bytes(document))))
    at = (dispatches.c.task_id == row.task_id) & MINE
    values = {"signed_sha256": new, "submission": {**row.submission, "plan_sha256": new}}
    await tx.connection.execute(update(dispatches).where(at).values(values))


def another_proof(change: Change, signer: Signer | None = None) -> Callable[[Transaction], Any]:
    """A stored proof with other words in it; signed anew where somebody signs."""

    async def tamper(tx: Transaction) -> None:
        row = (
            await tx.connection.execute(
                select(proofs).where(proofs.c.round_id == 0).order_by(proofs.c.task_id).limit(1)
            )
        ).one()
        document = json.loads(expanded(row.document))
        change(document)
        if signer is not None:
            proof = verify_document(expanded(row.document)).proof
            document = seal(proof, signer)
        at = proofs.c.task_id == row.task_id
        await tx.connection.execute(update(proofs).where(at).values(document=compressed(canonical_bytes(document))))

    return tamper


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
    "no run": (executed(delete(workflow_runs)), r"answers\[.*\]\.plan_or_run: .*no run [0-9a-f]{64}"),
    "run byte": (
        executed(update(workflow_runs).values(document=compressed(b"{}"))),
        r"answers\[.*\]\.plan_or_run: .*do not hash to",
    ),
    "no plan": (executed(delete(sssas)), r"answers\[.*\]\.plan_or_run: .*no attestation or plan"),
    "another plan": (another_plan, r"answers\[.*\]\.plan: validity_signature"),
    "cheaper run": (another_run(cheaper), r"outcome\.members\[\d\]\.(workflow|window_entry).*: stored"),
    "quicker run": (another_run(quicker), rf"{STEPS}\.attempts\[0\]: is out of the order of time"),
    "another output": (another_run(another_output), rf"{STEPS}\.output: is not the one"),
    "a step less": (another_run(forgotten_step), r"answers\[.*\]\.run\.steps: are not the plan's"),
    "a forgiven timeout": (another_run(forgiven, SLOW), r"outcome\.members\[\d\]\.(workflow|window_entry).*: stored"),
    "score": (
        executed(update(scores).where(scores.c.hotkey == HOTKEYS[GOOD]).values(window_entry=0.999)),
        r"scores\[.*\]\.window_entry: stored 0\.999",
    ),
    "another body": (
        executed(update(answers).values(body=compressed(b"{}"))),
        r"gates\[.*\]",
    ),
    "no proof": (executed(delete(proofs)), r"proofs\[.*\]: missing in the store"),
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
        executed(update(proofs).values(checksum="0" * 16)),
        r'proofs\[.*\]\.checksum: stored "0000000000000000"',
    ),
    "proof's digest": (executed(update(proofs).values(digest="0" * 64)), r'proofs\[.*\]\.digest: stored "0'),
    "proof's bytes": (executed(update(proofs).values(document=b"x")), r"proofs\[.*\]: Stored bytes"),
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
