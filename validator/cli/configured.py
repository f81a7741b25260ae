"""The settings, for commands that need no store or open it themselves."""

import os
from pathlib import Path

from validator.settings import Settings, load_settings


def settings_of(config: Path | None) -> Settings:
    """Return the settings that `--config` or the environment name.

    Raises:
        SettingsError: with one line for every fault.
    """
    return load_settings(config, os.environ)
