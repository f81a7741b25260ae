"""Files that do not grow, without their own disk."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_room(most: int = 0) -> Iterator[None]:
    """No file that this process writes grows beyond so many bytes; that it tries shows as EFBIG."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
