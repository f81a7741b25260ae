"""The dashboards have Grafana's form, ask for what exists, and lead to the page that says what to do."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from dashboards import FOLDER, GRAFANA, boards, every_panel, mapped, panels, queries, value_mappings
from everything import everything
from package_files import ROOT
from promtool import promtool, rules

WIDTH: Final = 24
# Of Grafana's; `@grafana/data` has them all.
UNITS: Final = {"none", "short", "s", "dtdurations", "bytes", "percentunit", "bool_yes_no"}
KINDS: Final = {"stat", "timeseries", "table", "state-timeline"}
DASHBOARD: Final = {
    *("uid", "title", "description", "tags", "schemaVersion", "version", "editable", "graphTooltip", "timezone"),
    *("refresh", "fiscalYearStartMonth", "time", "timepicker", "links", "annotations", "templating", "panels"),
}
PANEL: Final = {
    *("id", "type", "title", "description", "datasource", "gridPos", "links", "fieldConfig", "options", "targets"),
}
OF_PROMETHEUS: Final = {"up", "ALERTS"}  # series that it makes itself
SEVERITIES: Final = {"page", "ticket"}


def source() -> dict[str, Any]:
    (one,) = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "prometheus.yml").read_text())["datasources"]
    return dict(one)


def cells(panel: dict[str, Any]) -> set[tuple[int, int]]:
    place = panel["gridPos"]
    return {
        (x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])
    }


def test_every_dashboard_has_a_name_of_its_own_and_links_to_the_others() -> None:
    uids = [board["uid"] for board in boards().values()]
    assert len(set(uids)) == len(uids) == 2
    for file, board in boards().items():
        assert re.fullmatch(r"[\w-]{1,40}", board["uid"])
        assert file == f"{board['uid'].removeprefix('sssa-')}.json"
        assert set(board) == DASHBOARD
        assert (board["schemaVersion"], board["timezone"]) == (41, "utc")
        assert {link["url"] for link in board["links"]} == {f"/d/{uid}" for uid in uids} - {f"/d/{board['uid']}"}
        numbers = [panel["id"] for panel in board["panels"]]
        assert len(set(numbers)) == len(numbers)


def sources(value: Any) -> Iterator[dict[str, str]]:
    """Every data source that is named anywhere in a dashboard."""
    if isinstance(value, dict):
        yield from [one for name, one in value.items() if name == "datasource"]
        for one in value.values():
            yield from sources(one)
    elif isinstance(value, list):
        for one in value:
            yield from sources(one)


def test_every_part_of_a_dashboard_asks_the_provisioned_source() -> None:
    grafana = {"type": "grafana", "uid": "-- Grafana --"}  # its own marks
    for board in boards().values():
        named = [one for one in sources(board) if one != grafana]
        assert len(named) > len(panels(board))
        assert all(one == {"type": "prometheus", "uid": source()["uid"]} for one in named)


def test_no_panel_lies_over_another_or_beyond_the_edge() -> None:
    for board in boards().values():
        for panel in board["panels"]:
            place = panel["gridPos"]
            assert min(place["w"], place["h"]) > 0 <= min(place["x"], place["y"])
            assert place["x"] + place["w"] <= WIDTH, panel["title"]
        for one, other in combinations(board["panels"], 2):
            assert not cells(one) & cells(other), (one["title"], other["title"])


@pytest.mark.parametrize(
    ("uid", "panel"), list(every_panel()), ids=lambda one: one if isinstance(one, str) else one["title"]
)
def test_every_panel_has_grafanas_form(uid: str, panel: dict[str, Any]) -> None:
    assert panel["type"] in KINDS, uid
    assert set(panel) - {"transformations"} == PANEL
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults.get("unit", "none") in UNITS
    assert defaults["noValue"]
    steps = defaults.get("thresholds", {"steps": [{"value": None}]})["steps"]
    assert steps[0]["value"] is None
    assert [step["value"] for step in steps[1:]] == sorted(step["value"] for step in steps[1:])
    assert [target["refId"] for target in panel["targets"]] == list("ABCD"[: len(panel["targets"])])
    for target in panel["targets"]:
        assert target["range"] != target["instant"]
        assert target["instant"] == (panel["type"] in {"stat", "table"})


def test_every_panel_says_what_it_shows_and_leads_to_its_page() -> None:
    docs = ROOT / "docs"
    for _, panel in every_panel():
        assert panel["description"].endswith("."), panel["title"]
        assert panel["links"], panel["title"]
        for link in panel["links"]:
            page, _, anchor = link["title"].partition("#")
            assert link["url"] == f"${{docs}}/{link['title']}"
            headings = re.findall(r"^#+ (.*)$", (docs / page).read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
            anchors |= set(re.findall(r'<a id="(\w+)">', (docs / page).read_text()))
            assert not anchor or anchor in anchors, link
            assert link["targetBlank"]  # Grafana's own router knows no such page


def test_the_first_dashboard_leads_to_every_alerts_page_and_back() -> None:
    linked = {link["url"].partition("#")[2] for panel in panels(boards()["validator.json"]) for link in panel["links"]}
    assert {rule["alert"].lower() for rule in rules()} <= linked
    named = set(re.findall(r"\bValidator[A-Z]\w+", (FOLDER / "validator.json").read_text()))
    assert named <= {rule["alert"] for rule in rules()}


def test_the_table_of_conditions_has_each_ones_advice() -> None:
    assert mapped(boards()["validator.json"]) == value_mappings(), "`make reference` writes it"


def test_promtool_reads_every_expression(tmp_path: Path) -> None:
    recorded = [{"record": f"panel:{number}", "expr": one.of("validator:9337")} for number, one in enumerate(queries())]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}))
    assert f"{len(recorded)} rules found" in promtool("check", "rules", str(file))


def test_every_series_label_and_value_that_a_panel_asks_for_exists() -> None:
    samples = [sample for family in everything().registry.collect() for sample in family.samples]
    labels: dict[str, dict[str, set[str]]] = {}
    for sample in samples:
        of_one = labels.setdefault(sample.name, {})
        for name, value in sample.labels.items():
            of_one.setdefault(name, set()).add(value)
    for one in queries():
        assert one.series(), one
        assert one.series() <= labels.keys() | OF_PROMETHEUS, one
        known: dict[str, set[str]] = {"instance": {"$instance"}}
        for name in one.series() & labels.keys():
            known |= labels[name]
        if "ALERTS" in one.series():
            known |= {"alertstate": {"firing"}, "severity": SEVERITIES}
        assert one.labels() <= known.keys(), one
        for label, operator, value in one.matchers():
            assert operator in {"=", "=~"}
            for part in value.split("|") if operator == "=~" else [re.escape(value)]:
                assert [seen for seen in known[label] if re.fullmatch(part, seen)], (one, part)
        assert one.expression.count('instance="$instance"') == len(re.findall(r"[A-Za-z_]\w*{", one.expression))


def test_every_series_of_the_validators_is_shown_by_a_panel() -> None:
    shown = set().union(*(one.series() for one in queries()))
    unseen = {
        family.name
        for family in everything().registry.collect()
        if family.name.startswith("validator_")
        and not shown & {family.name, f"{family.name}_total", f"{family.name}_bucket"}
    }
    # The last round with requests says more than the last one settled; an alert alone needs the interval.
    assert unseen == {"validator_last_settled_timestamp_seconds", "validator_round_interval_seconds"}
