"""The `validator` command. `tree.py` names every command; one file per group parses, calls and prints.

A command's module imports at its top what it needs, and is itself imported when the command is entered.
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
