"""Variation of a benign bundle, so that no diff against its public form shows what was planted in it. Pure.

Python functions get other names for some of their locals and neighbours change places; prose says the same in other
words; JSON documents are indented otherwise; a manifest has another patch version. What comes out parses and runs as
before: a Python file whose syntax tree differs in more than those names or places is left as it was.
"""

import ast
import base64
import hashlib
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Final

from sssa.protocol.text import quietly
from sssa.sources import Draws
from taskmaker.planting.code.source import MAX_BYTES
from taskmaker.planting.planting import Files, readable

_WAYS: Final = (
    ("for example", "for instance"),
    ("for instance", "for example"),
    ("in order to", "to"),
    ("such as", "like"),
    ("make sure", "ensure"),
    ("ensure that", "make sure that"),
    ("therefore", "so"),
    ("however,", "but"),
    ("a lot of", "many"),
    ("as well as", "and also"),
    ("because", "since"),
    ("don't", "do not"),
    ("do not", "don't"),
    ("doesn't", "does not"),
    ("it's", "it is"),
    ("isn't", "is not"),
    ("can't", "cannot"),
    ("you can use", "use"),
    ("by default", "unless set otherwise"),
    ("currently", "at present"),
    ("optional", "not required"),
    ("returns", "gives back"),
    ("several", "a number of"),
    ("all of the", "all the"),
    ("please ", ""),
)
_PHRASE: Final = re.compile("|".join(rf"(?<![\w`]){re.escape(old)}(?![\w`])" for old, _ in _WAYS))
_SPELLED: Final = dict(_WAYS)
_PROSE: Final = frozenset({".md", ".markdown", ".rst"})
_SHORT: Final = 3  # letters of a local that keeps its name: `i` and `fd` have no other
_SUFFIXES: Final = ("value", "item", "part", "data", "found", "current")
_SEEN_BY_NAME: Final = frozenset({"locals", "vars", "eval", "exec", "globals", "dir", "super"})
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension)
_VERSION: Final = re.compile(r"(\d+\.\d+\.)(\d+)")
_RECORD: Final = 3  # fields of a row: path, digest, size
_KEPT: Final = frozenset({"package-lock.json", "composer.lock"})


def varied(files: Files, draws: Draws) -> dict[str, bytes]:
    """Return the bundle in another form; the same for the same draws."""
    changed = dict(files)
    for path, content in readable(files).items():
        suffix = PurePosixPath(path).suffix.lower()
        if len(content) > MAX_BYTES:
            continue
        text = content.decode()
        if suffix == ".py":
            changed[path] = _python(text, draws).encode()
        elif suffix in _PROSE:
            changed[path] = _prose(text, draws).encode()
        elif suffix == ".json" and PurePosixPath(path).name not in _KEPT:
            changed[path] = _document(path, text, draws).encode()
    return changed


def _prose(text: str, draws: Draws) -> str:
    """Return prose with some phrases in other words; blocks of code and front matter stay."""
    lines, fenced, out = text.split("\n"), text.startswith("---\n"), []
    for at, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~")) or (at and line == "---"):
            fenced = not fenced if line != "---" else False
        plain = not fenced and not line.startswith(("    ", "\t", "|", ".. ", ">>>"))
        out.append(_PHRASE.sub(lambda m: _SPELLED[m[0]] if draws.number(0, 2) else m[0], line) if plain else line)
    return "\n".join(out)


def _document(path: str, text: str, draws: Draws) -> str:
    """Return a JSON document indented otherwise, a manifest's with another patch version."""
    try:
        parsed = json.loads(text, object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError):
        return text
    if not isinstance(parsed, dict) or "\n" not in text.strip():
        return text
    if PurePosixPath(path).name == "manifest.json" and isinstance(parsed.get("version"), str):
        old = parsed["version"]
        parsed["version"] = _VERSION.sub(lambda m: f"{m[1]}{int(m[2]) + draws.number(1, 4)}", old, count=1)
    indent: Any = draws.pick((2, 4, "\t"))
    return json.dumps(parsed, indent=indent, ensure_ascii=False) + ("\n" if text.endswith("\n") else "")


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def recorded(files: Files) -> dict[str, bytes]:
    """Return the bundle with the digests that a wheel's RECORD has of its files brought up to date."""
    changed = dict(files)
    for path in files:
        if not path.endswith(".dist-info/RECORD"):
            continue
        rows = [row.split(",") for row in files[path].decode(errors="replace").splitlines()]
        for row in rows:
            if len(row) == _RECORD and row[0] in files and row[1].startswith("sha256="):
                digest = base64.urlsafe_b64encode(hashlib.sha256(files[row[0]]).digest()).decode().rstrip("=")
                row[1:] = [f"sha256={digest}", str(len(files[row[0]]))]
        changed[path] = "".join(",".join(row) + "\n" for row in rows).encode()
    return changed


def _python(text: str, draws: Draws) -> str:
    """Return a module with other locals, and functions in another order."""
    for change in (_renamed, _reordered):
        try:
            with quietly():
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return text
        text = change(text, tree, draws)
    return text


def _renamed(text: str, tree: ast.Module, draws: Draws) -> str:
    """Return the module with other names for some locals of functions that hold no inner scope."""
    if not text.isascii():  # the columns of the tree count bytes
        return text
    taken = set(re.findall(r"[A-Za-z_]\w*", text))
    edits: dict[tuple[int, int], tuple[str, str]] = {}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        inner = [node for node in ast.walk(function) if node is not function]
        names = [node for node in inner if isinstance(node, ast.Name)]
        closed = any(isinstance(node, (*_SCOPES, ast.JoinedStr, ast.Global, ast.Nonlocal, ast.Match)) for node in inner)
        if closed or {node.id for node in names} & _SEEN_BY_NAME:
            continue
        bound = {one.arg for one in inner if isinstance(one, ast.arg)}
        bound |= {one.name for one in inner if isinstance(one, ast.ExceptHandler) and one.name}
        bound |= {(one.asname or one.name).partition(".")[0] for one in inner if isinstance(one, ast.alias)}
        for name in sorted({one.id for one in names if isinstance(one.ctx, ast.Store)} - bound):
            new = f"{name}_{draws.pick(_SUFFIXES)}"
            if len(name) <= _SHORT or name.startswith("_") or new in taken or draws.number(0, 1):
                continue
            taken.add(new)
            edits |= {(one.lineno, one.col_offset): (name, new) for one in names if one.id == name}
    lines = text.split("\n")
    for (line, column), (old, new) in sorted(edits.items(), reverse=True):
        row = lines[line - 1]
        if not row.startswith(old, column):
            return text
        lines[line - 1] = row[:column] + new + row[column + len(old) :]
    renamed = "\n".join(lines)
    return renamed if _same(tree, renamed, {new: old for old, new in edits.values()}) else text


def _same(tree: ast.Module, text: str, names: dict[str, str]) -> bool:
    """Return whether a text is that module, but for new names."""
    try:
        with quietly():
            other = ast.parse(text)
    except SyntaxError:
        return False
    for node in ast.walk(other):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.dump(other) == ast.dump(tree)


def _reordered(text: str, tree: ast.Module, draws: Draws) -> str:
    """Return the module with some neighbouring functions in each other's place.

    Only functions that run nothing when they are defined: without decorators, defaults and annotations that name
    anything, and whose name no statement between them uses.
    """
    lines = text.split("\n")
    had: set[int] = set()
    counted = Counter(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    for one, two in pairwise(tree.body):
        if not (_movable(one) and _movable(two)) or id(one) in had or draws.number(0, 2):
            continue
        first, second = one.lineno - 1, two.lineno - 1
        end, last = one.end_lineno or one.lineno, two.end_lineno or two.lineno
        between = lines[end:second]
        if first and lines[first - 1].startswith("#"):  # a comment that belongs to the first
            continue
        if any(line.strip() for line in between) or max(counted[one.name], counted[two.name]) > 1:  # type: ignore[attr-defined]
            continue
        had.add(id(two))
        moved = lines[second:last] + between + lines[first:end]
        lines[first:last] = moved
    return "\n".join(lines)


def _movable(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or node.col_offset:
        return False
    defaults = [one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None]
    annotations = [one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg) and one.annotation]
    return all(isinstance(one, ast.Constant) for one in defaults) and not annotations and node.returns is None
