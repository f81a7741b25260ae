"""Contents of the distributions: the operator's has nothing of the local network."""

import tomllib
import zipfile
from email.parser import Parser
from email.policy import default
from pathlib import Path

import pytest
from package_files import ROOT, files_in, names_in, wheel_of

import validator

PROJECTS = {
    "validator": "",
    "sssa": "sssa",
    "publisher": "publisher",
    "taskmaker": "taskmaker",
    "laboratory": "laboratory",
    "miner": "miner",
    "localnet": "localnet",
    "runner": "runner",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    return {name: wheel_of(ROOT / place, folder) for name, place in PROJECTS.items()}


def metadata_of(wheel: Path) -> dict[str, list[str]]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = Parser(policy=default).parsestr(archive.read(name).decode())
    return {key: [str(value) for value in message.get_all(key, [])] for key in message}


def test_the_validators_wheel_holds_its_package_and_the_migrations_and_nothing_else(wheels: dict[str, Path]) -> None:
    expected = files_in(ROOT / "validator") | files_in(ROOT / "migrations", "validator/migrations")
    assert names_in(wheels["validator"]) == expected
    assert "validator/migrations/versions/r0001_tables.py" in expected


@pytest.mark.parametrize("project", ["sssa", "publisher", "taskmaker", "laboratory", "miner", "localnet"])
def test_the_other_distributions_wheels_hold_their_packages(wheels: dict[str, Path], project: str) -> None:
    assert names_in(wheels[project]) == files_in(ROOT / project) - {f"{project}/pyproject.toml", f"{project}/README.md"}


def test_the_miners_wheel_brings_the_written_bundles(wheels: dict[str, Path]) -> None:
    assert len([name for name in names_in(wheels["miner"]) if name.endswith("/truth.json")]) >= 18


def test_the_validator_needs_nothing_that_only_the_miner_and_the_local_network_use(wheels: dict[str, Path]) -> None:
    needed = " ".join(metadata_of(wheels["validator"])["Requires-Dist"])
    assert "aiohttp" in needed
    for name in ("tree-sitter", "sssa-miner", "sssa-localnet", "sssa-laboratory"):
        assert name not in needed


def test_the_runners_wheel_holds_the_programs_of_the_image_and_needs_nothing(wheels: dict[str, Path]) -> None:
    programs = files_in(ROOT / "runner" / "code_runner") | files_in(ROOT / "runner" / "tracer")
    assert names_in(wheels["runner"]) == programs
    assert "Requires-Dist" not in metadata_of(wheels["runner"])


def test_all_distributions_have_one_version(wheels: dict[str, Path]) -> None:
    found = {name: metadata_of(wheel) for name, wheel in wheels.items()}
    assert {tuple(each["Version"]) for each in found.values()} == {(validator.__version__,)}
    asked = {
        name: {line for line in found[name]["Requires-Dist"] if line.startswith("sssa")}
        for name in PROJECTS
        if name != "runner"
    }
    ours = {name: f"{'' if name == 'sssa' else 'sssa-'}{name}=={validator.__version__}" for name in PROJECTS}
    assert asked == {
        "sssa": set(),
        "validator": {ours["sssa"]},
        "publisher": {ours["sssa"], ours["validator"]},
        "taskmaker": {ours["sssa"], ours["validator"]},
        "laboratory": {ours["sssa"]},
        "miner": {ours["sssa"], ours["validator"], ours["runner"]},
        "localnet": {ours[name] for name in ("sssa", "validator", "taskmaker", "runner", "miner")},
    }


def test_what_the_distributions_ask_for_is_what_is_locked() -> None:
    for project, listed in (("", "runtime"), ("miner", "miner")):
        described = tomllib.loads((ROOT / project / "pyproject.toml").read_text())["project"]["dependencies"]
        lines = (ROOT / "requirements" / f"{listed}.in").read_text().splitlines()
        assert {line for line in described if not line.startswith("sssa")} == {
            line for line in lines if line and not line.startswith(("#", "-"))
        }


def test_the_extra_asks_for_what_is_locked() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["scale"]
    lines = (ROOT / "requirements" / "scale.in").read_text().splitlines()
    assert described == [line for line in lines if not line.startswith(("#", "-"))]


def test_the_miner_and_workers_run_on_the_same_packages_as_the_validator() -> None:
    def pins(name: str) -> set[str]:
        lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
        return {line.split(" ")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))}

    assert len(pins("runtime")) > 30
    assert pins("runtime") <= pins("miner")
    assert pins("runtime") < pins("scale")
