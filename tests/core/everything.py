"""A registry that shows every series that the validator can show."""

from sssa.protocol.reasons import Reason
from sssa.protocol.remedies import REMEDIES
from sssa.sources import SystemClock
from validator.health.board import Board
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics
from validator.weights.figures import OwnFigures


def everything() -> Metrics:
    """Metrics that have seen every event and every figure."""
    metrics = Metrics(SystemClock(), "1")
    Board(SystemClock(), metrics.condition)
    for event in Event:
        for reason in Reason:
            fields = {
                "reason": str(reason),
                "kind": "executions",
                "seconds": 1.0,
                "flags": [],
                "dispatches": {"accepted": 1},
            }
            metrics.observe(event, {**fields, "block": 1, "outcome": "pass", "reached": "cpu", "cost_tao": 0.1})
    metrics.observe(Event.WORK_ENDED, {"kind": "code", "reason": "quality_judged"})
    metrics.observe(Event.WEIGHTS_BLOCKED, {"mechid": 0, "reason": "weights_clock_back"})
    metrics.declare({"declarative": 1})
    metrics.pays(0, [str(reason) for reason in REMEDIES])
    metrics.record_block(1)
    metrics.keeps({"hotkey": 1})
    metrics.disk_free.labels("store").set(1)
    metrics.weights_epochs.labels("0").set(1)
    metrics.queue("executions", {"pending": 1, "running": 1}, 1.0, 2)
    for figure in (metrics.interval, metrics.permit, metrics.active_flags, metrics.store_bytes, metrics.clock_off):
        figure.set(1)
    metrics.own_figures(dict.fromkeys(OwnFigures._fields, 1.0))
    for figure in (metrics.in_hand, metrics.chain_age, metrics.weights_age):
        figure.follow(lambda: 1.0)
    return metrics
