"""Truths in a log: committed to, written in separate lines, and left out of what is public (SPEC 16, D-31)."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, fault_of, lines_of, verified, with_document
from hidden_truths import GOALS, SECRET, secret_tasks, truths_world

from sssa.log.comparing import compare_files
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.receipt import wrapped
from sssa.protocol.results import Submission
from sssa.protocol.round import AssessedMember, AssessmentTask
from sssa.protocol.workflow_task import task_sha256
from sssa.scoring import Standard, answer_facts, emission_of, version
from validator.store import open_store

ROUNDS, COMMITTED = 2, 6  # rounds of so many tasks: two curated, two canaries, two workflows
TRUTH = b'{"truth":'
OF_MINERS = (b'{"sssa":', b'{"proof":')  # what miners said; some of it is right


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two rounds, and exports of it: `full`, `public`, and `retired` once one of the tasks was."""
    folder = tmp_path_factory.mktemp("truths")
    asyncio.run(_make(folder))
    return folder


async def _make(folder: Path) -> None:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = truths_world(store)
        for _ in range(ROUNDS):
            await world.play()
        await export(store, folder / "full")
        await export(store, folder / "public", public=True)
        async with store.begin() as tx:
            assert await tx.retired.add({secret_tasks()[0].task.bundle_sha256}, world.clock.now()) == 1
        await export(store, folder / "retired", public=True)


@pytest.fixture(scope="module")
def full(folder: Path) -> bytes:
    return (folder / "full").read_bytes()


@pytest.fixture(scope="module")
def public(folder: Path) -> bytes:
    return (folder / "public").read_bytes()


def truths_in(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line)["truth"] for line in lines_of(data) if line.startswith(TRUTH)]


def test_a_full_export_tells_every_truth_as_it_was_committed_to(full: bytes, tmp_path: Path) -> None:
    found = verified(tmp_path, full)
    assert (found.truths, found.truths_hidden, found.scores_without_truth) == (ROUNDS * COMMITTED, 0, {})
    truths = truths_in(full)
    assert len({one["random"] for one in truths}) == len(truths)
    inputs = [json.loads(line)["input"] for line in lines_of(full) if line.startswith(b'{"input":')]
    committed = {task["task_id"]: task["truth_sha256"] for one in inputs for task in one["tasks"]}
    for one in truths:
        secret = canonical_bytes(one.get("truth") or one["reference"])
        assert committed[one["task_id"]] == sha256_hex(bytes.fromhex(one["random"]) + secret)
        assert (full.count(secret), full.count(b'"random"')) == (secret_count(secret, truths), len(truths))


def secret_count(secret: bytes, truths: list[dict[str, Any]]) -> int:
    return sum(canonical_bytes(one.get("truth") or one["reference"]) == secret for one in truths)


def test_a_public_export_verifies_and_tells_no_truth_that_comes_again(public: bytes, tmp_path: Path) -> None:
    found = verified(tmp_path, public)
    canaries = ROUNDS * 2
    assert (found.truths, found.truths_hidden) == (canaries, ROUNDS * COMMITTED - canaries)
    assert set(found.scores_without_truth) == {"assessment", "workflow"}
    assert all(one["truth"]["findings"] is not None for one in truths_in(public))  # which the curated ones do not name
    for secret in secrets_of_the_world():
        assert secret not in public, secret
    assert b"planted.example" not in public
    for line in lines_of(public):
        if not line.startswith((*OF_MINERS, TRUTH)):
            assert b'"BLOCK"' not in without_answers(line), line[:40]


def without_answers(line: bytes) -> bytes:
    """A line without the claims of miners and their group."""
    document = json.loads(line)
    for group in document.get("outcome", {}).get("groups", ()):
        del group["verdict"]
    return json.dumps(document).encode()


def secrets_of_the_world() -> Iterator[bytes]:
    for sourced in secret_tasks():
        truth = sourced.task.truth
        assert truth is not None
        yield canonical_bytes(truth)
        yield from (canonical_bytes(one) for one in truth.policy_rules or ())
        yield b'"reference_risk":0.8125'
    yield SECRET.encode()
    for goal in GOALS:
        yield canonical_bytes(goal.reference)
        yield canonical_bytes(goal)
        assert len(task_sha256(goal)) == 64


def test_what_traces_show_of_the_truth_is_told_by_place(full: bytes) -> None:
    answers = [json.loads(line)["answers"] for line in lines_of(full) if line.startswith(b'{"answers":')]
    shown = {tuple(one["shell_commands"]) for each in answers for one in each["submissions"] if one["shell_commands"]}
    assert shown == {("0",)}  # `ls`, the first of the two


def test_a_retired_task_is_told_in_every_round(folder: Path, public: bytes, tmp_path: Path) -> None:
    data = (folder / "retired").read_bytes()
    assert verified(tmp_path, data).truths == verified(tmp_path, public).truths + ROUNDS
    assert [line for line in lines_of(data) if line in set(lines_of(public))] == lines_of(public)
    assert compare_files(folder / "retired", folder / "full").relation == "same"


def test_any_truth_may_be_missing_and_is_counted(full: bytes, tmp_path: Path) -> None:
    lines = lines_of(full)
    places = [i for i, line in enumerate(lines) if line.startswith(TRUTH)]
    for place in places[:COMMITTED]:
        found = verified(tmp_path, b"".join(lines[:place] + lines[place + 1 :]))
        assert (found.truths, found.truths_hidden) == (ROUNDS * COMMITTED - 1, 1)
    none = verified(tmp_path, b"".join(line for line in lines if not line.startswith(TRUTH)))
    assert (none.truths, none.truths_hidden) == (0, ROUNDS * COMMITTED)
    assert none.scores_without_truth["assessment"] + none.scores_without_truth["workflow"] == none.answers


def test_a_truth_out_of_its_place_is_found_there(full: bytes, tmp_path: Path) -> None:
    lines = lines_of(full)
    first, *_, last = (i for i, line in enumerate(lines) if line.startswith(TRUTH))
    doubled = fault_of(tmp_path, b"".join([*lines[: first + 1], *lines[first:]]))
    swapped = fault_of(tmp_path, b"".join([*lines[:first], lines[first + 1], lines[first], *lines[first + 2 :]]))
    assert (doubled.line, swapped.line) == (first + 2, first + 2)
    assert doubled.path == swapped.path == "task_id"
    foreign = fault_of(tmp_path, b"".join([*lines[:first], lines[last], *lines[first:]]))
    assert (foreign.line, foreign.path) == (first + 1, "task_id")
    late = fault_of(tmp_path, b"".join([*lines, lines[last]]))
    assert (late.line, late.kind) == (len(lines) + 1, "truth")


def changed(data: bytes, number: int, change: Callable[[dict[str, Any]], object]) -> tuple[bytes, int]:
    """The file with another n-th truth, and that line's number."""
    lines = lines_of(data)
    place = [i for i, line in enumerate(lines) if line.startswith(TRUTH)][number]
    document = json.loads(lines[place])["truth"]
    change(document)
    lines[place] = wrapped("truth", canonical_bytes(document)) + b"\n"
    return b"".join(lines), place + 1


def test_another_truth_than_the_committed_one_is_found(full: bytes, tmp_path: Path) -> None:
    truths = truths_in(full)

    def of_the_next(document: dict[str, Any]) -> None:
        document |= {name: value for name, value in truths[1].items() if name != "task_id"}

    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda one: one["truth"].update(verdict="ALLOW" if one["truth"]["verdict"] == "BLOCK" else "BLOCK"),
        lambda one: one.update(random="0" * 64),
        lambda one: one.update(reference={"text": "x"}),
        of_the_next,
    ]
    for change in changes:
        data, line = changed(full, 0, change)
        assert fault_of(tmp_path, data).line == line


def test_a_forger_who_commits_to_another_truth_is_found_by_its_scores(full: bytes, tmp_path: Path) -> None:
    committed = next(one for one in truths_in(full) if one.get("truth", {}).get("verdict") == "BLOCK")
    random, truth = committed["random"], {**committed["truth"], "verdict": "REVIEW"}
    number = truths_in(full).index(committed)

    def commit(document: dict[str, Any]) -> None:
        task = next(task for task in document["tasks"] if task["task_id"] == committed["task_id"])
        task["truth_sha256"] = sha256_hex(bytes.fromhex(random) + canonical_bytes(truth))

    data, _ = changed(with_document(full, "input", commit), number, lambda one: one.update(truth=truth))
    fault = fault_of(tmp_path, data)
    assert (fault.kind, fault.what) == ("outcome", "does not follow from input, groups and answers")


def members(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that were scored by the curated truths, which nobody sees."""
    return [one for one in document["members"] if one.get("emission") and "pi" in one["emission"]["axes"]]


def raise_bonus(document: dict[str, Any]) -> None:
    members(document)[0]["emission"]["early_bonus"] += 0.1


def raise_all(document: dict[str, Any]) -> None:
    member = members(document)[0]
    member["window_entry"] *= 2
    member["emission"]["emission"] *= 2


def flatter(document: dict[str, Any]) -> None:
    members(document)[0]["emission"]["axes"]["eta"] = 0.5


@pytest.mark.parametrize("change", [raise_bonus, raise_all, flatter])
def test_what_needs_no_truth_is_computed_again_without_one(
    public: bytes, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    fault = fault_of(tmp_path, with_document(public, "outcome", change))
    assert (fault.kind, fault.path.split("[")[0]) == ("outcome", "members")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda task: task.update(truth_random="0" * 64), "truth_random"),
        (lambda task: task.update(truth=curated_truth()), "truth_sha256"),
        (lambda task: task.update(goal={**task["goal"], "reference": {"text": "x"}}), "truth_sha256"),
        (lambda task: task.pop("truth_sha256"), "goal.reference"),
    ],
)
def test_an_input_that_contradicts_itself_is_found(
    public: bytes, tmp_path: Path, change: Callable[[dict[str, Any]], object], path: str
) -> None:
    workflow = path == "goal.reference" or "goal" in change.__code__.co_names + change.__code__.co_consts

    def of_a_task(document: dict[str, Any]) -> None:
        change(next(task for task in document["tasks"] if (task["kind"] == "workflow") == workflow))

    fault = fault_of(tmp_path, with_document(public, "input", of_a_task))
    assert (fault.kind, fault.path.split(".", 1)[1]) == ("input", path)


def curated_truth() -> dict[str, Any]:
    truth: dict[str, Any] = msgspec.to_builtins(secret_tasks()[0].task.truth)
    return truth


@pytest.mark.parametrize("axes", [{"alpha": 1.0}, {"pi": 1.5}, {"pi": -0.5}])
async def test_axes_that_no_truth_gives_are_found_whatever_follows_from_them(
    folder: Path, public: bytes, tmp_path: Path, axes: dict[str, float]
) -> None:
    """Let the miners of ALLOW and of BLOCK both be right, or find more rules than there are, and pay them for it."""
    async with open_store(f"sqlite:///{folder}/store.sqlite") as store, store.read() as tx:
        stored, results = await tx.rounds.get(0), await tx.submissions.results(0)
    assert stored is not None
    frozen, outcome = stored.input, stored.outcome
    assert frozen is not None
    assert outcome is not None
    task = next(one for one in frozen.tasks if isinstance(one, AssessmentTask) and one.provenance == "curated")
    assert task.truth is not None
    scores, claims = version(frozen.scoring_version), []
    for one in outcome.members:
        member = one
        if member.task_id == task.task_id and isinstance(member, AssessedMember) and member.emission:
            answer = next(one for one in results.answers(task.task_id, Submission) if one.hotkey == member.hotkey)
            standard = Standard(task.truth, "curated")
            facts = answer_facts(answer, member.consensus, standard, task, frozen.snapshot.epoch)
            emission = emission_of(scores, facts, member.emission.axes | axes)
            member = msgspec.structs.replace(member, emission=emission, window_entry=emission.emission)
        claims.append(member)
    members = msgspec.to_builtins(msgspec.structs.replace(outcome, members=tuple(claims)))["members"]
    fault = fault_of(tmp_path, with_document(public, "outcome", lambda document: document.update(members=members)))
    assert (fault.kind, fault.path.split("[")[0]) == ("outcome", "members")
