"""Whatever can be packed, here or elsewhere, with what exactly it was."""

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from validator.tasks.collecting import Collection, collected
from validator.tasks.fetching import Pin, artifact_of, fetched
from validator.tasks.references import parse_reference


@contextmanager
def gathered(what: str | Path) -> Iterator[tuple[Collection, Pin]]:
    """Give the files of what is to be packed, and its pin; they can be read inside the `with` only. Blocks.

    Args:
        what: a path or the name of an installed distribution (see `collected`), or a name of something elsewhere:
            `pypi:NAME==VERSION`, `npm:NAME@VERSION`, `git+URL@REVISION`, each with `#subdirectory=FOLDER` for a folder
            of it (see `parse_reference`).

    Raises:
        TaskError: there is no such thing, or nothing that could be packed; a tool's own words in one line.
    """
    reference = parse_reference(what) if isinstance(what, str) else None
    if reference is not None:
        with fetched(reference) as found:
            yield found
        return
    path = Path(what)
    with collected(what) as collection:
        if path.is_file():
            yield collection, Pin(artifact=artifact_of(path))
        elif path.exists():
            yield collection, Pin()
        else:
            yield collection, Pin(importlib.metadata.version(str(what)))
