"""Compiled modules for an image, so that its programs start fast: the same sources give the same bytes."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from localnet.images.machine import ImageError
from localnet.images.tree import File, Tree

_COMPILE_S: Final = 300.0
# A process of its own: what was interned before would show in the bytes. A source that is no Python stays as it is.
_COMPILE: Final = """
import json, py_compile, sys
for source, target, name in json.load(sys.stdin):
    try:
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(source, target, name, doraise=True, invalidation_mode=mode)
    except (py_compile.PyCompileError, ValueError):
        pass
"""


def compiled(tree: Tree) -> Tree:
    """Return the tree's Python modules compiled by this interpreter, where it looks for them.

    Raises:
        ImageError: the compiler could not be run.
    """
    modules = {name: entry for name, entry in sorted(tree.items()) if name.endswith(".py") and isinstance(entry, File)}
    with tempfile.TemporaryDirectory() as folder:
        targets = {name: Path(folder, f"{number}.pyc") for number, name in enumerate(modules)}
        _compile([(str(_on_disk(modules[name], path)), str(path), f"/{name}") for name, path in targets.items()])
        return {
            importlib.util.cache_from_source(name): File(path.read_bytes())
            for name, path in targets.items()
            if path.exists()
        }


def _on_disk(file: File, beside: Path) -> Path:
    if isinstance(file.content, Path):
        return file.content
    source = beside.with_suffix(".py")
    source.write_bytes(file.content)
    return source


def _compile(wanted: list[tuple[str, str, str]]) -> None:
    try:
        subprocess.run(  # noqa: S603 - this interpreter
            [sys.executable, "-I", "-S", "-c", _COMPILE],
            input=json.dumps(wanted).encode(),
            capture_output=True,
            check=True,
            timeout=_COMPILE_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ImageError(f"modules cannot be compiled: {error}") from error
