"""Tail of the daemon's log file: counts lines and warnings as it grows."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LOUD = ("warning", "error", "critical")


@dataclass(slots=True)
class LogTail:
    """Counts the lines of a growing log.

    Args:
        path: of JSON lines.

    Attributes:
        lines, size: so far, in bytes the second.
        settled: rounds that were settled.
        loud: warnings and errors by level and event.
        weights: submissions by reason.
        events: lines by event.
        beyond: of each settled round, the seconds next to its slowest answer.
        seconds: how long each settled round took.
        odd: lines that are no JSON object.
    """

    path: Path
    lines: int = 0
    size: int = 0
    settled: int = 0
    odd: int = 0
    loud: Counter[tuple[str, str]] = field(default_factory=Counter)
    weights: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    beyond: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def read(self) -> None:
        """Take in the whole lines that came since."""
        with self.path.open("rb") as file:
            file.seek(self.size)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.size += len(line)
                self._line(line)

    def _line(self, line: bytes) -> None:
        self.lines += 1
        try:
            record: Any = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            self.odd += 1
            return
        event = str(record.get("event"))
        self.events[event] += 1
        if (level := str(record.get("level"))) in _LOUD:
            self.loud[level, event] += 1
        if event == "round_settled":
            self.settled += 1
            self.beyond.append(float(record["beyond_s"]))
            self.seconds.append(float(record["seconds"]))
        elif event == "weights_submitted":
            self.weights[str(record.get("reason"))] += 1
