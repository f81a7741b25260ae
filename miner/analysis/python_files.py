"""Files that a module names, opens, reads, writes and copies."""

import re
from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.python_module import Module
from miner.analysis.python_value import HOLE, NOTHING, STARTS, Arguments, Value, content_of, labelled, made

PATH: Final = "open"  # under which an open file keeps its path
_WRITES: Final = re.compile(r"[wax+]")


def opened(module: Module, path: Value, mode: str) -> Value:
    """Return an open file."""
    writes = bool(_WRITES.search(mode))
    labels = 0 if writes and "+" not in mode else module.reads(path)
    if writes and any(tables.START_PATH.search(text) for text in path.texts):
        labels |= STARTS
    return Value(labels, (), (), id(path), {PATH: Value(0, path.texts)}) if path.texts else labelled(labels)


def mode_of(value: Value) -> str:
    """Return the mode in which a file is opened: `r` unless it is known."""
    return value.texts[0] if value.texts else "r"


def path_of(*parts: str) -> str:
    """Return the path that parts make, each below the one before; one with `/` or `~` in front begins anew."""
    result = ""
    for part in parts:
        result = part if not result or part.startswith(("/", "~")) else f"{result.rstrip('/')}/{part}"
    return result


def open_file(module: Module, _: str, given: Arguments) -> Value:
    """Return what a function gives back that opens a file."""
    return opened(module, given.at(0), mode_of(given.at(1, "mode")))


def read_file(module: Module, _: str, given: Arguments) -> Value:
    """Return what a function gives back that reads a file."""
    return labelled(content_of(given) | module.reads(given.at(0)))


def same_path(_: Module, __: str, given: Arguments) -> Value:
    """Return what a function gives back that leaves a text or a container as good as it was."""
    first = given.at(0)
    return Value(content_of(given), first.texts, (), first.origin, first.items)


def list_folder(_: Module, name: str, given: Arguments) -> Value:
    """Return the paths in a folder."""
    return made([given.at(0)], lambda text: text if "glob" in name else f"{text}/{HOLE}")


def copy_file(module: Module, _: str, given: Arguments) -> Value:
    """Remember that a file holds what another one does, and return its path."""
    module.write(given.at(1, "dst"), module.reads(given.at(0)))
    return given.at(1, "dst")


def spell_path(_: Module, __: str, given: Arguments) -> Value:
    """Return the path that is spelled by parts."""
    return made(given.positional or [NOTHING], path_of)
