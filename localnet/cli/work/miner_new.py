"""What `validator miner new` does: the template of a miner, copied."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from validator.cli.output import print_line
from validator.files import write_file

_TEMPLATE: Final = "localnet.template"
_FILES: Final = ("miner.py", "requirements.txt")


def new(folder: Path) -> None:
    """Write the template's files into a folder.

    Raises:
        OSError: the folder cannot be made, or has one of them already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        write_file((folder / name).absolute(), files(_TEMPLATE).joinpath(name).read_bytes(), mode=None, replace=False)
    print_line(f"{folder}: {', '.join(_FILES)}; docs/tutorial-miner.md has every line of it explained")
