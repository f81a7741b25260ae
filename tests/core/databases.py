"""Return types of the database fixtures."""

from collections.abc import Callable
from contextlib import AbstractContextManager

# A Postgres database like that of a url, or with tables and without rows; gone at the end of the `with`.
Like = Callable[..., AbstractContextManager[str]]
