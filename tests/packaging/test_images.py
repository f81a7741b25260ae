"""Contents of the images, read from the Dockerfile and the compose file."""

import re
import shlex
import tomllib
from typing import Any

import pytest
import yaml
from docker_files import lineage, needed, stages
from package_files import ROOT

import validator
from validator.daemon.signals import CLOSING_S
from validator.waiting.worker import GRACE_S


def brought(name: str) -> set[str]:
    """Every file or folder of the project that building a stage takes."""
    every = stages()
    return {
        path for stage in needed(name) for origin, paths in every[stage].copies() if not origin for path in paths[:-1]
    }


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


def test_nobody_but_the_proxy_sees_the_engines_socket() -> None:
    services = compose()["services"]
    mounts = {name: [str(one) for one in service.get("volumes", ())] for name, service in services.items()}
    assert [name for name, volumes in mounts.items() if any("docker.sock" in one for one in volumes)] == ["engine"]
    assert services["engine"]["profiles"] == ["executions", "scale"]
    assert services["engine"]["networks"] == ["engine"]
    assert "ports" not in services["engine"]
    assert compose()["networks"]["engine"] == {"internal": True}
    assert services["validator"]["environment"]["DOCKER_HOST"] == "${SANDBOX_ENGINE:-}"
    assert [name for name, service in services.items() if "engine" in service.get("networks", ())] == [
        "validator",
        "worker",
        "engine",
    ]


def test_the_health_port_is_reached_in_the_network_of_compose_and_nowhere_else() -> None:
    validator = compose()["services"]["validator"]
    environment = validator["environment"]
    assert (environment["VALIDATOR_HEALTH__HOST"], environment["VALIDATOR_HEALTH__EXPOSE"]) == ("0.0.0.0", "true")
    assert validator["expose"] == ["9337"]
    assert "ports" not in validator


def test_a_worker_is_held_as_the_validator_is_and_shares_no_file_with_it() -> None:
    validator, worker = (compose()["services"][name] for name in ("validator", "worker"))
    for key in ("image", "build", "restart", "init", "mem_limit", "pids_limit", "read_only", "tmpfs", "logging"):
        assert worker[key] == validator[key]
    (settings,) = worker["volumes"]
    assert settings in validator["volumes"]
    assert settings.endswith(":/etc/validator/validator.toml:ro")
    assert set(worker["environment"]) == {"VALIDATOR_CONFIG", "VALIDATOR_STORE__URL_FILE", "DOCKER_HOST"}
    assert worker["secrets"] == ["store_url"]
    minutes = worker["stop_grace_period"].removesuffix("m")
    assert int(minutes) * 60 > GRACE_S + CLOSING_S


def test_a_plain_build_makes_the_operators_image() -> None:
    assert list(stages())[-1] == "validator"
    services = compose()["services"]
    assert [services[name]["build"]["target"] for name in ("validator", "devnet")] == ["validator", "localnet"]
    assert services["validator"]["image"] != services["devnet"]["image"]


def test_the_operators_image_takes_nothing_of_the_local_network() -> None:
    paths = brought("validator")
    assert {"sssa/", "validator/", "publisher/", "taskmaker/", "migrations/", "requirements/scale.txt"} <= paths
    assert not [path for path in paths if re.search("localnet|miner|dev", path)]
    assert {"localnet/", "miner/"} <= brought("localnet")


def test_the_operators_image_has_no_pip_and_nothing_that_builds() -> None:
    every = stages()
    line = lineage("validator")
    assert "pip uninstall --yes --quiet pip" in line[0].runs()
    assert "ensurepip" in line[0].runs()
    copied = [(origin, paths) for stage in line for origin, paths in stage.copies()]
    assert copied == [("dependencies", ["/packages", "/"]), ("code", ["/code", "/"])]
    assert "python -m venv --without-pip /opt/validator" in every["dependencies"].runs()
    assert "find /opt/validator/bin -mindepth 1 ! -name 'python*' -delete" in every["dependencies"].runs()
    assert not re.search(r"apt|apk|gcc|pip install", "\n".join(stage.runs() for stage in line))


def test_a_change_of_our_code_ships_one_layer() -> None:
    every = stages()
    before = {path for stage in lineage("dependencies") for _, paths in stage.copies() for path in paths[:-1]}
    assert before == {"requirements/scale.txt"}
    assert "--no-deps --root /code " in every["code"].runs()


def test_packages_are_installed_by_hash() -> None:
    for stage in stages().values():
        for install in re.findall(r"pip (?:--python \S+ )?(?:install|wheel) ([^&]*)", stage.runs()):
            assert "--require-hashes" in install or "--no-deps" in install


def test_it_runs_as_a_user_of_its_own() -> None:
    (user,) = [rest for stage in lineage("validator") for word, rest in stage.steps if word == "USER"]
    assert user == "10001:10001"  # as a number: what asks for a user that is not root sees that it is none


def test_the_classic_builder_can_build_it() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for newer in ("# syntax", "--mount", "--link", "--chmod", "<<"):
        assert newer not in text


@pytest.mark.parametrize("target", ["validator", "localnet"])
def test_what_a_build_takes_is_there_and_is_not_ignored(target: str) -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for path in brought(target):
        assert (ROOT / path).exists()
        assert path.split("/")[0] in allowed


def test_the_labels_say_what_it_is() -> None:
    ((_, text),) = [step for stage in lineage("validator") for step in stage.steps if step[0] == "LABEL"]
    labels = {word.partition("=")[0].rpartition(".")[2]: word.partition("=")[2] for word in shlex.split(text)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (labels["version"], labels["licenses"]) == (validator.__version__, project["license"])
    assert labels["description"] == project["description"]
    assert (labels["revision"], labels["source"]) == ("$REVISION", "$SOURCE")


def test_both_images_list_what_they_hold() -> None:
    for name in ("code", "localnet-code"):
        assert "--output-file /code/opt/validator/sbom.cdx.json /opt/validator/bin/python" in stages()[name].runs()


def test_the_list_of_parts_says_our_version() -> None:
    runs = stages()["code"].runs()
    line = re.search(r'sed "s/(.+?)/version = \\"\$version\\"/" /build/pyproject.toml >/build/sbom.toml', runs)
    assert line
    text = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(re.sub(line[1].replace('\\"', '"'), 'version = "1"', text, flags=re.MULTILINE))["project"]
    assert (project["version"], "dynamic" in project) == ("1", False)
    assert "--pyproject /build/sbom.toml" in runs


def test_every_file_of_ours_has_one_time() -> None:
    every = stages()
    for name in ("system", "dependencies", "code", "localnet-code"):
        words = [word for word, rest in every[name].steps if (word, rest) == ("ARG", "SOURCE_DATE_EPOCH")]
        assert words, name
        assert '-exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +' in every[name].runs()


def test_what_waits_for_somebody_waits_only_where_the_entry_point_says_so() -> None:
    steps = {word: rest for stage in lineage("validator") for word, rest in stage.steps}
    assert steps["ENTRYPOINT"] == '["python", "-P", "-m", "validator.daemon.entrypoint"]'
    assert steps["CMD"] == '["run"]'
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"validator": "validator.cli:main"}
