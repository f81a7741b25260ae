import errno
import io
import json
import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from validator.settings.urls import SecretUrl
from validator.telemetry.log import MAX_ITEMS, MAX_TEXT, NOISY, configure_logging, harmless, log_state


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level, {name: logging.getLogger(name).level for name in NOISY}
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:], level, noisy = before
    root.setLevel(level)
    for name, old in noisy.items():
        logging.getLogger(name).setLevel(old)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_json_line_carries_time_level_context_and_fields() -> None:
    out = io.StringIO()
    configure_logging("info", "auto", out)
    structlog.contextvars.bind_contextvars(round_id="7")
    structlog.get_logger().info("dispatch", seconds=0.25, detail=None, path=Path("/a"))
    (line,) = lines(out)
    moment = datetime.fromisoformat(line.pop("timestamp"))
    assert moment.utcoffset() == datetime.now(UTC).utcoffset()
    assert line == {
        "event": "dispatch",
        "level": "info",
        "round_id": "7",
        "seconds": 0.25,
        "detail": None,
        "path": "/a",
    }


@pytest.mark.parametrize(
    ("form", "stream", "is_json"),
    [
        ("auto", io.StringIO, True),
        ("auto", Terminal, False),
        ("json", Terminal, True),
        ("console", io.StringIO, False),
    ],
)
def test_the_form_follows_the_terminal_unless_told(form: Any, stream: type[io.StringIO], is_json: bool) -> None:
    out = stream()
    configure_logging("info", form, out)
    structlog.get_logger().info("round_started")
    assert out.getvalue().startswith("{") is is_json
    assert "round_started" in out.getvalue()


def test_levels_hold_for_us_and_libraries_and_noise_needs_a_warning() -> None:
    out = io.StringIO()
    configure_logging("info", "json", out)
    structlog.get_logger().debug("unseen")
    logging.getLogger("aiohttp.access").info("unseen")
    logging.getLogger("aiosqlite").warning("seen %s", 1)
    logging.getLogger("elsewhere").info("seen 2")
    logging.getLogger("elsewhere").debug("unseen")
    said = [(line["event"], line["library"], line["message"]) for line in lines(out)]
    assert said == [("library", "aiosqlite", "seen 1"), ("library", "elsewhere", "seen 2")]


def test_calling_it_twice_writes_once() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logging("info", "json", first)
    configure_logging("error", "json", second)
    structlog.get_logger().error("x")
    structlog.get_logger().info("unseen")
    assert first.getvalue() == ""
    assert len(lines(second)) == 1


class Full(io.StringIO):
    """A stream on a disk that is full, until it is not."""

    full = True

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_a_stream_that_takes_nothing_is_one_line_until_it_takes_one_again(capfd: pytest.CaptureFixture[str]) -> None:
    out = Full()
    configure_logging("info", "json", out)
    for full in (True, True, False, True, True):
        out.full = full
        structlog.get_logger().info("round_started")
    reported = "the log cannot be written, its lines are lost: No space left on device; free its disk, or start the "
    again = "the log is written again; 2 lines were lost"
    assert capfd.readouterr().err.splitlines() == [
        f"{reported}program that reads it",
        again,
        f"{reported}program that reads it",
    ]
    assert [line["event"] for line in lines(out)] == ["round_started"]
    assert log_state().lost == 4


def test_a_reader_that_stops_costs_what_does_not_fit_and_nobody_waits() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as pipe, os.fdopen(writer, "w") as out:
        configure_logging("info", "json", out)
        for number in range(2_000):
            structlog.get_logger().info(f"e{number}", text="x" * 1_000)
        lost = log_state().lost
        assert 0 < lost < 2_000
        read = pipe.read(1 << 20)
        while b"e1999" not in read and read.count(b"\n") < 2_000 - lost:
            read += pipe.read(1 << 20)
        logging.getLogger().handlers[0].flush()
        assert log_state() == (lost, 0.0)
    whole = [json.loads(line)["event"] for line in read.splitlines()]
    assert whole == [f"e{number}" for number in range(2_000 - lost)]


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_shows_no_locals_and_no_control_characters(form: Any) -> None:
    out = io.StringIO()
    configure_logging("info", form, out)
    salt = "hunter" + str(2)
    try:
        raise ValueError("bad\x1b[31m\u202e" + "x" * 5_000)
    except ValueError:
        structlog.get_logger().exception("round_failed")
        logging.getLogger("library").exception("failed \x1b")
    text = out.getvalue()
    assert text.count("ValueError") >= 2
    assert salt not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "x" * (MAX_TEXT + 1) not in text
    if form == "json":
        frame = lines(out)[0]["exception"][0]
        assert frame["exc_type"] == "ValueError"
        assert frame["frames"][-1]["name"] == "test_a_traceback_shows_no_locals_and_no_control_characters"


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class Endless(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no")


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.builds(Hostile)
    | st.builds(Endless),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=30,
)


@given(st.text(), ANYTHING)
def test_no_value_breaks_the_line_or_spoils_it(name: str, value: Any) -> None:
    out = io.StringIO()
    configure_logging("info", "json", out)
    structlog.get_logger().info(name, value=value)
    (raw,) = out.getvalue().splitlines()
    assert raw.isprintable()
    json.loads(raw, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))


def test_values_are_cut_to_size() -> None:
    nest: Any = "end"
    for _ in range(50):
        nest = [nest]
    shown = harmless(
        None,
        "info",
        {
            "text": "a" * 1_000_000,
            "many": dict.fromkeys(range(5_000), 1),
            "list": list(range(5_000)),
            "huge": 10**10_000,
            "nan": float("nan"),
            "bytes": b"secret",
            "nest": nest,
            "url": SecretUrl("postgresql://u:hunter2@h/db"),
            "hostile": Hostile(),
        },
    )
    assert len(shown["text"]) == MAX_TEXT + 1
    assert len(shown["many"]) == MAX_ITEMS + 1
    assert len(shown["list"]) == MAX_ITEMS + 1
    assert shown["huge"] == "<integer of 33220 bits>"
    assert shown["nan"] == "nan"
    assert shown["bytes"] == "<6 bytes>"
    assert len(json.dumps(shown["nest"])) < 100
    assert shown["url"] == "postgresql://***@h/db"
    assert shown["hostile"] == "<Hostile>"


def test_the_observer_sees_every_event_whatever_the_level() -> None:
    seen: list[tuple[str, Any]] = []
    configure_logging("error", "json", io.StringIO(), lambda name, fields: seen.append((name, fields["seconds"])))
    structlog.get_logger().info("dispatch", seconds=1.5)
    logging.getLogger("library").error("not ours")
    assert seen == [("dispatch", 1.5)]


def test_the_sdk_does_not_tell_every_attempt_to_reach_a_node() -> None:
    out = io.StringIO()
    configure_logging("debug", "json", out)
    logging.getLogger("bittensor.transport").warning("All endpoints unreachable; retrying in 2s")
    logging.getLogger("bittensor.transport").error("broken")
    assert [json.loads(line)["message"] for line in out.getvalue().splitlines()] == ["broken"]
