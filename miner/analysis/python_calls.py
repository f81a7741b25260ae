"""What calls of libraries give back, as far as it tells where something comes from."""

import ast
from collections.abc import Callable
from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.python_builtins import BUILTINS
from miner.analysis.python_commands import said
from miner.analysis.python_files import copy_file, list_folder, open_file, read_file, same_path, spell_path
from miner.analysis.python_module import Module
from miner.analysis.python_symbols import environment
from miner.analysis.python_unpack import unpacked
from miner.analysis.python_value import (
    CLIENT,
    DECODED,
    ENVIRON,
    FETCHED,
    FILE,
    MADE,
    NOTHING,
    SOCKET,
    Arguments,
    Value,
    any_of,
    container,
    content_of,
    joined,
    labelled,
    made,
)

_PATHS: Final = frozenset(
    {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.WindowsPath", "os.path.join"}
)
_SAME_PATH: Final = frozenset(
    {
        *("os.path.expanduser", "os.path.abspath", "os.path.normpath", "os.path.realpath", "os.fspath", "str", "bytes"),
        *("os.path.expandvars", "shlex.quote", "urllib.parse.quote", "os.fsencode", "os.fsdecode", "bytearray"),
        *("iter", "list", "tuple", "set", "sorted", "textwrap.dedent", "io.StringIO", "io.BytesIO", "memoryview"),
    }
)
_VARIABLES: Final = frozenset(
    f"os.{name}" for name in ("getenv", "getenvb", "environ.get", "environ.pop", "environ.__getitem__")
)
_COPIERS: Final = frozenset(
    {
        *("shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.move", "shutil.copytree"),
        *("os.rename", "os.replace", "os.link", "os.symlink"),
    }
)
_LISTERS: Final = frozenset({"os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob"})


def called(module: Module, name: str, given: Arguments, node: ast.Call) -> Value:
    """Return what a call of a library's function, known by its dotted name, gives back."""
    for known, result in _BY_NAME:
        if name in known:
            return result(module, name, given)
    if tables.SECRET_STORES.match(name):
        return labelled(FILE)
    rest = BUILTINS.get(name)
    return rest(module, given, node) if rest is not None else _plain(module, name, given)


def _plain(module: Module, name: str, given: Arguments) -> Value:
    content = content_of(given)
    if name.startswith("os.environ."):
        return labelled(ENVIRON)
    if name == "shutil.make_archive":
        module.write(made([given.at(0)], lambda text: f"{text}.zip"), module.reads(given.at(2, "root_dir")))
        return Value(0, given.at(0).texts)
    if name in tables.DROPPING:
        return NOTHING
    if name in tables.CARRYING or tables.CARRYING_MODULES.match(name):
        return Value(content | any_of(given.all()).labels & SOCKET)
    # What a library's function makes of a secret may be the secret; an object that is given one only uses it.
    return labelled(content & ~(FETCHED | DECODED)) if name.rpartition(".")[2][:1].islower() else NOTHING


def _variable(_: Module, __: str, given: Arguments) -> Value:
    return environment(given.at(0), given.at(1, "default"))


def _decoded(_: Module, name: str, given: Arguments) -> Value:
    return joined(made([given.at(0)], lambda text: unpacked(name, text), MADE), labelled(DECODED | content_of(given)))


def _fetched(module: Module, name: str, given: Arguments) -> Value:
    labels = FETCHED
    if any(tables.METADATA_HOST.search(text) for value in given.positional for text in value.texts):
        labels |= FILE
    if name.rpartition(".")[2] in ("urlretrieve", "download"):
        where = given.at(1, "filename", "out")
        module.write(where, FETCHED)
        return container(id(given), [(0, Value(FETCHED, where.texts)), (1, NOTHING)])._replace(origin=-1)
    return labelled(labels)


_Result = Callable[[Module, str, Arguments], Value]
_BY_NAME: Final[tuple[tuple[frozenset[str], _Result], ...]] = (
    (_VARIABLES, _variable),
    (tables.SOCKETS, lambda _module, _name, _given: labelled(SOCKET | CLIENT | FETCHED)),
    (tables.CLIENTS, lambda _module, _name, _given: labelled(CLIENT)),
    (tables.FETCHERS, _fetched),
    (tables.SPAWNERS, lambda module, _name, given: said(module, given)),
    (tables.DECODERS, _decoded),
    (tables.OPENERS, open_file),
    (tables.READERS, read_file),
    (_PATHS, spell_path),
    (_SAME_PATH, same_path),
    (_LISTERS, list_folder),
    (_COPIERS, copy_file),
)
