"""Opener of the Procrastinate queue where the extra `scale` is installed; imports nothing of that extra before."""

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from validator.store.urls import parse_url
from validator.waiting.life_cycle import NoQueueError, QueueSettingsError

OpenQueue = Callable[[], "AbstractAsyncContextManager[JobQueue]"]
"""Opens a queue."""

if TYPE_CHECKING:
    from validator.waiting.jobs import JobQueue


def open_queue(url: str, *, make: bool, connections: int = 1) -> "AbstractAsyncContextManager[JobQueue]":
    """Open the queue of jobs as `open_jobs`, where the extra is installed.

    Raises:
        QueueSettingsError: the store is no Postgres database.
        NoQueueError: the extra `scale` is not installed.
    """
    if parse_url(url).path is not None:
        raise QueueSettingsError("worker processes need a store on Postgres: set store.url")
    try:
        importlib.import_module("procrastinate")
    except ImportError:
        raise NoQueueError('install it: pip install "sssa-validator[scale]"; the image has it') from None
    from validator.waiting.jobs import open_jobs  # noqa: PLC0415 - an operator with one machine needs none of it

    return open_jobs(url, make=make, connections=connections)
