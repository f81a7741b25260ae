from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sssa.protocol.reasons import Reason
from sssa.sources import VirtualClock
from validator.health.board import Board
from validator.health.catalogue import CONDITIONS
from validator.telemetry.events import Event
from validator.telemetry.metrics import Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(VirtualClock(), "0.1.0")


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"validator_{name}", labels)


def test_dispatches_are_counted_by_reason_and_timed(metrics: Metrics) -> None:
    metrics.observe("dispatch", {"reason": "accepted", "seconds": 2.0, "hotkey": "5abc"})
    metrics.observe("dispatch", {"reason": Reason.DEADLINE_NO_AXON, "seconds": None})
    assert value(metrics, "dispatches_total", reason="accepted") == 1
    assert value(metrics, "dispatches_total", reason="deadline_no_axon") == 1
    assert value(metrics, "dispatches_total", reason="parse_schema") == 0
    assert value(metrics, "dispatch_seconds_count") == 1
    assert value(metrics, "dispatch_seconds_sum") == 2.0


def test_runs_of_plans_are_counted_with_what_they_took(metrics: Metrics) -> None:
    assert value(metrics, "workflow_runs_total", reason="quality_deferred") == 0
    for reason, cost in (("quality_judged", 0.02), ("quality_judged", 0.01), ("quality_deferred", 0.0)):
        metrics.observe(Event.WORKFLOW_RAN, {"reason": reason, "cost_tao": cost, "seconds": 1.5})
    metrics.observe(Event.WORKFLOW_RAN, {"reason": "quality_judged", "cost_tao": -1.0, "seconds": 1.5})
    assert value(metrics, "workflow_runs_total", reason="quality_judged") == 2
    assert value(metrics, "workflow_runs_total", reason="quality_deferred") == 1
    assert value(metrics, "workflow_cost_tao_total") == pytest.approx(0.03)
    assert value(metrics, "workflow_seconds_count") == 3


async def test_rounds_settle_or_end_otherwise() -> None:
    clock = VirtualClock()
    metrics = Metrics(clock, "0.1.0")
    await clock.advance(60.0)
    sent = {"accepted": 3}
    metrics.observe("round_settled", {"reason": "settled", "seconds": 12.0, "flags": ["5abc"], "dispatches": sent})
    await clock.advance(30.0)
    metrics.observe("round_settled", {"reason": "settled", "seconds": 1.0, "flags": [], "dispatches": {}})
    await clock.advance(60.0)
    metrics.observe("round_ended", {"reason": "skipped_no_tasks", "seconds": 0.1, "flags": []})
    assert value(metrics, "rounds_total", reason="settled") == 2
    assert value(metrics, "rounds_total", reason="skipped_no_tasks") == 1
    assert value(metrics, "last_settled_timestamp_seconds") == clock.now().timestamp() - 60
    assert value(metrics, "last_dispatched_round_timestamp_seconds") == clock.now().timestamp() - 90
    assert value(metrics, "flags_raised_total") == 1
    assert value(metrics, "round_seconds_count") == 2


def test_one_reason_blocks_the_weights_until_they_go_out(metrics: Metrics) -> None:
    metrics.observe("weights_blocked", {"mechid": 0, "reason": "weights_no_permit"})
    metrics.observe("weights_blocked", {"mechid": 0, "reason": "weights_rate_limited"})
    assert value(metrics, "weights_blocked", reason="weights_no_permit") is None
    assert value(metrics, "weights_blocked", reason="weights_rate_limited") == 1
    metrics.observe("weights_unblocked", {"mechid": 0})
    assert value(metrics, "weights_blocked", reason="weights_rate_limited") is None
    metrics.observe("weights_blocked", {"mechid": 0, "reason": "weights_rate_limited"})
    metrics.observe("weights_submitted", {"mechid": 0, "reason": "weights_sent", "seconds": 1.0})
    assert value(metrics, "weights_blocked", reason="weights_rate_limited") is None
    assert value(metrics, "weights_submissions_total", reason="weights_sent") == 1


def test_what_blocks_one_mechanism_stands_while_the_other_goes_on(metrics: Metrics) -> None:
    metrics.observe("weights_blocked", {"mechid": 0, "reason": "weights_chain_behind"})
    metrics.observe("weights_blocked", {"mechid": 1, "reason": "weights_chain_down"})
    metrics.observe("weights_unblocked", {"mechid": 1})
    metrics.observe("weights_submitted", {"mechid": 1, "reason": "weights_sent", "seconds": 1.0})
    assert value(metrics, "weights_blocked", reason="weights_chain_behind") == 1
    assert value(metrics, "weights_blocked", reason="weights_chain_down") is None
    metrics.observe("weights_submitted", {"mechid": 0, "reason": "weights_sent", "seconds": 1.0})
    assert value(metrics, "weights_blocked", reason="weights_chain_behind") is None


def test_errors_and_refusals_are_counted(metrics: Metrics) -> None:
    for name in ("round_failed", "dispatch_failed", "dispatch_failed", "task_refused", "task_source_failed"):
        metrics.observe(name, {})
    metrics.observe("retention_pruned", {"answers": 3, "bundles": 2})
    assert value(metrics, "errors_total", event="dispatch_failed") == 2
    assert value(metrics, "errors_total", event="round_failed") == 1
    assert value(metrics, "tasks_refused_total") == 1
    assert value(metrics, "task_source_failures_total") == 1
    assert value(metrics, "pruned_rows_total", kind="answers") == 3


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("unheard_of", {}),
        ("dispatch", {}),
        ("dispatch", {"reason": "no_such_reason", "seconds": 1}),
        ("dispatch", {"reason": Reason("no_such_reason"), "seconds": 1}),
        ("dispatch", {"reason": None}),
        ("dispatch", {"reason": "accepted", "seconds": "soon"}),
        ("round_settled", {"reason": "settled"}),
    ],
)
def test_odd_events_are_passed_over(metrics: Metrics, name: str, fields: dict[str, Any]) -> None:
    metrics.observe(name, fields)
    assert b"no_such_reason" not in metrics.render()


def test_the_text_form_is_valid_and_its_labels_are_bounded(metrics: Metrics) -> None:
    for event in Event:
        for reason in Reason:
            fields = {
                "reason": str(reason),
                "reached": "5abc" if reason.gate else "cpu",
                "seconds": 1.0,
                "hotkey": "5abc",
                "flags": ["5abc"],
                "block": 1,
            }
            metrics.observe(event, fields)
    metrics.declare({"declarative": 2})
    Board(VirtualClock(), metrics.condition)
    families = list(text_string_to_metric_families(metrics.render().decode()))
    series = [sample for family in families for sample in family.samples]
    assert {label for sample in series for label in sample.labels} == {
        "version",
        "scoring_version",
        "reason",
        "skill_type",
        "event",
        "kind",
        "le",
        "reached",
        "condition",
    }
    assert len(series) < 1000
    assert all(
        family.name.startswith(("validator_", "process_")) and family.documentation.endswith(".") for family in families
    )
    assert not any("5abc" in text for sample in series for text in sample.labels.values())


def test_a_condition_is_1_while_it_stands(metrics: Metrics) -> None:
    board = Board(VirtualClock(), metrics.condition)
    assert {value(metrics, "condition", condition=name) for name in CONDITIONS} == {0}
    board.raise_("store_away")
    assert value(metrics, "condition", condition="store_away") == 1
    board.clear("store_away")
    assert value(metrics, "condition", condition="store_away") == 0


def test_what_is_not_known_has_no_series_and_no_counter_has_a_second_one(metrics: Metrics) -> None:
    samples = [one for family in metrics.registry.collect() for one in family.samples]
    names = {one.name for one in samples}
    unknown = {"permit", "chain_block", "chain_reachable", "blocks_since_weights", "last_settled_timestamp_seconds"}
    assert not names & {f"validator_{name}" for name in unknown | {"miners_declared", "weights_blocked"}}
    assert not [name for name in names if name.endswith("_created")]
    metrics.permit.set(0)
    metrics.in_hand.follow(lambda: 7.5)
    assert (value(metrics, "permit"), value(metrics, "round_in_hand_seconds")) == (0, 7.5)
    metrics.permit.set(None)
    assert value(metrics, "permit") is None


def test_the_process_itself_is_measured(metrics: Metrics) -> None:
    text = metrics.render().decode()
    for name in ("process_open_fds", "process_max_fds", "process_resident_memory_bytes", "process_start_time_seconds"):
        assert f"\n{name} " in text
