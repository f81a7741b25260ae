"""Prometheus' own tool over the rules in config/prometheus."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from package_files import ROOT

FOLDER: Final = ROOT / "config" / "prometheus"
RULES: Final = FOLDER / "rules.yml"


@cache
def rules() -> list[dict[str, Any]]:
    """Every alerting rule."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def need(program: str) -> None:
    """Skip the test without a program of Prometheus'; fail where it is promised."""
    if shutil.which(program) is None:
        if os.environ.get("SSSA_NEED_PROMTOOL") == "1":
            pytest.fail(f"SSSA_NEED_PROMTOOL=1, but {program} is not installed")
        pytest.skip(f"{program} is not installed: it comes with Debian's package prometheus")


def promtool(*command: str, given: bytes | None = None) -> str:
    """Run it, and return what it prints; it has to succeed."""
    need("promtool")
    done = subprocess.run(["promtool", *command], input=given, capture_output=True, check=False, timeout=60)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


def hold_rules_to(tests: list[dict[str, Any]], folder: Path) -> None:
    """Run tests of the rules in promtool's form."""
    file = folder / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    promtool("test", "rules", str(file))
