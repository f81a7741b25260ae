"""Errors of the store: what callers may see when a database or a record does not do as asked."""

from sqlalchemy.exc import DontWrapMixin

from sssa.protocol.errors import ValidatorError


class StoreError(ValidatorError):
    """The store cannot do this."""


class StoreUrlError(StoreError):
    """Not a store url."""


class StoreAwayError(StoreError):
    """The database does not answer."""


class StoreUnreachableError(StoreAwayError):
    """The database could not be opened."""


class StoreLockedError(StoreError):
    """Another validator writes to this store."""


class StoreLostError(StoreError):
    """This store must not be used any more."""


class StoreLockLostError(StoreLostError):
    """This process is no longer the store's writer."""


class StoreDamagedError(StoreLostError):
    """The store is damaged, or its path does not lead to it any more."""


class StoreBusyError(StoreAwayError):
    """No write transaction could be begun."""


class StoreNoWriteError(StoreAwayError):
    """The store takes no write."""


class SchemaStateError(StoreError):
    """The store's tables are not those of this version."""


class OtherStoreError(StoreError):
    """The store belongs to another chain, subnet or hotkey."""


class UnstorableError(StoreError, DontWrapMixin):
    """A value has no place in a table."""


class DamagedError(StoreError, DontWrapMixin):
    """Stored bytes are not what was stored."""


class AlreadyOpenedError(StoreError):
    """The round is in the store already."""


class AlreadySettledError(StoreError):
    """The round is not open any more."""


class AlreadyPreparedError(StoreError):
    """Weights for this epoch are in the store already."""


class UnfinishedDispatchesError(StoreError):
    """The round cannot settle while the fate of a dispatch is unknown."""


class MismatchError(StoreError):
    """Two documents that belong together do not match."""


class WrongStateError(StoreError):
    """The record is not in a state that allows this."""


class EmptyReasonError(StoreError):
    """Clearing flags needs a reason."""


class NotEmptyError(StoreError):
    """A store is copied only into an empty one."""


class BackupError(StoreError):
    """There is no backup."""


class RestoreError(StoreError):
    """Nothing was restored."""


class StoreEncodingError(StoreError):
    """The database cannot hold every text."""


class CopyError(StoreError):
    """The copy is not what was copied."""
