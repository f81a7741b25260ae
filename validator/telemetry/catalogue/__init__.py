"""The catalogue of events: a file per subject."""

from collections.abc import Mapping
from typing import Final

from validator.telemetry.catalogue.entry import Entry, Subject
from validator.telemetry.catalogue.miners import TASKS_AND_MINERS
from validator.telemetry.catalogue.process import PROCESS, SERVERS
from validator.telemetry.catalogue.rounds import ROUNDS
from validator.telemetry.catalogue.waiting import WAITING
from validator.telemetry.catalogue.weights import CHAIN_AND_WEIGHTS

__all__ = ["SUBJECTS", "Entry"]

# By the heading that docs/reference/events.md gives them.
SUBJECTS: Final[Mapping[str, Subject]] = {
    "The process": PROCESS,
    "Servers": SERVERS,
    "Rounds": ROUNDS,
    "Waiting work": WAITING,
    "Tasks and miners": TASKS_AND_MINERS,
    "Chain and weights": CHAIN_AND_WEIGHTS,
}
