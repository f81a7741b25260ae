"""What a value is known to hold or to be."""

from collections.abc import Iterable, Iterator
from typing import Final

Labels = frozenset[str]
NONE: Final[Labels] = frozenset()
ENVIRONMENT: Final = "environment"  # the whole of it
FILE: Final = "file"  # the content of a file that holds secrets
VARIABLE: Final = "variable:"  # one secret variable of the environment; its name follows, if it is known
SECRET_PATH: Final = "secret path"  # noqa: S105 - says of a path that a file that holds secrets lies there
LOCAL_PATH: Final = "local secret path"  # the same of the skill's own folder, which it may read
START_PATH: Final = "start path"  # names a file that makes programs start
HOME: Final = "home"  # the path of the home folder, or one below it
FOLDER: Final = "folder"  # names a folder that people keep their work in
DROPPED: Final = "dropped"  # the path of a file that was fetched or decoded
COMPUTED: Final = "computed"  # what a module or the global object calls by a name that is put together
FETCHED: Final = "fetched"
REMOTE: Final = "remote"  # what a socket received
DECODED: Final = "decoded"
CONNECTION: Final = "connection"
SHELL: Final = "shell"
OBJECTS: Final = frozenset({CONNECTION, SHELL})
_MAX: Final = 32


def joined(parts: Iterable[Labels]) -> Labels:
    """Return the labels of a whole: those of its parts, 32 at most."""
    labels = NONE.union(*parts)
    return labels if len(labels) <= _MAX else frozenset(sorted(labels)[:_MAX])


def variables(labels: Labels) -> Iterator[str]:
    """Yield the names of the secret variables among the labels; empty for one that is not known."""
    for label in sorted(labels):
        if label.startswith(VARIABLE):
            yield label.removeprefix(VARIABLE)
