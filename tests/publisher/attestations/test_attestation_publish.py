"""Published attestations of a skill, and skills that get none."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from attested import BUNDLE, DAYS, OTHER, PURL, Attested
from audit_file import export, fault_of, forged, lines_of
from msgspec import UNSET
from sqlalchemy import update
from world import VALIDATOR, answer_to, few_tasks, miner_signer, one_round, prepared

from publisher.publish import Answer, Published, Publisher, Refused, Revoked
from sssa.attestation.dsse import PublishingKey
from sssa.attestation.verify import Verified, parse_handed, verify_attestation
from sssa.log.verify import verify_file
from sssa.protocol.answer import CanarySpec, Dispatch
from sssa.protocol.receipt import Receipt, Revocation, line_digest
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Finding
from sssa.protocol.task import KnownFinding, Truth
from validator.miners.scripted import ScriptedReply
from validator.store import Store, open_store
from validator.store.tables import tasks
from validator.tasks.source import MemorySource, SourcedTask

TRUTH = Truth("ALLOW", None, None, None, None, None, None, None)


def held(document: bytes, world: Attested) -> Verified:
    return verify_attestation(*parse_handed(document), world.clock.now())


async def test_an_attestation_says_what_the_group_came_to(store: Store) -> None:
    world = Attested(store)
    await world.begin()
    found = await world.answer_of()
    assert isinstance(found, Published)
    assert (found.sha256, found.purl) == (BUNDLE, PURL)
    verified = held(found.document, world)
    assert (verified.hotkey, verified.sha256, verified.verdict) == (VALIDATOR.hotkey, BUNDLE, "ALLOW")
    statement = verified.statement
    predicate, subject = statement.predicate, statement.subject[0]
    assert (subject.digest.sha256, subject.uri) == (BUNDLE, PURL)
    assert (predicate.risk, predicate.capabilities, predicate.policy) == (0.1, ("file_io",), ())
    (finding,) = predicate.findings
    agreed = predicate.agreement
    assert (finding.category, finding.place, finding.target) == ("other", "a.py#L1-L1", "a.py")
    assert finding.reporters == agreed.valid == agreed.agreeing == agreed.asked == len(agreed.signers) > 2
    assert {one.hotkey for one in agreed.signers} <= set(world.signers)
    async with store.read() as tx:
        receipt = await tx.receipts.of_round(0)
        head = await tx.records.head(0)
        proof = await tx.proofs.of_task(predicate.origin.task_id)
    assert receipt is not None
    assert head is not None
    assert proof is not None
    assert (predicate.origin.receipt, predicate.origin.receipt_sha256) == (receipt.sequence, receipt.sha256)
    assert predicate.origin.proof_sha256 == line_digest(b'{"proof":%b}' % proof.document)
    assert {one.sssa_sha256 for one in agreed.signers} == {
        one.signed_sha256 for one in head.dispatches if one.task_id == predicate.origin.task_id
    }
    assert await world.document() == found.document  # to the byte, so that caches hold


def loud(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """Two of the six say more, each the same; the group does not."""
    answer = answer_to(signer, dispatch)
    if signer.hotkey in {miner_signer(number).hotkey for number in (0, 1)}:
        finding = Finding("f2", "tool_poisoning", "critical", "words", "docs/readme.md#L2", (), "evil")
        changes = {"verdict": "BLOCK", "findings": (*answer.sssa.analysis.findings, finding), "capabilities": ("net",)}
        analysis = msgspec.structs.replace(answer.sssa.analysis, **changes)
        sssa = signer.sign_document(msgspec.structs.replace(answer.sssa, analysis=analysis))
        answer = msgspec.structs.replace(answer, sssa=sssa)
    return ScriptedReply(msgspec.json.encode(answer), seconds=1.0)


async def test_a_minority_adds_nothing_and_is_counted(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Attested(store, script=loud)
        await world.begin()
        predicate = held(await world.document(), world).statement.predicate
    agreed = predicate.agreement
    assert (predicate.verdict, predicate.capabilities) == ("ALLOW", ("file_io",))
    assert [one.category for one in predicate.findings] == ["other"]
    assert 0 < agreed.agreeing < agreed.valid
    assert agreed.agreeing >= agreed.threshold


async def test_nothing_is_said_of_what_may_be_dispatched_again(store: Store) -> None:
    world = Attested(store)
    await world.begin()
    assert why(await world.answer_of(OTHER)).startswith("it may be dispatched again")
    await world.retire(OTHER)
    assert isinstance(await world.answer_of(OTHER), Published)


async def test_nothing_is_said_while_an_open_round_has_it(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Attested(store)
        await one_round(world)
        await world.vouch(world.key)
        await prepared(world)
        await world.retire(BUNDLE)
        assert why(await world.answer_of()) == "an open round has it"


def with_truth(truth: Truth, canary: CanarySpec | None = None) -> SourcedTask:
    task = few_tasks()[0]
    version: Literal["1.0", "1.1"] = "1.0" if truth.findings is UNSET else "1.1"
    changes = {"truth": truth, "provenance": "curated", "task_version": version, "canary": canary}
    return SourcedTask(msgspec.structs.replace(task.task, **changes), task.bundle)


PLANTED = KnownFinding("other", "low", "a.py#L1", (), "a.py", "family/shape")
KNOWN = msgspec.structs.replace(PLANTED, kind="known")


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (with_truth(TRUTH), None),
        (with_truth(msgspec.structs.replace(TRUTH, findings=(KNOWN,))), None),
        (with_truth(msgspec.structs.replace(TRUTH, findings=(PLANTED,))), "its truth has planted faults"),
        (with_truth(msgspec.structs.replace(TRUTH, injections=("a.py#L1",))), "its truth has planted faults"),
        (with_truth(msgspec.structs.replace(TRUTH, mark="/tmp/mark")), "its truth has planted faults"),
        (with_truth(msgspec.structs.replace(TRUTH, verdict="BLOCK")), "its answers gave no verdict, or not that"),
        (with_truth(TRUTH, CanarySpec("docs/readme.md")), "it was given with a marker, or made here"),
    ],
)
async def test_nothing_is_said_of_what_was_planted(sqlite_url: str, task: SourcedTask, reason: str | None) -> None:
    async with open_store(sqlite_url) as store:
        world = Attested(store, source=MemorySource([task]))
        await world.begin()
        found = await world.answer_of()
    assert isinstance(found, Published) if reason is None else why(found).startswith(reason)


async def test_nothing_is_said_of_a_canary(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Attested(store)
        await world.begin()
        async with store.begin() as tx:
            await tx.connection.execute(update(tasks).values(provenance="canary"))
        assert why(await world.answer_of()) == "it was a canary"


def why(answer: Answer) -> str:
    assert isinstance(answer, Refused), answer
    return answer.why


async def test_an_attestation_ends_with_its_time_its_key_and_a_revocation(store: Store) -> None:
    world = Attested(store)
    await world.begin()
    document = await world.document()
    await world.clock.advance(timedelta(days=DAYS).total_seconds() - 60)
    held(document, world)
    await world.clock.advance(60)
    assert why(await world.answer_of()).startswith("what round 0 found held until")
    world.publisher = Publisher(world.key, timedelta(days=3_000), {}, world.clock)
    await world.clock.advance(timedelta(days=366 - DAYS).total_seconds())
    assert why(await world.answer_of()).startswith("its key was valid until")
    await world.vouch(fresh := PublishingKey.of_seed(bytes(32)))
    assert why(await world.answer_of()).startswith("the newest key in the log is not the one here")
    world.publisher.key = fresh
    assert isinstance(await world.answer_of(), Published)
    await world.revoke(Revocation("key", fresh.public, "lost"))
    assert why(await world.answer_of()).startswith("its key was revoked")
    await world.vouch(world.key)
    world.publisher.key = world.key
    assert isinstance(await world.answer_of(), Published)
    await world.revoke(Revocation("attestation", BUNDLE, "wrong"))
    assert isinstance(await world.answer_of(), Revoked)


async def test_the_listing_goes_on_where_it_ended(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Attested(store)
        await world.begin()
        await world.retire(OTHER)
        await world.retire("0" * 64)
        async with store.read() as tx:
            first = await world.listing(tx, "", 2)
            rest = await world.listing(tx, first[-1].sha256, 2)
    assert [one.sha256 for one in (*first, *rest)] == sorted(["0" * 64, BUNDLE, OTHER])
    assert [type(one) for one in (*first, *rest)] == [Refused, Published, Published]


async def test_the_log_has_keys_and_revocations_and_is_verified(store: Store, tmp_path: Path) -> None:
    world = Attested(store)
    await world.begin()
    await world.revoke(Revocation("attestation", BUNDLE, "wrong"))
    await world.vouch(PublishingKey.of_seed(bytes(32)))
    found = verify_file(await export(store, tmp_path / "log"))
    assert (found.keys, found.revocations) == (2, 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"replaces": "0" * 64}, "key.replaces: is not the key of the statement before"),
        ({"valid_until": "2026-01-01T00:00:00Z"}, "key.valid_until: is not after `valid_from`"),
        ({"valid_from": "yesterday"}, "must be YYYY-MM-DDTHH:MM:SSZ - at `valid_from`"),
    ],
)
async def test_a_statement_that_does_not_follow_is_refused(
    sqlite_url: str, tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    async with open_store(sqlite_url) as store:
        world = Attested(store)
        await world.begin()
        data = (await export(store, tmp_path / "log")).read_bytes()

    def change(receipt: Receipt) -> Receipt:
        assert receipt.key is not UNSET
        return msgspec.structs.replace(receipt, key=msgspec.structs.replace(receipt.key, **changes))

    sequence = sum(one.startswith(b'{"receipt"') for one in lines_of(data)) - 1
    assert reason in str(fault_of(tmp_path, forged(data, sequence, change)))
