import re
import tomllib
from dataclasses import fields
from pathlib import Path

from sssa.scoring import CURRENT, version
from validator.settings.load import load_settings
from validator.settings.model import Settings, ValidatorSettings
from validator.settings.reference import example_toml, reference
from validator.settings.urls import shown_url

EXAMPLE = Path(__file__).parents[3] / "config" / "validator.toml"


def test_the_example_is_what_the_model_says() -> None:
    assert EXAMPLE.read_text() == example_toml(), "run: make reference"


def test_the_example_holds_exactly_the_defaults() -> None:
    assert load_settings(EXAMPLE, {}) == Settings(validator=ValidatorSettings(netuid=1))


def test_the_example_names_every_key_with_its_range_and_unset_keys_load_when_set() -> None:
    uncommented = re.sub(r"^# (\w+ = )", r"\1", EXAMPLE.read_text(), flags=re.MULTILINE)
    tables = tomllib.loads(uncommented)
    assert {f"{section}.{key}" for section, table in tables.items() for key in table} == set(reference())
    simulated = uncommented.replace('kind = "bittensor"', 'kind = "simulated"')
    assert Settings.model_validate(tomllib.loads(simulated)).wallet.uri == "//Alice"


def test_every_setting_is_described_and_bounded() -> None:
    for entry in reference().values():
        assert entry.description.endswith("."), entry
        assert entry.allowed, entry
        if entry.kind in ("integer", "number"):
            assert re.search(r"(from \d+ to|above \d+, at most) \d+", entry.allowed), entry
        if entry.key.endswith(("_s", "_days")):
            assert entry.unit in ("s", "days"), entry


def test_no_scoring_constant_can_be_set() -> None:
    rules = version(CURRENT).rules
    sections = [getattr(rules, field.name) for field in fields(rules) if field.name != "types"]
    constants = {field.name for section in (*sections, *rules.types.values()) for field in fields(section)}
    assert len(constants) > 50
    assert not constants & {entry.key for entry in reference().values()}


def test_urls_are_shown_without_what_may_be_secret() -> None:
    shown = {
        "sqlite:////var/lib/v.sqlite": "sqlite:////var/lib/v.sqlite",
        "postgresql://u:p/w@rd@h/db": "postgresql://***@h/db",
        "postgresql://u:p?w@h/db?x=@": "postgresql://***@",
        "wss://h:9944/key/more": "wss://h:9944/***",
        "wss://h:9944": "wss://h:9944",
        "wss://h/?apikey=1": "wss://h/?***",
        "finney": "finney",
        "Pass word": "***",
    }
    assert {url: shown_url(url) for url in shown} == shown
