"""What the program says about itself. Logs, the event catalogue, metrics."""

from validator.telemetry.events import Event
from validator.telemetry.log import configure_logging
from validator.telemetry.metrics import CONTENT_TYPE, Metrics

__all__ = ["CONTENT_TYPE", "Event", "Metrics", "configure_logging"]
