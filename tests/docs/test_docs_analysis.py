"""The example of docs/analysis.md runs as written, on the log of a real store."""

import re
import subprocess
import sys
from pathlib import Path

from daemon_process import PROGRAM
from doc_pages import DOCS
from old_rounds import put

PAGE = (DOCS / "analysis.md").read_text()


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_example_runs_and_finds_something(played: Path, tmp_path: Path) -> None:
    url = put(played, f"sqlite:///{tmp_path}/store.sqlite")
    (tmp_path / "validator.toml").write_text(f'[validator]\nnetuid = 1\n[store]\nurl = "{url}"\n')
    exported = re.search(r"^validator (audit export --out log.jsonl)$", PAGE, re.MULTILINE)
    assert exported is not None
    run(tmp_path, *PROGRAM, *exported[1].split())
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = run(tmp_path, sys.executable, "-c", example).splitlines()
    assert len(lines) > 11
    assert all(re.fullmatch(r"\w{8}  \w+ +[01]\.\d{3}  \d+ answers", line) for line in lines[:10])
    reasons = {reason: int(many) for many, reason in map(str.split, lines[10:])}
    assert reasons == {"accepted": 99, "workflow_deferred": 35, "parse_schema": 6}
