"""What `validator miner new` does: the template of a miner, copied."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Final

import typer

from validator.cli.output import print_line
from validator.files import write_file

_TEMPLATE: Final = "miner.template"
_FILES: Final = ("miner.py", "requirements.txt")


def new(folder: Path) -> None:
    """Write the template's files into a folder.

    Raises:
        typer.BadParameter: it has one of them already, or is no folder.
        OSError: it cannot be made or written to.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise typer.BadParameter("is no folder: name another one", param_hint="FOLDER")
    taken = next((name for name in _FILES if os.path.lexists(folder / name)), None)
    if taken is not None:
        raise typer.BadParameter(f"has a {taken} already: name another folder", param_hint="FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        write_file((folder / name).absolute(), files(_TEMPLATE).joinpath(name).read_bytes(), mode=None, replace=False)
    print_line(f"{folder}: {', '.join(_FILES)}; docs/tutorial-miner.md has every line of it explained")
