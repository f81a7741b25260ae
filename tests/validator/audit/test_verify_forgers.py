"""A validator that forges its own log, derives everything anew from the lie and signs it (SPEC 16, D-28)."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from audit_file import export, lines_of, with_document
from sqlalchemy import text
from task_builders import make_task
from world import World, honest, on_virtual_time

from sssa.kinds.assessment.checks import checks_of
from sssa.kinds.assessment.gates import first_failure
from sssa.log.folders import Folder, Given, GivenError
from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.log.verify_report import Verified
from sssa.protocol.answer import Dispatch
from sssa.protocol.bundles import index_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.limits import MAX_BUNDLE_COMPRESSED
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from sssa.protocol.round import AssessmentTask, ClearedFlag, FlagsCleared
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from validator.miners import scripted
from validator.miners.scripted import ScriptedReply
from validator.store import Store, open_store
from validator.tasks.source import MemorySource

FILES = {"a.py": b"print(1)\n", "README.md": b"# Read\n"}
BROKEN, SILENT = (Signer.from_uri(f"//Miner//{number}").hotkey for number in (0, 1))
MARKED = make_task(
    FILES, skill_type=SkillType.DECLARATIVE, canary="README.md", windows=Windows((0.0, 60.0), (0.0, 60.0))
)
PLAIN = make_task({**FILES, "b.py": b""}, skill_type=SkillType.EXECUTABLE_PYTHON)
TYPE = SkillType.DECLARATIVE
ROOM = "sssa.kinds.assessment"


class Log(NamedTuple):
    """An export, and the folder with what its validator had next to it."""

    file: Path
    sent: Path


def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    if signer.hotkey == SILENT:
        return ScriptedReply(connects=False)
    return ScriptedReply(b"{", seconds=1.0) if signer.hotkey == BROKEN else honest(signer, dispatch)


Between = Callable[[Store, int], Awaitable[None]]


async def nothing(_store: Store, _round_id: int) -> None:
    """Do nothing between two rounds."""


def written(folder: Path, between: Between = nothing, rounds: int = 1) -> Log:
    """Play rounds with a broken miner and one that cannot be reached; `between` is called after each."""
    return asyncio.run(_written(folder, between, rounds))


async def _written(folder: Path, between: Between, rounds: int) -> Log:
    sent = folder / "sent"
    sent.mkdir()

    def noted(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        reply = script(signer, dispatch)
        if reply.connects:
            (sent / sha256_hex(reply.body)).write_bytes(reply.body)
        return reply

    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = World(store, miners=5, source=MemorySource([MARKED, PLAIN]), script=noted)
        for round_id in range(rounds):
            await on_virtual_time(world, world.service.one_round())
            await between(store, round_id)
        async with store.read() as tx:
            for (data,) in await tx.connection.execute(text("SELECT data FROM bundles")):
                (sent / sha256_hex(data)).write_bytes(data)
        for task in (MARKED, PLAIN):
            (sent / f"{task.task.bundle_sha256}.json").write_bytes(msgspec.json.encode(task.task))
        return Log(await export(store, folder / "log.jsonl"), sent)


def given(log: Log) -> Given:
    folder = Folder(log.sent)
    return Given(bundles=folder, tasks=folder, answers=folder)


def fault_of(log: Log, given_files: Given | None = None) -> FaultError:
    with pytest.raises(FaultError) as caught:
        verify_file(log.file, given=given_files)
    return caught.value


def document(log: Log, kind: str) -> Any:
    lines = log.file.read_bytes().splitlines()
    return next(json.loads(line)[kind] for line in lines if line.startswith(b'{"%s":' % kind.encode()))


def line_of(log: Log, kind: str, which: int = 0) -> int:
    starts = [
        i for i, line in enumerate(lines_of(log.file.read_bytes()), 1) if line.startswith(b'{"%s"' % kind.encode())
    ]
    return starts[which]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return written(tmp_path_factory.mktemp("told"))


def test_a_reader_sees_how_much_of_a_log_rests_on_it(log: Log) -> None:
    alone = verify_file(log.file)
    answers, plan = document(log, "answers"), document(log, "plan")
    members = sum(len(group["primaries"]) + len(group["auditors"]) for group in plan["groups"])
    why = Counter(
        {"deadline_connect": "unreachable", "parse_schema": "not parsed"}[r["reason"]] for r in answers["rejections"]
    )
    assert alone.dispatches == members == 10
    assert (alone.unshown, alone.answers) == (dict(why), len(answers["submissions"]))
    assert alone.dispatches - sum(alone.unshown.values()) == alone.answers == 6
    traced = sum(one["checks"]["traces"] is not None for one in answers["submissions"])
    assert alone.on_word == {
        "arrival times": 6,
        "declarations": 5,
        "probes": 6,
        "snapshots": 1,
        "traces": traced,
        "windows": 1,
    }


def test_what_is_given_beside_the_file_is_held_against_it(log: Log) -> None:
    found: Verified = verify_file(log.file, given=given(log))
    assert found.given["answers"] == 8
    assert found.given["bundles"] == found.given["tasks"] == 2
    assert found.unshown == {"unreachable": 2}
    assert "traces" not in found.on_word


def inverted(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    def lie(patch: pytest.MonkeyPatch) -> None:
        true = checks_of

        def lies(*args: Any) -> Any:
            checks = true(*args)
            said = getattr(checks, name)
            return checks if said is None else msgspec.structs.replace(checks, **{name: not said})

        patch.setattr(f"{ROOM}.judge.checks_of", lies)

    return lie


@pytest.mark.parametrize("name", ["evidence_resolves", "canary"])
def test_an_inverted_check_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    inverted(name)(monkeypatch)
    log = written(tmp_path)
    monkeypatch.undo()
    found = fault_of(log)
    assert (found.line, found.kind, found.path) == (line_of(log, "answers"), "answers", f"submissions[0].checks.{name}")


def test_windows_that_are_not_the_versions_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = AssessmentTask

    def lies(**fields: Any) -> Any:
        own = fields["own_windows"]
        return true(**fields if own else {**fields, "windows": Windows((0.0, 99.0), (0.0, 9.0))})

    monkeypatch.setattr("validator.kinds.assessment.supply.AssessmentTask", lies)
    log = written(tmp_path)
    monkeypatch.undo()
    found = fault_of(log)
    assert (found.line, found.kind, found.path) == (line_of(log, "input"), "input", "tasks[1].windows")


def test_an_index_that_is_not_that_of_the_given_bundle_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = index_bundle

    def lies(files: Any) -> Any:
        return tuple(msgspec.structs.replace(entry, lines=entry.lines + 7) for entry in true(files))

    monkeypatch.setattr("validator.kinds.assessment.supply.index_bundle", lies)
    log = written(tmp_path)
    monkeypatch.undo()
    assert verify_file(log.file).answers == 6  # from the file alone nobody can tell
    found = fault_of(log, Given(bundles=Folder(log.sent)))
    assert (found.line, found.kind, found.path) == (line_of(log, "input"), "input", "tasks[0].index")


@pytest.mark.parametrize(
    ("field", "value"), [("windows", None), ("canary", None), ("skill_type", SkillType.MCP_SERVER)]
)
def test_a_task_that_is_not_the_given_one_is_found(log: Log, tmp_path: Path, field: str, value: object) -> None:
    other = msgspec.structs.replace(MARKED.task, **{field: value} | ({"canary": None} if field == "skill_type" else {}))
    (tmp_path / f"{MARKED.task.bundle_sha256}.json").write_bytes(msgspec.json.encode(other))
    found = fault_of(log, Given(tasks=Folder(tmp_path)))
    path = {"windows": "own_windows"}.get(field, field)
    assert (found.line, found.path) == (line_of(log, "input"), f"tasks[0].{path}")


def test_a_digest_that_the_given_answers_do_not_have_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lies(body: bytes, *, complete: bool) -> RawAnswer:
        return RawAnswer(sha256_hex(b"another" + body), len(body), complete)

    monkeypatch.setattr(scripted, "_raw", lies)
    log = written(tmp_path)
    monkeypatch.undo()
    assert verify_file(log.file).answers == 6
    found = fault_of(log, Given(answers=Folder(log.sent)))
    assert (found.line, found.kind) == (line_of(log, "answers"), "answers")
    assert found.path.startswith("raw[")
    assert "attestation" in found.what


def test_an_answer_of_which_the_gates_say_otherwise_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = first_failure
    monkeypatch.setattr(f"{ROOM}.judge.first_failure", lambda case: true(case) or judge_reason(case))
    log = written(tmp_path)
    monkeypatch.undo()
    assert verify_file(log.file).unshown["probes"] == 3
    found = fault_of(log, Given(answers=Folder(log.sent)))
    assert (found.line, found.kind) == (line_of(log, "answers"), "answers")
    assert "the gates say otherwise" in found.what


def judge_reason(case: Any) -> Any:
    """Return a failure of honest answers to one of the tasks."""
    return Reason.PROBES_ECHO if case.expected.task.skill_type is TYPE else None


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "large", "other"])
def test_a_hostile_folder_is_refused_and_nothing_outside_it_is_read(log: Log, tmp_path: Path, kind: str) -> None:
    name = document(log, "input")["tasks"][0]["bundle_sha256"]
    place = tmp_path / name
    match kind:
        case "link":
            place.symlink_to(log.sent / name)
        case "folder":
            place.mkdir()
        case "fifo":
            os.mkfifo(place)
        case "large":
            with place.open("wb") as file:
                file.truncate(MAX_BUNDLE_COMPRESSED + 1)
        case _:
            place.write_bytes(b"something else")
    with pytest.raises(GivenError, match=name):
        verify_file(log.file, given=Given(bundles=Folder(tmp_path)))


def test_a_clearing_of_flags_that_never_stood_is_found(log: Log) -> None:
    act = FlagsCleared(BROKEN, "2026-01-01T00:00:00Z", "a favour", (ClearedFlag(TYPE, "0"),))
    whole = log.file.read_bytes()
    forgery = log.file.with_name("forged.jsonl")
    plain = msgspec.to_builtins(act)
    forgery.write_bytes(with_document(whole, "input", lambda frozen: frozen.update(acts=[plain])))
    found = fault_of(Log(forgery, log.sent))
    assert (found.line, found.kind, found.path) == (line_of(log, "input"), "input", "acts[0].flags[0]")


@pytest.mark.parametrize(("kind", "field"), [("input", "acts"), ("input", "filled"), ("answers", "raw")])
def test_no_document_may_lack_a_field(tmp_path: Path, kind: str, field: str) -> None:
    log = written(tmp_path, rounds=2)
    whole, forgery = log.file.read_bytes(), tmp_path / "forged.jsonl"
    forgery.write_bytes(with_document(whole, kind, lambda document: document.pop(field), 1))
    found = fault_of(Log(forgery, log.sent))
    assert (found.line, found.kind) == (line_of(log, kind, 1), kind)
    assert f"required field `{field}`" in found.what


def cut_off(answers: Any) -> None:
    """Say of every whole answer that it was not."""
    answers["raw"] = [[one and [*one[:2], False] for one in of_task] for of_task in answers["raw"]]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda answers: answers["raw"].pop(), "raw"),
        (lambda answers: answers["raw"][0].pop(), "raw"),
        (cut_off, "raw["),
        (lambda answers: answers["rejections"][0].update(reason="traces_hash"), "rejections[0].reason"),
        (lambda answers: answers["submissions"][0].update(seconds=61.0), "submissions[0].seconds"),
        (lambda answers: answers["submissions"][0].update(semantic_subset=0.5), "submissions[0].semantic_subset"),
    ],
)
def test_answers_that_contradict_themselves_are_found(log: Log, change: Any, path: str) -> None:
    forgery = log.file.with_name("forged.jsonl")
    forgery.write_bytes(with_document(log.file.read_bytes(), "answers", change))
    found = fault_of(Log(forgery, log.sent))
    assert (found.line, found.kind) == (line_of(log, "answers"), "answers")
    assert found.path.startswith(path)
