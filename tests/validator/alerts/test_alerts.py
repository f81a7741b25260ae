"""Each alert fires on what it is for and on nothing else, names only what exists, and has its page."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml
from everything import everything
from package_files import ROOT
from promtool import FOLDER, hold_rules_to, promtool, rules

from sssa.protocol.reasons import Reason
from sssa.sources import SystemClock
from validator.health.alerts import ALERTS, PAGE
from validator.health.alerts import rules as made
from validator.health.catalogue import CONDITIONS
from validator.telemetry.metrics import Metrics

ALIVE: Final = {"job": "validator", "instance": "validator:9337"}
INTERVAL: Final = "validator_round_interval_seconds"
LAST: Final = "validator_last_dispatched_round_timestamp_seconds"
START: Final = "process_start_time_seconds"


class Case(NamedTuple):
    """Series by minute, and the alert's labels `at` so many minutes; None: it is silent."""

    alert: str
    series: dict[str, str]
    at: int
    labels: dict[str, str] | None


def of(name: str, **labels: str) -> str:
    shown = ",".join(f'{key}="{value}"' for key, value in {**ALIVE, **labels}.items())
    return f"{name}{{{shown}}}"


def condition(alert: str, name: str, minutes: int) -> list[Case]:
    """It fires once the condition has stood for so long, not a minute sooner, and not without it."""
    series, labels = of("validator_condition", condition=name), {**ALIVE, "condition": name}
    return [
        Case(alert, {series: f"0x5 1x{minutes + 5}"}, 6 + minutes, labels),
        Case(alert, {series: f"0x5 1x{minutes + 5}"}, 5 + minutes, None),
        Case(alert, {series: "0x40"}, 40, None),
    ]


DOWN: Final = of("up")
CASES: Final = [
    *(case for alert in ALERTS for one in alert.conditions for case in condition(alert.name, one.name, alert.minutes)),
    Case("ValidatorDown", {DOWN: "1x5 0x20"}, 11, ALIVE),
    Case("ValidatorDown", {DOWN: "1x5 0x20"}, 10, None),
    Case("ValidatorDown", {'up{job="another"}': "1x20"}, 6, {"job": "validator"}),
    Case("ValidatorDown", {DOWN: "1x40"}, 40, None),
    Case("ValidatorRestarts", {of(START): "0x5 300x5 600x5 900x5 1200x20"}, 40, ALIVE),
    Case("ValidatorRestarts", {of(START): "0x5 300x5 600x5 900x40"}, 40, None),
    Case(
        "ValidatorFault",
        {of("validator_errors_total", event="dispatch_failed"): "0x10 1x60"},
        20,
        {**ALIVE, "event": "dispatch_failed"},
    ),
    Case("ValidatorFault", {of("validator_errors_total", event="dispatch_failed"): "3x60"}, 50, None),
    # 600 s between rounds: silent for 50 minutes.
    Case("ValidatorNoDispatches", {of(INTERVAL): "600x90", of(START): "0x90", of(LAST): "600x90"}, 66, ALIVE),
    Case("ValidatorNoDispatches", {of(INTERVAL): "600x90", of(START): "0x90", of(LAST): "600x90"}, 60, None),
    Case("ValidatorNoDispatches", {of(INTERVAL): "600x90", of(START): "0x90", of(LAST): "0+60x90"}, 90, None),
    Case("ValidatorNoDispatches", {of(INTERVAL): "600x90", of(START): "0x90"}, 56, ALIVE),  # never one
    Case("ValidatorNoDispatches", {of(INTERVAL): "600x90", of(START): "3000x90", of(LAST): "60x90"}, 90, None),
    Case("ValidatorNoDispatches", {'process_start_time_seconds{job="another"}': "0x90"}, 90, None),
    *(
        Case("ValidatorWeightsGuarded", {of("validator_weights_blocked", reason=reason): "1x20"}, 10, labels)
        for reason, labels in {
            **{
                name: {**ALIVE, "reason": name}
                for name in (
                    "weights_guard_missing",
                    "weights_clock_back",
                    "weights_chain_behind",
                    "weights_epoch_back",
                )
            },
            "weights_rate_limited": None,
        }.items()
    ),
    Case(
        "ValidatorDiskFills",
        {of("validator_disk_free_bytes", place="store"): "40000000000-20000000x90"},  # gone in 33 hours
        70,
        {**ALIVE, "place": "store"},
    ),
    Case("ValidatorDiskFills", {of("validator_disk_free_bytes", place="store"): "40000000000-10000000x90"}, 70, None),
]


def expected(case: Case) -> dict[str, Any]:
    (rule,) = [rule for rule in rules() if rule["alert"] == case.alert]
    alerts = []
    if case.labels is not None:
        filled = {
            name: re.sub(r"{{ \$labels\.(\w+) }}", lambda match: (case.labels or {})[match[1]], text)
            for name, text in rule["annotations"].items()
        }
        alerts = [{"exp_labels": {**rule["labels"], **case.labels}, "exp_annotations": filled}]
    return {"eval_time": f"{case.at}m", "alertname": case.alert, "exp_alerts": alerts}


def in_promtools_form(series: Mapping[str, str], cases: Iterable[Case]) -> dict[str, Any]:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [expected(case) for case in cases],
    }


def test_the_rules_are_those_of_the_code() -> None:
    assert (FOLDER / "rules.yml").read_text() == made()


def test_prometheus_takes_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    (tmp_path / "rules.yml").write_text((FOLDER / "rules.yml").read_text())
    config = (FOLDER / "prometheus.yml").read_text()
    assert config.count("/run/secrets/health_token") == 1
    (tmp_path / "prometheus.yml").write_text(config.replace("/run/secrets/health_token", str(tmp_path / "token")))
    promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert f"{len(rules())} rules found" in promtool("check", "rules", str(FOLDER / "rules.yml"))


def test_every_alert_fires_on_what_it_is_for_and_on_nothing_else(tmp_path: Path) -> None:
    alike = groupby(CASES, key=lambda case: case.series)
    hold_rules_to([in_promtools_form(series, cases) for series, cases in alike], tmp_path)


def test_every_alert_has_a_case_that_fires_and_one_that_is_silent() -> None:
    for fires in (True, False):
        assert {case.alert for case in CASES if (case.labels is not None) == fires} == {r["alert"] for r in rules()}


def test_every_condition_but_notes_is_asked_for_by_one_alert() -> None:
    asked = [
        name
        for rule in rules()
        for names in re.findall(r'validator_condition{\s*job="validator", condition=~?"([^"]*)"\s*}', rule["expr"])
        for name in names.split("|")
    ]
    assert sorted(asked) == sorted(name for name, one in CONDITIONS.items() if one.severity != "note")


@pytest.mark.parametrize("metrics", [Metrics(SystemClock(), "1"), everything()], ids=["at the start", "later"])
def test_promtool_finds_nothing_wrong_with_the_metrics(metrics: Metrics) -> None:
    assert promtool("check", "metrics", given=metrics.render()).strip() == ""


def test_every_metric_and_label_that_a_rule_names_exists() -> None:
    samples = [sample for family in everything().registry.collect() for sample in family.samples]
    names, labels = {one.name for one in samples}, {label for one in samples for label in one.labels}
    for rule in rules():
        expression = re.sub(r'"[^"]*"', '""', rule["expr"])
        named = set(re.findall(r"\b(?:validator|process)_\w+", expression))
        assert named <= names, rule["alert"]
        assert named or "up{" in expression
        assert set(re.findall(r"(\w+)=~?", expression)) - {"job"} <= labels
        assert set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))) <= labels
    reasons = re.findall(r"weights_\((.*)\)", yaml.safe_dump(rules(), width=1000))
    assert {f"weights_{name}" for name in reasons[0].split("|")} <= {str(reason) for reason in Reason}


def test_every_alert_asks_for_the_validators_job_alone() -> None:
    for rule in rules():
        series = re.findall(r"\b(?:up|(?:validator|process)_\w+)\b", re.sub(r'"[^"]*"', "", rule["expr"]))
        assert series
        assert len(series) == rule["expr"].count('job="validator"'), rule["alert"]


def test_every_alert_says_whom_it_wakes_and_where_its_page_is() -> None:
    page = (ROOT / PAGE).read_text()
    entries = re.findall(r'<a id="(\w+)"></a>(\w+), (page|ticket)\b', page)
    assert sorted(entries) == sorted(
        (rule["alert"].lower(), rule["alert"], rule["labels"]["severity"]) for rule in rules()
    )
    for rule in rules():
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["runbook"] == f"{PAGE}#{rule['alert'].lower()}"
        assert rule["annotations"]["summary"].endswith(".")
