"""Syntax of files that a fault was planted in: text that its language still reads."""

import json
import threading
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

_compiling: Final = threading.Lock()  # catch_warnings changes the whole process


def breaks(path: str, before: bytes | None, after: bytes) -> bool:
    """Return whether a file can no longer be read as what its name says, though it could before, or is new.

    Python is compiled, JSON, JSON lines and TOML are parsed; every text stays UTF-8. Nothing is run.
    """
    reader = _READERS.get(path.rpartition(".")[2].lower(), _text)
    return not _reads(reader, after) and (before is None or _reads(reader, before))


def _text(content: bytes) -> None:
    content.decode()


@contextmanager
def quietly() -> Iterator[None]:
    """Let Python's compiler read what strangers wrote without a warning."""
    with _compiling, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _python(content: bytes) -> None:
    with quietly():
        compile(content, "planted", "exec", dont_inherit=True)


def _json(content: bytes) -> None:
    json.loads(content.decode())


def _json_lines(content: bytes) -> None:
    for line in content.decode().splitlines():
        if line.strip():
            json.loads(line)


def _toml(content: bytes) -> None:
    tomllib.loads(content.decode())


_READERS: Final[Mapping[str, Callable[[bytes], None]]] = MappingProxyType(
    {"py": _python, "pyw": _python, "json": _json, "jsonl": _json_lines, "toml": _toml}
)


def _reads(reader: Callable[[bytes], None], content: bytes) -> bool:
    try:
        reader(content)
    except (ValueError, SyntaxError, RecursionError, MemoryError, OverflowError):
        return False
    return True
