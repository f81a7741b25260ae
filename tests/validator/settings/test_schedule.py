"""Schedule of scoring versions by epoch: parsing, checks, and faults with their fixes."""

import re
from pathlib import Path

import pytest

from sssa.protocol.runtime_image import RuntimeImage, RuntimeImages, ScheduleError
from sssa.scoring import CURRENT, DEFAULT, Schedule, version
from validator.settings.load import SettingsError, load_settings
from validator.settings.model import Settings, ValidatorSettings

MINIMAL = "[validator]\nnetuid = 1\n"
ALLOWED = "allowed is a table of version to epoch: the first version from epoch 0 on, each later than the one before"


def loaded(tmp_path: Path, schedule: str, environ: dict[str, str] | None = None) -> dict[str, int]:
    file = tmp_path / "validator.toml"
    file.write_text(f"{MINIMAL}[scoring]\nschedule = {schedule}\n")
    found = load_settings(file, environ or {}).scoring.schedule
    assert found is not None
    return found


def test_the_default_is_the_newest_version_from_the_start() -> None:
    assert Settings(validator=ValidatorSettings(netuid=1)).scoring.schedule is None
    assert DEFAULT.starts == {CURRENT: 0}
    assert DEFAULT.version_at(0) == DEFAULT.version_at(10**9) == CURRENT == version(CURRENT).name


def test_a_version_scores_from_its_first_epoch_on(tmp_path: Path) -> None:
    schedule = Schedule(loaded(tmp_path, '{ "1.0.0" = 0, "2.0.0" = 500 }'))
    assert [schedule.version_at(epoch) for epoch in (0, 499, 500, 501)] == ["1.0.0", "1.0.0", "2.0.0", "2.0.0"]


def test_the_environment_wins_with_json(tmp_path: Path) -> None:
    environ = {"VALIDATOR_SCORING__SCHEDULE": '{"1.0.0": 0, "2.0.0": 7}'}
    assert loaded(tmp_path, '{ "1.0.0" = 0 }', environ) == {"1.0.0": 0, "2.0.0": 7}


@pytest.mark.parametrize(
    "written", ['"1.0.0"', "{}", '{ "1.0.0" = -1 }', '{ "1.0.0" = 0.5 }', '{ "1.0.0" = true }', '{ "new" = 0 }', "[]"]
)
def test_what_is_no_table_of_versions_and_epochs_is_refused_with_what_is_allowed(tmp_path: Path, written: str) -> None:
    with pytest.raises(SettingsError) as caught:
        loaded(tmp_path, written)
    assert all(re.match(r".*: scoring\.schedule: got ", line) for line in str(caught.value).splitlines())
    assert str(caught.value).endswith(ALLOWED)


@pytest.mark.parametrize("text", ["1.0.0", "{", "[" * 100_000])
def test_a_variable_that_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"VALIDATOR_SCORING__SCHEDULE: scoring\.schedule: got "):
        loaded(tmp_path, '{ "1.0.0" = 0 }', {"VALIDATOR_SCORING__SCHEDULE": text})


@pytest.mark.parametrize(
    ("starts", "fault"),
    [
        ({"1.0.0": 1}, "the first entry must begin at epoch 0"),
        ({}, "the first entry must begin at epoch 0"),
        ({"1.0.0": 0, "2.0.0": 0}, "2.0.0 must begin after epoch 0, with which the one before it begins"),
        ({"1.0.0": 0, "2.0.0": 9, "1.0.1": 4}, "No code here scores this version: `1.0.1`; this program scores"),
        (
            {"1.0.0": 0, "9.9.9": 4},
            "No code here scores this version: `9.9.9`; this program scores 1.0.0, 2.0.0",
        ),
    ],
)
def test_a_schedule_that_cannot_be_followed_names_the_setting_and_the_fix(starts: dict[str, int], fault: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        Schedule(starts)
    assert f"scoring.schedule: {fault}" in str(caught.value)
    assert "\n" not in str(caught.value)


ONE, TWO = "registry.example:5000/sssa/runner@sha256:" + "a" * 64, "localhost/sssa-runner@sha256:" + "b" * 64


def test_an_image_runs_bundles_from_its_first_epoch_on(tmp_path: Path) -> None:
    file = tmp_path / "validator.toml"
    file.write_text(f'{MINIMAL}[scoring]\nruntime_images = {{ "{ONE}" = 0, "{TWO}" = 7 }}\n')
    starts = load_settings(file, {}).scoring.runtime_images
    assert starts is not None
    images = RuntimeImages(starts)
    assert images.image_at(6) == RuntimeImage("registry.example:5000/sssa/runner", "sha256:" + "a" * 64)
    assert images.image_at(7).pinned == TWO


@pytest.mark.parametrize(
    ("starts", "fault"),
    [
        ({ONE: 1}, "the first entry must begin at epoch 0"),
        ({ONE: 0, TWO: 0}, "must begin after epoch 0, with which the one before it begins"),
    ],
)
def test_images_that_are_out_of_order_name_the_setting(starts: dict[str, int], fault: str) -> None:
    with pytest.raises(ScheduleError, match=rf"scoring\.runtime_images: .*{fault}"):
        RuntimeImages(starts)


@pytest.mark.parametrize("written", ['{ "sssa-runner:latest" = 0 }', '{ "sssa-runner@sha256:00" = 0 }', "{}"])
def test_what_is_no_table_of_pinned_images_is_refused(tmp_path: Path, written: str) -> None:
    file = tmp_path / "validator.toml"
    file.write_text(f"{MINIMAL}[scoring]\nruntime_images = {written}\n")
    with pytest.raises(SettingsError, match=r"scoring\.runtime_images"):
        load_settings(file, {})
