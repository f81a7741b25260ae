"""An audit file needs nothing but itself, and no byte of it can change unnoticed (SPEC 8; docs/auditors.md)."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from audit_file import Change, export, fault_of, forged, lines_of, other_round, verified, with_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workflow_builders import make_workflow
from world import VALIDATOR, World, honest, on_virtual_time, tasks_of_all_types

from sssa.log.lines import FaultError, NotAnAuditFileError
from sssa.log.verify import verify_file
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.document import document_bytes, seal, verify_document
from sssa.protocol.answer import Dispatch
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.limits import MAX_RECEIPT
from sssa.protocol.receipt import Receipt, wrapped
from sssa.protocol.signatures import Signer
from validator.miners.scripted import ScriptedReply
from validator.rounds.receipts import close_epoch
from validator.store import open_store
from validator.tasks.source import MemorySource

TEMPO = 5_000
FLIPS = 500


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An export of three rounds in two epochs, closed at the end; one miner answers garbage."""
    folder = tmp_path_factory.mktemp("log")
    return asyncio.run(_make(folder))


async def _make(folder: Path) -> bytes:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = World(
            store, miners=4, source=MemorySource(tasks_of_all_types()[3:5]), tempo=TEMPO, script=one_is_broken
        )
        for pause in (0, 0, TEMPO + 1):
            await world.clock.advance(pause)
            await on_virtual_time(world, world.service.one_round())
        assert await close_epoch(store, VALIDATOR, world.clock)
        return _read(await export(store, folder / "log.jsonl"))


def _read(path: Path) -> bytes:
    return path.read_bytes()


def one_is_broken(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    return ScriptedReply(b"{", seconds=0.5) if signer.hotkey == BROKEN else honest(signer, dispatch)


BROKEN = Signer.from_uri("//Miner//3").hotkey


def test_a_closed_log_verifies_to_the_last_draw(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes(whole)
    found = verify_file(path)
    assert (found.hotkey, found.first, found.last) == (VALIDATOR.hotkey, 0, 4)
    assert (dict(found.rounds), found.pending, found.tasks, found.answers, found.proofs) == (
        {"settled": 3},
        0,
        6,
        18,
        6,
    )
    assert found.head == sha256_hex(lines_of(whole)[-1][:-1])
    assert verify_file(path, VALIDATOR.hotkey) == found
    with pytest.raises(FaultError, match="line 1, receipt, validator_hotkey"):
        verify_file(path, BROKEN)


@pytest.mark.timeout(240)
def test_any_changed_byte_is_found_in_its_line(whole: bytes, tmp_path: Path) -> None:
    draw = random.Random(20260101)
    for _ in range(FLIPS):
        place, bit = draw.randrange(len(whole)), 1 << draw.randrange(8)
        damaged = bytearray(whole)
        damaged[place] ^= bit
        assert fault_of(tmp_path, bytes(damaged)).line == whole.count(b"\n", 0, place) + 1, (place, bit)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_other_byte_in_any_place_is_found_in_its_line(whole: bytes, tmp_path: Path, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda value: value != whole[place]))
    damaged = whole[:place] + bytes([value]) + whole[place + 1 :]
    assert fault_of(tmp_path, damaged).line == whole.count(b"\n", 0, place) + 1


def test_missing_repeated_and_exchanged_lines_are_found_where_they_are(whole: bytes, tmp_path: Path) -> None:
    lines = lines_of(whole)
    for i in range(1, len(lines) - 1):  # without its first or last receipt a log is a part of a log
        assert fault_of(tmp_path, b"".join(lines[:i] + lines[i + 1 :])).line == i + 1, i
    for i in range(len(lines)):
        assert fault_of(tmp_path, b"".join(lines[: i + 1] + lines[i:])).line == i + 2, i
    for i in range(1, len(lines) - 1):
        swapped = [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]]
        assert fault_of(tmp_path, b"".join(swapped)).line == i + 1, i


def test_a_file_mixed_from_two_logs_of_one_validator_parts_where_the_other_begins(whole: bytes, tmp_path: Path) -> None:
    ours, others = lines_of(whole), lines_of(forged(whole, 0, lambda receipt: receipt))  # the same, signed again
    assert verified(tmp_path, b"".join(others)) is not None
    for i in range(1, len(ours)):
        next_receipt = next((j for j in range(i, len(ours)) if ours[j] != others[j]), None)
        if next_receipt is not None:
            assert fault_of(tmp_path, b"".join(ours[:i] + others[i:])).line == next_receipt + 1, i


def test_a_file_that_ends_too_early_says_where(whole: bytes, tmp_path: Path) -> None:
    lines = lines_of(whole)
    cut = fault_of(tmp_path, whole[:-1])
    assert (cut.line, cut.what) == (len(lines), "the file ends inside this line: it was cut off")
    before_the_plan = fault_of(tmp_path, b"".join(lines[:3]))
    assert (before_the_plan.line, before_the_plan.kind, before_the_plan.round_id) == (4, "plan", "0")
    assert "missing" in before_the_plan.what


def test_receipts_cut_away_at_an_end_leave_a_part_of_the_log(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shorter.jsonl"
    path.write_bytes(b"".join(lines_of(whole)[:-1]))
    found = verify_file(path)
    assert (found.first, found.last, found.pending) == (0, 3, 1)
    path.write_bytes(b"".join(lines_of(whole)[1:]))
    assert verify_file(path).first == 1


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        (lambda data: data.replace(b"\n", b"\r\n"), 1, "CR LF"),
        (lambda data: b"\xef\xbb\xbf" + data, 1, "byte order mark"),
        (lambda data: data + b"\n", None, "no line of an audit file"),
        (lambda data: data + b'{"note":{}}\n', None, "no receipt names this line"),
        (lambda data: data + b'{"receipt":{}}\n', None, "missing required field"),
        (lambda data: data + b'{"receipt":' + b"[" * 100 + b"}\n", None, "64 levels"),
        (lambda data: data + b'{"receipt":"' + b"x" * 2_000_000 + b'"}\n', None, "longer than"),
    ],
)
def test_other_damage_is_told_in_words(
    whole: bytes, tmp_path: Path, change: Callable[[bytes], bytes], line: int | None, what: str
) -> None:
    fault = fault_of(tmp_path, change(whole))
    assert fault.line == (line or whole.count(b"\n") + 1)
    assert what in str(fault)


def test_a_line_without_end_is_not_read_whole(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.write(whole)
        file.truncate(len(whole) + 2 * MAX_RECEIPT)
    with pytest.raises(FaultError, match=f"longer than {MAX_RECEIPT} bytes"):
        verify_file(path)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"{}\n", b'{"round_id": "0"}\n', b"\x1f\x8b\x08" + b"\0" * 100, b'["receipt"]']
)
def test_other_files_are_no_audit_files(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(NotAnAuditFileError):
        verified(tmp_path, data)


FORGERIES: dict[str, tuple[int, Callable[[Receipt], Receipt]]] = {
    "sequence": (2, lambda r: msgspec.structs.replace(r, sequence=7)),
    "round.round_id": (2, lambda r: other_round(r, round_id="2")),
    "kind": (1, lambda r: msgspec.structs.replace(r, kind="closing")),
    "next_commitment": (3, lambda r: msgspec.structs.replace(r, next_commitment=r.commitment)),
    "commitment": (2, lambda r: msgspec.structs.replace(r, next_commitment="0" * 64)),
    "salts": (3, lambda r: msgspec.structs.replace(r, salts=())),
    "salts[0].salt": (
        3,
        lambda r: msgspec.structs.replace(r, salts=(msgspec.structs.replace(r.salts[0], salt="0" * 64),)),
    ),
    "salts[0].epoch": (3, lambda r: msgspec.structs.replace(r, salts=(msgspec.structs.replace(r.salts[0], epoch=99),))),
    "round.epoch": (1, lambda r: other_round(r, epoch=99)),
    "round.lines": (1, lambda r: other_round(r, state="void")),
    "issued_at": (1, lambda r: msgspec.structs.replace(r, issued_at="yesterday")),
}


@pytest.mark.parametrize("path", FORGERIES)
def test_a_validator_that_signs_something_else_is_found_out(whole: bytes, tmp_path: Path, path: str) -> None:
    assert verified(tmp_path, forged(whole, 0, lambda receipt: receipt)) is not None
    fault = fault_of(tmp_path, forged(whole, *FORGERIES[path]))
    assert (fault.kind, fault.path) == ("receipt", path)


def _first(document: dict[str, object], *path: str | int) -> dict[str, object]:
    found: object = document
    for key in path:
        found = found[key]  # type: ignore[index]
    assert isinstance(found, dict)
    return found


def _swap(group: dict[str, object]) -> None:
    group["primaries"], group["auditors"] = [*group["primaries"][1:], *group["auditors"]], [group["primaries"][0]]  # type: ignore[index,misc]


WRONG: dict[str, tuple[str, str, Change]] = {
    "drawn by hand": ("plan", "groups[0]", lambda d: _swap(_first(d, "groups", 0))),
    "another reputation": (
        "input",
        "groups[0]",
        lambda d: _first(d, "miners", 0)["reputations"].update(declarative=0.1),  # type: ignore[attr-defined]
    ),
    "a past nobody knows of": (
        "input",
        "miners[0].reputations",
        lambda d: _first(d, "miners", 0)["reputations"].update(agent_composition=0.9),  # type: ignore[attr-defined]
    ),
    "a flag nobody raised": ("input", "miners[0].flags", lambda d: _first(d, "miners", 0).update(flags=1)),
    "another task": ("input", "tasks[0].task_id", lambda d: _first(d, "tasks", 0).update(source_sha256="0" * 64)),
    "a goal in an assessment": (
        "input",
        "",
        lambda d: _first(d, "tasks", 0).update(goal=msgspec.to_builtins(make_workflow())),
    ),
    "another salt": ("input", "salt_commitment", lambda d: d.update(salt_commitment="0" * 64)),
    "an answer left out": ("answers", "", lambda d: d["rejections"].pop()),  # type: ignore[attr-defined]
    "a miner twice": ("input", "miners[1].hotkey", lambda d: d["miners"].insert(0, d["miners"][0])),  # type: ignore[attr-defined,index]
    "judged after the deadline": (
        "answers",
        "rejections[0].seconds",
        lambda d: _first(d, "rejections", 0).update(reason="parse_schema", seconds=100_000.0),
    ),
    "no gate": ("answers", "rejections[0].reason", lambda d: _first(d, "rejections", 0).update(reason="settled")),
    "a better score": ("outcome", "members[0]", lambda d: _first(d, "members", 0).update(window_entry=9.5)),
    "an answer as a plan": ("outcome", "", lambda d: _first(d, "members", 0).update(kind="ran")),
    "another version": ("outcome", "scoring_version", lambda d: d.update(scoring_version="9")),
}


@pytest.mark.parametrize("case", WRONG)
def test_groups_and_scores_that_do_not_follow_are_found_out(whole: bytes, tmp_path: Path, case: str) -> None:
    kind, path, change = WRONG[case]
    fault = fault_of(tmp_path, with_document(whole, kind, change))
    assert fault.path == path
    assert fault.round_id == "0"


@pytest.mark.parametrize(
    ("bound", "what"),
    [
        ("verify.MAX_LOG_TASKS", "input of round 0, tasks: 2 of them, at most 0"),
        ("verify.MAX_LOG_MINERS", "input of round 0, miners: 4 of them, at most 0"),
        ("verify.MAX_LOG_HOTKEYS", "line 2, receipt: more than 0 miners in one file"),
        ("verify.MAX_LOG_SALTS", "receipt: more than 0 salts in one file"),
    ],
)
def test_more_than_any_log_has_is_refused(
    whole: bytes, tmp_path: Path, bound: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"sssa.log.{bound}", 0)
    assert what in str(fault_of(tmp_path, whole))


@pytest.mark.parametrize(("role", "most"), [("primaries", 3), ("auditors", 2)])
def test_a_group_larger_than_any_is_refused_before_its_members_are_compared(
    whole: bytes, tmp_path: Path, role: str, most: int
) -> None:
    larger = with_document(whole, "plan", lambda d: _first(d, "groups", 0).update({role: ["x"] * (most + 1)}))
    fault = fault_of(tmp_path, larger)
    assert (fault.path, fault.what) == ("groups[0]", "more than 3 primaries or 2 auditors")


def test_a_proof_that_does_not_follow_from_the_answers_is_found_out(whole: bytes, tmp_path: Path) -> None:
    fault = fault_of(tmp_path, with_proof(whole, lambda stored: setattr(stored.votes[0], "confidence", 0.125)))
    assert (fault.kind, fault.what) == ("proof", "does not follow from the answers")
    assert fault.path.endswith(".votes[0].confidence")


@pytest.mark.parametrize(("name", "index"), [("supporting_agents", 0), ("dissenting_agents", 0)])
def test_a_proof_whose_lists_the_validator_changed_and_signed_anew_is_found_at_its_place(
    whole: bytes, tmp_path: Path, name: str, index: int
) -> None:
    forged_log = with_proof(whole, lambda stored: setattr(stored, name, ["5Somebody", *getattr(stored, name)]))
    line = next(i for i, data in enumerate(lines_of(forged_log), 1) if data.startswith(b'{"proof":'))
    fault = fault_of(tmp_path, forged_log)
    assert (fault.line, fault.kind, fault.what) == (line, "proof", "does not follow from the answers")
    assert fault.path.endswith(f".{name}[{index}]")


def with_proof(whole: bytes, change: Callable[[ConsensusProof], object]) -> bytes:
    """A log in which the validator itself wrote another first proof, with all that names it."""
    lines = [data[:-1] for data in lines_of(whole)]
    place = next(i for i, data in enumerate(lines) if data.startswith(b'{"proof":'))
    stored = verify_document(lines[place][len(b'{"proof":') : -1]).proof
    change(stored)
    sealed = seal(stored, VALIDATOR)
    lines[place] = wrapped("proof", document_bytes(sealed)[:-1])

    def name(receipt: Receipt) -> Receipt:
        assert receipt.round is not None
        first, *others = receipt.round.lines.proofs
        changed = msgspec.structs.replace(first, checksum=sealed["checksum"], sha256=sha256_hex(lines[place]))
        return other_round(receipt, lines=msgspec.structs.replace(receipt.round.lines, proofs=(changed, *others)))

    return forged(b"".join(data + b"\n" for data in lines), 1, name)


@pytest.mark.parametrize("kept", [0, 1])
def test_each_task_with_answers_has_its_proof(whole: bytes, tmp_path: Path, kept: int) -> None:
    def fewer(receipt: Receipt) -> Receipt:
        assert receipt.round is not None
        lines = receipt.round.lines
        return other_round(receipt, lines=msgspec.structs.replace(lines, proofs=lines.proofs[:kept]))

    fault = fault_of(tmp_path, forged(whole, 1, fewer))
    assert "names no proof of task" in fault.what
