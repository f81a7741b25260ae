"""The profile `monitoring`: what its services may, who reaches them, and that their files name each other."""

import configparser
import re
from typing import Any, Final

import pytest
import yaml
from package_files import ROOT

GRAFANA: Final = ROOT / "config" / "grafana"
PORTS: Final = {
    "prometheus": "127.0.0.1:${PROMETHEUS_PORT:-9090}:9090",
    "grafana": "127.0.0.1:${GRAFANA_PORT:-3000}:3000",
}


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


def service(name: str) -> dict[str, Any]:
    return dict(compose()["services"][name])


def mounted(name: str) -> dict[str, str]:
    """Return the mount point of each volume in the container, by its name."""
    return {one.split(":")[0]: one.split(":")[1] for one in service(name)["volumes"]}


@pytest.mark.parametrize("name", ["prometheus", "grafana"])
def test_a_watcher_is_held_as_the_validator_is_and_within_limits(name: str) -> None:
    watcher, validator = service(name), service("validator")
    for key in ("restart", "read_only", "security_opt", "cap_drop", "logging"):
        assert watcher[key] == validator[key], key
    assert watcher["profiles"] == ["monitoring"]
    assert 0 < watcher["pids_limit"] <= 256
    assert watcher["user"].split(":")[0] not in {"0", "root"}
    assert "/healthy" in str(watcher["healthcheck"]) or "/api/health" in str(watcher["healthcheck"])
    assert re.fullmatch(r"\$\{\w+:-[\w/]+:v?\d+\.\d+\.\d+}", watcher["image"])
    written = [one for one in watcher["volumes"] if not one.endswith(":ro")]
    assert [one.split(":")[0] for one in written] == [name]
    assert name in compose()["volumes"]


@pytest.mark.parametrize("name", ["prometheus", "grafana"])
def test_only_this_machine_reaches_a_watcher_and_it_reaches_no_database(name: str) -> None:
    assert service(name)["ports"] == [PORTS[name]]
    assert service(name)["networks"] == ["monitoring"]
    with_it = {one for one, of in compose()["services"].items() if "monitoring" in of.get("networks", ())}
    assert with_it == {"validator", "devnet", "prometheus", "grafana"}


def test_what_prometheus_asks_is_there() -> None:
    config = yaml.safe_load((ROOT / "config" / "prometheus" / "prometheus.yml").read_text())
    (mount,) = [one for one in service("prometheus")["volumes"] if one.startswith("./config/prometheus:")]
    assert mount == "./config/prometheus:/etc/prometheus:ro"
    assert "--config.file=/etc/prometheus/prometheus.yml" in service("prometheus")["command"]
    (told,) = config["alerting"]["alertmanagers"]
    (pattern,) = told["file_sd_configs"][0]["files"]
    assert (ROOT / "config" / "prometheus" / pattern).parent.is_dir()  # one that is not there is not watched
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    assert jobs["validator"]["static_configs"] == [{"targets": ["validator:9337"]}]
    assert service("validator")["expose"] == ["9337"]
    assert jobs["validator"]["authorization"] == {"credentials_file": "/run/secrets/health_token"}
    assert service("prometheus")["secrets"] == ["health_token"]
    (found,) = jobs["devnet"]["dns_sd_configs"]
    assert (found["names"], found["type"], found["port"]) == (["devnet"], "A", 9337)
    environment = service("devnet")["environment"]
    for key, value in {"HOST": "0.0.0.0", "PORT": "9337", "EXPOSE": "true"}.items():
        assert environment[f"VALIDATOR_HEALTH__{key}"] == value


def test_grafana_finds_its_source_and_its_dashboards() -> None:
    places = mounted("grafana")
    (source,) = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((GRAFANA / "provisioning" / "dashboards" / "files.yml").read_text())["providers"]
    assert provider["options"]["path"] == places["./config/grafana/dashboards"]
    for kind in ("datasources", "dashboards"):
        assert places[f"./config/grafana/provisioning/{kind}"] == f"/etc/grafana/provisioning/{kind}"
    home = settings()["dashboards"]["default_home_dashboard_path"]
    assert (GRAFANA / "dashboards" / home.removeprefix(f"{provider['options']['path']}/")).is_file()
    assert places["./docs"] == "/usr/share/grafana/public/docs"


def settings() -> configparser.ConfigParser:
    assert mounted("grafana")["./config/grafana/grafana.ini"] == "/etc/grafana/grafana.ini"
    found = configparser.ConfigParser(interpolation=None)
    found.read(GRAFANA / "grafana.ini")
    return found


def test_nobody_enters_grafana_without_the_password_of_a_file() -> None:
    assert settings()["security"]["admin_password"] == "$__file{/run/secrets/grafana_password}"
    assert settings()["auth.anonymous"]["enabled"] == "false"
    assert settings()["users"]["allow_sign_up"] == "false"
    assert service("grafana")["secrets"] == ["grafana_password"]
    assert "environment" not in service("grafana")  # GF_… would win over the file
    assert service("grafana")["entrypoint"][2].startswith("test -s /run/secrets/grafana_password && exec /run.sh;")
    for name in ("health_token", "grafana_password"):
        assert compose()["secrets"][name] == {"file": f"${{{name.upper()}_FILE:-./config/no-secret}}"}


def test_grafana_asks_nobody_on_the_internet() -> None:
    plugins = {
        "preinstall_disabled": "true",
        "preinstall_auto_update": "false",
        "public_key_retrieval_disabled": "true",
    }
    assert dict(settings()["plugins"]) == plugins
    off = ("reporting_enabled", "check_for_updates", "check_for_plugin_updates")
    assert {settings()["analytics"][name] for name in off} == {"false"}
    assert settings()["news"]["news_feed_enabled"] == "false"
