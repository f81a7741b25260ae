"""Two exports of one log are one history, however much of it each has; two signed histories are distinguished."""

import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from audit_file import export, forged, lines_of, receipt_of
from world import VALIDATOR, World, on_virtual_time, tasks_of_all_types

from sssa.log.comparing import Compared, InFileError, compare_files
from sssa.log.lines import NotAnAuditFileError
from sssa.protocol.receipt import Receipt, line
from sssa.protocol.signatures import Signer
from sssa.protocol.times import format_time, parse_time
from validator.rounds.receipts import close_epoch
from validator.store import open_store
from validator.tasks.source import MemorySource


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A log of four rounds: as it was after two, whole, and from round 2 on."""
    return asyncio.run(_make(tmp_path_factory.mktemp("log")))


async def _make(folder: Path) -> dict[str, bytes]:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = World(store, miners=3, source=MemorySource(tasks_of_all_types()[3:4]))
        for number in range(4):
            await on_virtual_time(world, world.service.one_round())
            if number == 1:
                await export(store, folder / "early")
        assert await close_epoch(store, VALIDATOR, world.clock)
        await export(store, folder / "whole")
        await export(store, folder / "since", 2)
    return {name: _read(folder / name) for name in ("early", "whole", "since")}


def _read(path: Path) -> bytes:
    return path.read_bytes()


def compared(folder: Path, a: bytes, b: bytes) -> Compared:
    (folder / "a").write_bytes(a)
    (folder / "b").write_bytes(b)
    return compare_files(folder / "a", folder / "b")


def later(receipt: Receipt) -> Receipt:
    """The receipt, issued a second later: the next one still is not before it."""
    moment = parse_time(receipt.issued_at, "issued_at") + timedelta(seconds=1)
    return msgspec.structs.replace(receipt, issued_at=format_time(moment))


def test_one_log_is_one_history_however_much_of_it_a_file_has(exports: dict[str, bytes], tmp_path: Path) -> None:
    steps: list[int] = []
    early, whole, since = exports["early"], exports["whole"], exports["since"]
    found = compared(tmp_path, whole, whole)
    assert (found.relation, found.longer, found.common, found.one_history) == ("same", None, 6, True)
    found = compared(tmp_path, early, whole)
    assert (found.relation, found.longer, found.common) == ("prefix", "b", 3)
    assert [place.sequence for place in found.last] == [2, 5]
    assert compared(tmp_path, whole, early).longer == "a"
    found = compared(tmp_path, whole, since)
    assert (found.relation, found.common, [place.sequence for place in found.first]) == ("same", 3, [0, 3])
    found = compared(tmp_path, since, early)  # one begins where the other ends
    assert (found.relation, found.longer, found.common) == ("prefix", "a", 0)
    compare_files(tmp_path / "a", tmp_path / "b", steps.append)
    assert steps == sorted(steps)
    assert steps[-1] == len(since) + len(early)


def test_two_histories_of_one_validator_are_told_apart_where_they_part(
    exports: dict[str, bytes], tmp_path: Path
) -> None:
    whole, since = exports["whole"], exports["since"]
    other = forged(whole, 2, later)
    for a, b in ((whole, other), (other, since)):
        found = compared(tmp_path, a, b)
        assert (found.relation, found.one_history) == ("forked", False)
    found = compared(tmp_path, whole, other)
    assert [(place.sequence, place.round_id) for place in found.last] == [(2, "1")] * 2
    assert (
        found.last[0].line == found.last[1].line == 1 + [*map(_kind, lines_of(whole))].index("receipt", _nth(whole, 2))
    )
    assert found.last[1].issued_at > found.last[0].issued_at
    found = compared(tmp_path, exports["early"], other)  # the last one that the other file has is another
    assert (found.relation, found.common) == ("forked", 2)


def _kind(data: bytes) -> str:
    return data[2 : data.index(b'"', 2)].decode()


def _nth(whole: bytes, number: int) -> int:
    return [i for i, data in enumerate(lines_of(whole)) if _kind(data) == "receipt"][number]


def test_nothing_is_said_of_files_that_do_not_meet(exports: dict[str, bytes], tmp_path: Path) -> None:
    early = lines_of(exports["early"])
    shorter = b"".join(early[: _nth(exports["early"], 2)])
    for a, b in ((shorter, exports["since"]), (exports["since"], shorter)):
        found = compared(tmp_path, a, b)
        assert (found.relation, found.common, found.one_history) == ("apart", 0, False)
    # Receipt 3 of another history does not follow the receipt 2 of this one.
    other = lines_of(forged(exports["whole"], 1, later))
    cut = b"".join(other[_nth(exports["whole"], 3) :])
    assert compared(tmp_path, exports["early"], cut).relation == "apart"


def test_what_does_not_hold_is_named_with_its_file(exports: dict[str, bytes], tmp_path: Path) -> None:
    whole = exports["whole"]
    lines = lines_of(whole)
    third = _nth(whole, 2)
    cut = b"".join(lines[:third] + lines[third + 1 :])
    with pytest.raises(InFileError, match="missing, repeated or out of order") as caught:
        compared(tmp_path, whole, cut)
    assert caught.value.file == tmp_path / "b"
    with pytest.raises(InFileError, match="the file ends inside this line"):
        compared(tmp_path, whole[:-5], whole)
    stranger = Signer.from_uri("//Somebody")
    first = msgspec.structs.replace(receipt_of(lines[0][:-1]), validator_hotkey=stranger.hotkey)
    with pytest.raises(InFileError, match="the other file is the log of") as caught:
        compared(tmp_path, whole, line("receipt", stranger.sign_document(first)) + b"\n")
    assert caught.value.file == tmp_path / "b"
    with pytest.raises(NotAnAuditFileError):
        compared(tmp_path, whole, b"{}\n" * 20)
    with pytest.raises(NotAnAuditFileError):
        compared(tmp_path, b"", whole)
