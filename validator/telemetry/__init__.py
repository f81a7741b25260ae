"""The log, the catalogue of its events, and metrics.

Touches standard output in `log.py`, for commands standard error; the rest keeps counts in memory. Called by every
room from here up.
"""

from validator.telemetry.events import Event
from validator.telemetry.log import configure_logging

__all__ = ["Event", "configure_logging"]
