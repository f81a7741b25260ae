"""A copy of the program in which a recipe of docs/architecture.md is followed, used and thrown away."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from doc_pages import ARCHITECTURE, ROOT, table

_COPIED = ("validator", "sssa", "publisher", "taskmaker", "migrations", "docs", "tests/docs")
_FILE = re.compile(r"`([^`]*/[^`]*)`")


def files_of(recipe: str) -> list[str]:
    """The files that the recipe's row names, as it names them: a part in <> stands for any name."""
    row = next((row for row in table(ARCHITECTURE, "recipes") if row["to add"] == recipe), None)
    assert row, f"docs/architecture.md has no recipe for {recipe}"
    return _FILE.findall(row["files"])


class Tree:
    """Copy of the repository in which a recipe is followed. Edits are literal; a missing anchor names the lost line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: set[str] = set()
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name)

    def new(self, path: str, text: str) -> None:
        file = self.folder / path
        assert not file.exists(), f"{path} is there already: the recipe's new file needs another name"
        file.parent.mkdir(exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"))
        self.touched.add(path)

    def put(self, path: str, old: str, new: str) -> None:
        """Replace the one place that has `old`."""
        file = self.folder / path
        text = file.read_text()
        assert text.count(old) == 1, f"{path} holds the recipe's anchor {text.count(old)} times, not once: {old!r}"
        file.write_text(text.replace(old, new))
        self.touched.add(path)

    def after(self, path: str, line: str, new: str) -> None:
        """Put lines behind the one line that begins so."""
        lines = (self.folder / path).read_text().splitlines(keepends=True)
        found = [whole for whole in lines if whole.startswith(line)]
        assert len(found) == 1, f"{path} has {len(found)} lines that begin with the recipe's anchor, not one: {line!r}"
        self.put(path, "\n" + found[0], "\n" + found[0] + new)

    def use(self, script: str, *arguments: str) -> str:
        """Run the script with the changed program and return what it prints; the test kits are those of this tree."""
        guard = f"import validator\nassert validator.__file__.startswith({str(self.folder)!r}), validator.__file__\n"
        places = (
            self.folder,
            ROOT / "tests" / "core",
            ROOT / "tests" / "validator" / "kinds",
            self.folder / "tests" / "docs",
        )
        ended = subprocess.run(
            [sys.executable, "-c", guard + dedent(script), *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, places))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def holds(self, recipe: str) -> None:
        """The recipe touched exactly the files that its row names, and they are under six; a room counts as one."""
        patterns = [re.sub(r"<\w+>", r"[^/]+", re.escape(name)) for name in files_of(recipe)]
        patterns = [pattern + ".+" if pattern.endswith("/") else pattern for pattern in patterns]
        assert len(patterns) < 6, f"{recipe} touches {len(patterns)} files"
        missed = [name for name in self.touched if not any(re.fullmatch(pattern, name) for pattern in patterns)]
        idle = [pattern for pattern in patterns if not any(re.fullmatch(pattern, name) for name in self.touched)]
        told = f"{recipe}: touched, but not in the row: {missed}; in the row, but not touched: {idle}"
        assert not missed and not idle, told  # noqa: PT018 - one sentence tells both
