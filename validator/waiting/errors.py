"""Errors of the queue of a database."""

from validator.protocol.errors import ValidatorError


class QueueError(ValidatorError):
    """The queue cannot be used."""


class QueueSettingsError(QueueError):
    """The settings give the queue nothing to work with."""


class QueueAwayError(QueueError):
    """The queue's database does not answer."""


class NoQueueError(QueueError):
    """The extra `scale` is not installed."""
