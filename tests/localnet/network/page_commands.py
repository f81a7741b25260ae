"""The commands of docs/localnet.md, as a reader types them, and a place to type them."""

import io
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

from cli_store import as_before

from validator.cli import main

ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """Every line of the page's fenced blocks without a language, in words."""
    text = (ROOT / "docs" / "localnet.md").read_text()
    return [shlex.split(line) for block in _BLOCK.findall(text) for line in block.splitlines()]


def validator(argv: list[str]) -> tuple[int, str]:
    """Run the command line in this process; return its exit code and what it printed."""
    out = io.StringIO()
    with as_before(), redirect_stdout(out):
        argv, sys.argv = sys.argv, ["validator", *argv]
        try:
            main()
            code: object = 0
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            sys.argv = argv
    assert isinstance(code, int)
    return code, out.getvalue()


def composed(profile: str) -> str:
    """Return compose's rendering of the file with this profile; nothing is started."""
    argv = ["docker-compose", "--profile", profile, "config"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
