"""Silencing of the log while a benchmark runs, so that logging is not measured."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog


def drop_log() -> None:
    """Let this process log nothing from now on."""
    structlog.configure(processors=[_drop])


@contextmanager
def unlogged() -> Iterator[None]:
    """Log nothing while it is entered."""
    before = structlog.get_config()
    drop_log()
    try:
        yield
    finally:
        structlog.configure(**before)


def _drop(*_: object) -> dict[str, object]:
    raise structlog.DropEvent
