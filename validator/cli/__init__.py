"""The `validator` command. `tree.py` names every command; one file per group has its options, one in `work/` does it.

A command's module is imported when the command is entered, that of its work when the options are read.
"""

import io
import sys

from validator.cli.errors import complain
from validator.cli.tree import TREE
from validator.protocol.errors import ValidatorError


def main() -> None:
    """Run the command line; what a command could not do is told in one place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        TREE()
    except (ValidatorError, OSError) as error:
        sys.exit(complain(error))
