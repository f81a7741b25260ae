"""The settings, for commands that need no store or open it themselves."""

import os
import sys
from pathlib import Path

from validator.settings import Settings, load_settings
from validator.telemetry.log import configure_logging


def settings_of(config: Path | None) -> Settings:
    """Return the settings that `--config` or the environment name; what is logged from then on goes to standard error.

    Raises:
        SettingsError: with one line for every fault.
    """
    log_to_standard_error()
    return load_settings(config, os.environ)


def log_to_standard_error() -> None:
    """Keep standard output for what the command answers."""
    configure_logging("warning", "auto", sys.stderr)
