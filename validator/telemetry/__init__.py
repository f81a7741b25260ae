"""The log, the catalogue of its events, and metrics.

`log.py` writes to standard output, or for commands to standard error; the rest keeps counts in memory. Called by every
room from here up.
"""

from validator.telemetry.events import Event
from validator.telemetry.log import configure_logging

__all__ = ["Event", "configure_logging"]
