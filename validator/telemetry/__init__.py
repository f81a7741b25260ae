"""The log, the catalogue of its events, and metrics."""

from validator.telemetry.events import Event
from validator.telemetry.log import configure_logging

__all__ = ["Event", "configure_logging"]
