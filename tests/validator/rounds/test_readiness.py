"""Missing resources of this machine delay rounds, and are reported with numbers until they exist."""

import resource
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders import V1

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon, MetagraphSnapshot, Neuron
from sssa.sources import VirtualClock
from validator.health.board import Board
from validator.rounds.readiness import (
    LEAST_FREE,
    Missing,
    Readiness,
    descriptor_check,
    disk_check,
    open_descriptors,
)

MIB = 1024 * 1024


def snapshot(miners: int) -> MetagraphSnapshot:
    neurons = tuple(Neuron(f"hk{i}", i, 1.0, False, Axon("127.0.0.1", 9000)) for i in range(miners))
    return MetagraphSnapshot(1, 1, "ab", 0, 0, 20, None, neurons)


def test_open_descriptors_are_counted() -> None:
    before = open_descriptors()
    with Path("/dev/null").open() as _one, Path("/dev/null").open() as _other:
        assert open_descriptors() == before + 2


@pytest.mark.parametrize(("miners", "requests"), [(0, 0), (1, 14), (3, 42), (5, 70), (200, 70)])
def test_the_limit_must_hold_what_a_round_of_these_miners_opens(
    monkeypatch: pytest.MonkeyPatch, miners: int, requests: int
) -> None:
    check = descriptor_check(lambda _epoch: V1.rules, 70, 32)
    need = open_descriptors() + 2 * requests + 24 + 32
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (need + 2, need + 2))
    assert check(snapshot(miners)) is None
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (need - 2, need + 2))
    missing = check(snapshot(miners))
    assert missing is not None
    assert missing.reason == Reason.LOCAL_DESCRIPTORS
    assert f"of {need - 2} file descriptors" in missing.detail
    resting = descriptor_check(lambda _epoch: V1.rules, 70, 32, open_descriptors() + 3)
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (need + 2, need + 2))
    assert resting(snapshot(miners)) is not None


def test_a_disk_must_hold_the_largest_answers_of_a_round_as_often_as_they_are_written_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    most = 2 * (3 * (4 * 16 + 2 * 4) + 2 * 6 * 4) * MIB  # primaries of runtime types send more
    for folders, times in (((tmp_path,), 1), ((tmp_path, tmp_path.parent), 2)):
        check = disk_check(lambda _epoch: V1.rules, folders)
        monkeypatch.setattr(shutil, "disk_usage", lambda _folder, n=times: SimpleNamespace(free=LEAST_FREE + n * most))
        assert check(snapshot(9)) is None
        monkeypatch.setattr(
            shutil, "disk_usage", lambda _folder, n=times: SimpleNamespace(free=LEAST_FREE + n * most - 1)
        )
        missing = check(snapshot(9))
        assert missing is not None
        assert missing.reason == Reason.LOCAL_DISK
        assert str(tmp_path.parent) in missing.detail


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    missing = disk_check(lambda _epoch: V1.rules, (tmp_path / "gone",))(snapshot(1))
    assert missing is not None
    assert missing.detail.endswith("gone: No such file or directory")


def test_the_board_shows_the_first_thing_and_forgets_it() -> None:
    board, lacking, waited = Board(VirtualClock()), [Missing(Reason.LOCAL_DISK, "1 MiB")], list[int]()
    ready = Readiness((lambda _: lacking[0] if lacking else None, lambda _: None), board, lambda: waited.append(1))
    assert ready.missing(snapshot(1)) == Missing(Reason.LOCAL_DISK, "1 MiB")
    assert [(one.condition.name, one.detail) for one in board.active()] == [("local_disk", "1 MiB")]
    lacking.clear()
    assert ready.missing(snapshot(1)) is None
    assert board.active() == ()
    assert waited == [1]
