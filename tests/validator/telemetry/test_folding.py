"""Repeated log lines are counted, not written."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from sssa.sources import VirtualClock
from validator.settings.model import ROOMS
from validator.telemetry import Event, configure_logging
from validator.telemetry.log import MOST, Folding, LibraryFolding

HOUR = 3600.0
SOURCE = Path(__file__).parents[3] / "validator"


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.setLevel(logging.INFO)
    yield
    configure_logging("info", "json", io.StringIO())  # rooms' levels are taken back
    structlog.reset_defaults()
    root.handlers[:], level = before
    root.setLevel(level)


def folded(folding: Folding, event: Event, /, **fields: Any) -> dict[str, Any] | None:
    logger = logging.getLogger("validator.test")
    try:
        return dict(folding(logger, "info", {"event": str(event), **fields}))
    except structlog.DropEvent:
        return None


async def test_the_same_is_said_once_an_hour_with_a_count() -> None:
    clock = VirtualClock()
    folding = Folding(clock)
    line = {"hotkey": "a", "reason": "deadline_connect"}
    assert folded(folding, Event.DISPATCH, task_id="1", **line) == {"event": "dispatch", "task_id": "1", **line}
    assert [folded(folding, Event.DISPATCH, task_id=str(n), **line) for n in range(5)] == [None] * 5
    other = folded(folding, Event.DISPATCH, hotkey="b", reason="deadline_connect")
    assert other is not None
    await clock.advance(HOUR)
    again = folded(folding, Event.DISPATCH, task_id="9", **line)
    assert again is not None
    assert again["repeats"] == 5


def test_events_that_count_are_never_folded_nor_is_anything_for_who_looks_closely() -> None:
    folding = Folding(VirtualClock())
    for event in Event:
        if event.folds is None:
            assert folded(folding, event) == folded(folding, event) == {"event": str(event)}
    logging.getLogger("validator.test").setLevel(logging.DEBUG)
    assert all(folded(folding, Event.DISPATCH, hotkey="a", reason="x") for _ in range(3))


def test_a_loop_that_lags_all_the_time_is_a_line_an_hour() -> None:
    folding = Folding(VirtualClock())
    told = [folded(folding, Event.LOOP_LAG, seconds=late) for late in (0.6, 0.7, 0.8)]
    assert [line is not None for line in told] == [True, False, False]


def test_errors_of_ours_are_told_apart_by_their_place() -> None:
    folding, found = Folding(VirtualClock()), []
    for number in (1, 2, 1, 2):
        try:
            if number == 1:
                raise ValueError
            raise KeyError
        except (ValueError, KeyError):
            found.append(folded(folding, Event.DISPATCH_FAILED, hotkey=str(number), exc_info=True))
    assert [line is not None for line in found] == [True, True, False, False]


def test_what_is_remembered_is_bounded() -> None:
    folding = Folding(VirtualClock())
    for number in range(MOST + 1):
        assert folded(folding, Event.DISPATCH, hotkey=str(number), reason="x")
    assert len(folding._repeats) == MOST
    assert folded(folding, Event.DISPATCH, hotkey="0", reason="x")  # forgotten: news again
    assert folded(folding, Event.DISPATCH, hotkey=str(MOST), reason="x") is None


async def test_libraries_warnings_are_folded_by_what_they_say_and_where() -> None:
    clock = VirtualClock()
    folding = LibraryFolding(clock)

    def written(level: int, text: str, *args: object) -> str | None:
        record = logging.LogRecord("sqlalchemy.pool", level, "", 1, text, args, None)
        return record.getMessage() if folding.filter(record) else None

    assert written(logging.ERROR, "lost %s", 1) == "lost 1"
    assert written(logging.ERROR, "lost %s", 2) is None
    assert written(logging.WARNING, "lost %s", 2) == "lost 2"
    assert [written(logging.INFO, "talk") for _ in range(2)] == ["talk"] * 2
    retries = [written(logging.WARNING, f"All endpoints unreachable; retrying in {delay}s") for delay in (1, 2, 16)]
    assert retries == ["All endpoints unreachable; retrying in 1s", None, None]
    await clock.advance(HOUR)
    assert written(logging.ERROR, "lost %s", "100 %") == "lost 100 % (1 more since the last line)"


def test_a_room_has_a_level_of_its_own() -> None:
    out = io.StringIO()
    configure_logging("warning", "json", out, rooms={"rounds": "debug", "weights": "error"})
    for name in ("rounds.sending", "rounds.service", "weights.service", "tasks.http"):
        for level in (logging.DEBUG, logging.WARNING):
            logging.getLogger(f"validator.{name}").log(level, "%s %s", name, level)
    lines = [json.loads(line)["message"] for line in out.getvalue().splitlines()]
    assert lines == [
        "rounds.sending 10",
        "rounds.sending 30",
        "rounds.service 10",
        "rounds.service 30",
        "tasks.http 30",
    ]


def test_every_room_that_logs_can_be_set() -> None:
    rooms = {path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py") if "get_logger()" in path.read_text()}
    assert rooms - {"telemetry"} == set(ROOMS)
