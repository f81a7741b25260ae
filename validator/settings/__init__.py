"""Settings of the operator, and their sources. Scoring constants are never settings.

Touches the settings file and the environment. Called by the daemon and commands.
"""

from validator.settings.load import DEFAULT_FILE, SettingsError, is_reachable, load_settings
from validator.settings.model import (
    ChainSettings,
    HealthSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
    ValidatorSettings,
    WalletSettings,
    WebSettings,
    WeightsSettings,
)
from validator.settings.reference import KeyReference, example_toml, reference
from validator.settings.urls import SecretUrl, shown_url

__all__ = [
    "DEFAULT_FILE",
    "ChainSettings",
    "HealthSettings",
    "KeyReference",
    "SandboxSettings",
    "SecretUrl",
    "Settings",
    "SettingsError",
    "StoreSettings",
    "ValidatorSettings",
    "WalletSettings",
    "WebSettings",
    "WeightsSettings",
    "example_toml",
    "is_reachable",
    "load_settings",
    "reference",
    "shown_url",
]
