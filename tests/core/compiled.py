"""Statements that one store has compiled, for every store of this process: each test opens its own."""

from typing import Any, Final

from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

_MOST: Final = 2_000


class Compiled:
    """Cache of compiled statements for a connection; two dialects of one class share it."""

    def __init__(self) -> None:
        self._cached: LRUCache[Any, Any] = LRUCache(_MOST)

    def get(self, key: tuple[Any, ...]) -> Any:
        return self._cached.get(_alike(key))

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        self._cached[_alike(key)] = compiled


def share() -> None:
    """Let every connection that is opened from now on look there."""
    compiled = Compiled()

    @event.listens_for(Engine, "engine_connect")
    def look_there(connection: Connection) -> None:
        connection.execution_options(compiled_cache=compiled)


def _alike(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dialect, *rest = key
    return type(dialect), *rest
