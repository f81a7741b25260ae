"""Anyone who stops the process waits longer than the process may take: the grace time, and then its closing."""

import re
import tomllib
from pathlib import Path

from validator.daemon.signals import CLOSING_S
from validator.settings.model import RoundsSettings
from validator.waiting.worker import GRACE_S

ROOT = Path(__file__).parents[3]


def longest_stop_s() -> float:
    documented = tomllib.loads((ROOT / "config" / "validator.toml").read_text())["rounds"]["grace_s"]
    return float(max(documented, RoundsSettings().grace_s)) + CLOSING_S


def test_compose_waits_for_the_round_in_hand_and_for_what_a_worker_has() -> None:
    minutes = re.findall(r"^ +stop_grace_period: (\d+)m", (ROOT / "docker-compose.yml").read_text(), re.MULTILINE)
    validator, worker = (60 * int(each) for each in minutes)
    assert validator > longest_stop_s()
    assert worker > GRACE_S + CLOSING_S


def test_the_documented_systemd_unit_waits_for_the_round_in_hand() -> None:
    seconds = re.findall(
        r"^TimeoutStopSec=(\d+)$", (ROOT / "docs" / "operators" / "install.md").read_text(), re.MULTILINE
    )
    assert [int(each) > longest_stop_s() for each in seconds] == [True]
