"""docker-compose.yml: every service is held, secrets are files, and .env.example explains each variable."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from package_files import ROOT

TEXT: Final = (ROOT / "docker-compose.yml").read_text()
COMPOSE: Final[dict[str, Any]] = yaml.safe_load(TEXT)
SERVICES: Final[dict[str, dict[str, Any]]] = COMPOSE["services"]
PROFILES: Final = sorted({profile for service in SERVICES.values() for profile in service.get("profiles", ())})
OF_COMPOSE: Final = {"COMPOSE_PROFILES", "COMPOSE_FILE"}
EXAMPLE: Final = (ROOT / ".env.example").read_text()
ASSIGNED: Final = re.compile(r"^#?([A-Z][A-Z_]*)=(.*)$", re.MULTILINE)


def taken() -> dict[str, set[str]]:
    """Every variable that the file takes, with the defaults that it gives it."""
    found: dict[str, set[str]] = {}
    for name, default in re.findall(r"\$\{([A-Z_]+)(?::-([^}]*))?\}", TEXT):
        found.setdefault(name, set()).add(default)
    return found


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_service_is_held(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.fullmatch(r"\d+[mg]", re.sub(r"\$\{\w+:-(\w+)\}", r"\1", service["mem_limit"]))
    assert service["pids_limit"] <= 1024
    assert service["logging"]["options"] == {"max-size": "50m", "max-file": "10"}
    # Upstream's node writes where it likes, and holds nothing.
    assert service["read_only"] is (name != "subtensor")
    for folder in service.get("tmpfs", ()):
        assert re.fullmatch(r"/[\w/]+:size=\d+[mg],mode=1777", folder)


def test_what_is_ours_has_a_bounded_tmp() -> None:
    ours = [service for service in SERVICES.values() if str(service["image"]).startswith("sssa-")]
    assert len(ours) >= 3
    assert all(any(folder.startswith("/tmp:") for folder in service["tmpfs"]) for service in ours)


def test_large_answers_wait_in_the_volume_and_not_in_memory() -> None:
    validator = SERVICES["validator"]
    assert validator["environment"]["TMPDIR"] == "/data"
    assert "data:/data" in validator["volumes"]


def test_what_rounds_are_made_of_is_mounted_where_the_settings_look_for_it() -> None:
    commented = (ROOT / "config" / "validator.toml").read_text().replace("# bases = ", "bases = ")
    settings = tomllib.loads(commented)["tasks"]
    for variable, folder in (("TASKS", settings["directory"]), ("BASES", settings["bases"])):
        assert f"${{{variable}:-./{folder}}}:/data/{folder}:ro" in SERVICES["validator"]["volumes"]


def test_without_a_profile_only_the_validator_runs_on_sqlite_in_a_named_volume() -> None:
    assert [name for name, service in SERVICES.items() if "profiles" not in service] == ["validator"]
    assert COMPOSE["secrets"]["store_url"]["file"] == "${STORE_URL_FILE:-./config/sqlite.url}"
    assert (ROOT / "config" / "sqlite.url").read_text() == "sqlite:////data/validator.sqlite\n"
    assert "data" in COMPOSE["volumes"]
    for name in ("postgres_password", "hotkey_password"):  # docker-compose complains of files that are not there
        assert COMPOSE["secrets"][name]["file"] == f"${{{name.upper()}_FILE:-./config/no-secret}}"
    assert (ROOT / "config" / "no-secret").read_bytes() == b""


def test_secrets_are_files_and_nothing_else() -> None:
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|URL|TOKEN|SECRET", variable) and name != "devnet":
                assert variable.endswith("_FILE"), (name, variable)
                assert "/run/secrets/" in value
    assert not [name for name in taken() if "PASSWORD" in name and not name.endswith("_FILE")]
    used = {secret for service in SERVICES.values() for secret in service.get("secrets", ())}
    assert used == set(COMPOSE["secrets"])


def test_a_url_of_before_is_refused_and_not_overlooked() -> None:
    for name in ("validator", "worker"):
        assert SERVICES[name]["environment"]["VALIDATOR_STORE__URL_FILE"] == "${STORE_URL:-/run/secrets/store_url}"


def test_the_example_explains_every_variable_and_no_other() -> None:
    explained = {name for name, _ in ASSIGNED.findall(EXAMPLE)}
    assert explained == set(taken()) | OF_COMPOSE
    for name in explained:
        assert re.search(rf"^# .*\n#{name}=", EXAMPLE, re.MULTILINE), name


def test_the_example_shows_the_defaults_and_sets_nothing() -> None:
    assert [line for line in EXAMPLE.splitlines() if line and not line.startswith("#")] == []
    shown = dict(ASSIGNED.findall(EXAMPLE))
    # An example of what has no default, or another one than what exists by itself.
    examples = {*OF_COMPOSE, "SANDBOX_ENGINE", "STORE_URL", *(name for name in shown if name.endswith("_FILE"))}
    for name, defaults in taken().items():
        if name not in examples:
            assert defaults == {shown[name]}, name


def test_the_profiles_are_named_in_the_example() -> None:
    for profile in PROFILES:
        assert re.search(rf"\b{profile}\b", EXAMPLE), profile


@pytest.mark.parametrize("program", [("docker-compose",), ("docker", "compose")], ids=" ".join)
def test_docker_compose_reads_it(program: tuple[str, ...], tmp_path: Path) -> None:
    if shutil.which(program[0]) is None or not (version := output_of(*program, "version", "--short")):
        pytest.skip(f"{' '.join(program)} is not installed")
    (tmp_path / ".env").write_text("")
    every = [] if version.startswith("1.") else ["--profile", "*"]
    done = subprocess.run(
        [*program, "--env-file", str(tmp_path / ".env"), *every, "config", "--services"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    # Version 1 asks for the attribute that version 2 warns of.
    warnings = [line for line in done.stderr.splitlines() if "`version` is obsolete" not in line]
    assert (done.returncode, warnings) == (0, [])
    assert set(done.stdout.split()) == set(SERVICES)


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
