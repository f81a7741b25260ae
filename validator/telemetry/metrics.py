"""Prometheus metrics, in their own registry. Labels are codes and types, never hotkeys but in `kept_bytes`.

Most of them follow from the log's canonical lines: `Metrics.observe` is given every event that is logged, whatever
the log level. What no event tells is set where it happens. `health/endpoint.py` serves them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from sssa.protocol.reasons import OURS, Reason
from sssa.protocol.remedies import REMEDIES
from sssa.protocol.skill_types import SkillType
from sssa.scoring import CURRENT
from sssa.sources import Clock
from validator.telemetry.events import Event
from validator.telemetry.log import log_state
from validator.workers.interface import Reached

_SECONDS: Final = (0.1, 0.3, 1, 3, 10, 30, 90, 150, 300, 600, 900, 1200)
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_WRITES: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
_LAG: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_DISPATCH: Final = tuple(
    reason for reason in Reason if reason.gate or reason in {Reason.ACCEPTED, Reason.ACCEPTED_EARLY, *OURS}
)
_ROUND: Final = (Reason.SETTLED, Reason.SKIPPED_NO_TASKS, Reason.SKIPPED_NO_CANDIDATES, Reason.VOID_OFFLINE)
_ERRORS: Final = (
    Event.DISPATCH_FAILED,
    Event.ROUND_FAILED,
    Event.WORK_FAILED,
    Event.WEIGHTS_FAILED,
    Event.REQUEST_FAILED,
)
_REACHED: Final[tuple[str, ...]] = get_args(Reached)
_WEIGHTS: Final = tuple(reason for reason in Reason if reason.startswith("weights_") or reason == Reason.LOCAL_CLOCK)


class Figure(Collector):
    """A gauge that may have no value."""

    def __init__(self, name: str, meaning: str, registry: CollectorRegistry) -> None:
        self._name = name
        self._meaning = meaning
        self._value: Callable[[], float | None] = lambda: None
        registry.register(self)

    def set(self, value: float | None) -> None:
        """Set the value; None: none."""
        self._value = lambda: value

    def follow(self, value: Callable[[], float | None]) -> None:
        """Read the value anew whenever it is shown."""
        self._value = value

    @property
    def known(self) -> bool:
        """True if there is a value to show."""
        return self._value() is not None

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield its name, for the registry."""
        yield GaugeMetricFamily(self._name, self._meaning)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield its sample, if there is one."""
        if (value := self._value()) is not None:
            yield GaugeMetricFamily(self._name, self._meaning, value=float(value))


class Described(NamedTuple):
    """Description of a metric for the reference: type, labels, one sentence."""

    kind: str
    labels: tuple[str, ...]
    meaning: str


class MetricFactory:
    """Metrics in their own registry, each with a prefix; `described` has them by the name that is queried."""

    def __init__(self, prefix: str) -> None:
        self.registry = CollectorRegistry()
        self.described: dict[str, Described] = {}
        self._prefix = prefix

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        """Make a counter; it is shown with `_total` behind its name."""
        full = self._note(name, "counter", meaning, labels, "_total")
        return Counter(full, meaning, labels, registry=self.registry)

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        """Make a gauge."""
        return Gauge(self._note(name, "gauge", meaning, labels), meaning, labels, registry=self.registry)

    def figure(self, name: str, meaning: str) -> Figure:
        """Make a gauge without a value until one is set."""
        return Figure(self._note(name, "gauge", meaning), meaning, self.registry)

    def histogram(self, name: str, meaning: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
        """Make a histogram with these upper bounds."""
        return Histogram(self._note(name, "histogram", meaning), meaning, registry=self.registry, buckets=buckets)

    def _note(self, name: str, kind: str, meaning: str, labels: tuple[str, ...] = (), suffix: str = "") -> str:
        """Record the description of a metric; return its name without the suffix."""
        full = f"{self._prefix}_{name}"
        self.described[f"{full}{suffix}"] = Described(kind, labels, meaning)
        return full


class Metrics:
    """All metrics of one validator of a version; `described` has what there is, by the name that is queried."""

    def __init__(self, clock: Clock, version: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter: of no use
        made = MetricFactory("validator")
        self.registry, self.described = made.registry, made.described
        self._clock = clock
        self._unpaid: dict[int, int] = {}
        self._blocked: dict[Any, Reason | None] = {}  # by mechanism
        ProcessCollector(registry=self.registry)
        self.build_info = made.gauge("build_info", "1, with the versions as labels.", "version", "scoring_version")
        self.build_info.labels(version, CURRENT).set(1)
        self.dispatches = made.counter("dispatches", "Dispatches that ended, by reason.", "reason")
        self.dispatch_seconds = made.histogram("dispatch_seconds", "From the first byte sent to the last one received.")
        self.workers_ended = made.counter(
            "workers_ended", "Workers that died or ran out of what one answer may cost, by which.", "reached"
        )
        self.workflow_runs = made.counter(
            "workflow_runs", "Plans that were run, by whether they were judged.", "reason"
        )
        self.workflow_cost = made.counter("workflow_cost_tao", "TAO that the runs of plans took.")
        self.workflow_seconds = made.histogram("workflow_seconds", "From a run's first step to its last.")
        self.work_ended = made.counter(
            "work_ended", "Executions and code checks that ended, by kind and reason.", "kind", "reason"
        )
        self.queued = made.gauge("queue", "Waiting work in the store, by kind and state.", "kind", "state")
        self.queue_oldest = made.gauge(
            "queue_oldest_seconds", "How long the oldest piece that is pending or running has waited.", "kind"
        )
        self.queue_at_once = made.gauge("queue_at_once", "Tries that this process makes at a time; 0: none.", "kind")
        self.rounds = made.counter("rounds", "Rounds that ended, by reason.", "reason")
        self.round_seconds = made.histogram("round_seconds", "From snapshot to settlement.")
        self.last_settled = made.figure("last_settled_timestamp_seconds", "When a round was settled last.")
        self.last_dispatched = made.figure(
            "last_dispatched_round_timestamp_seconds", "When a round that had sent requests was settled last."
        )
        self.in_hand = made.figure("round_in_hand_seconds", "For how long the round in hand has run.")
        self.interval = made.figure("round_interval_seconds", "Pause between the starts of two rounds, as set.")
        self.errors = made.counter("errors", "Errors of the validator itself, by event.", "event")
        self.flags = made.counter("flags_raised", "Collusion flags raised.")
        self.active_flags = made.figure("flags_active", "Collusion flags that nobody has cleared.")
        self.declared = made.gauge("miners_declared", "Miners with a valid declaration, by skill type.", "skill_type")
        self.tasks_refused = made.counter("tasks_refused", "Tasks that were not used.")
        self.source_failures = made.counter("task_source_failures", "Requests to task sources that failed.")
        self.chain_reachable = made.figure("chain_reachable", "1 while the chain answers, else 0.")
        self.chain_block = made.figure("chain_block", "Newest block seen.")
        self.chain_age = made.figure("chain_block_age_seconds", "For how long the newest block has been the newest.")
        self.clock_off = made.figure(
            "clock_offset_seconds",
            "By how much the clock is ahead of the chain's; 0 also means that no deviation can be measured.",
        )
        self.permit = made.figure("permit", "1 while this hotkey is registered and has a validator permit, else 0.")
        self.weights = made.counter("weights_submissions", "Weight submissions, by result.", "reason")
        self.weights_blocked = made.gauge("weights_blocked", "1 for the reason why none can be sent now.", "reason")
        self.weights_age = made.figure("blocks_since_weights", "Blocks since this hotkey's last weights on chain.")
        self.weights_epochs = made.gauge("epochs_since_weights", "Epochs since weights were confirmed.", "mechid")
        self.unpaid = made.gauge(
            "unpaid_windows", "Windows that the newest vector does not pay, by reason.", "mechid", "reason"
        )
        self._own = {
            "trust": made.figure("trust", "Validator trust of this hotkey, 0 to 1, after the subnet's last step."),
            "median_trust": made.figure("median_trust", "Median of the trust of all validators."),
            "dividends": made.figure("dividends", "This hotkey's share of what validators earn, 0 to 1."),
            "emission_alpha": made.figure("emission_alpha", "What this hotkey earned in the last epoch, alpha."),
            "rank": made.figure("rank", "This hotkey's place among validators, by dividends, from 1."),
            "stake_tao": made.figure("stake_tao", "Stake of this hotkey, TAO."),
            "min_stake_tao": made.figure("least_stake_tao", "Least stake with which weights may be set, TAO."),
        }
        self.weights_seconds = made.histogram("weights_seconds", "Time until the chain answered a submission.")
        self._of_store(made)
        self.conditions = made.gauge("condition", "1 while the condition is active, else 0.", "condition")
        self.log_lost = made.figure("log_lost_lines", "Lines of the log that were lost since the start.")
        self.log_lost.follow(lambda: log_state().lost)
        self.loop_lag = made.histogram("loop_lag_seconds", "How late the event loop ran a timer.", _LAG)
        self._begin_at_zero()
        self._handlers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            Event.DISPATCH: self._dispatch,
            Event.WORKFLOW_RAN: self._run,
            Event.WORKER_ENDED: self._worker,
            Event.WORK_ENDED: lambda fields: self.work_ended.labels(fields["kind"], fields["reason"]).inc(),
            Event.ROUND_SETTLED: self._round,
            Event.ROUND_ENDED: self._round,
            Event.WEIGHTS_SUBMITTED: self._weights,
            Event.WEIGHTS_BLOCKED: lambda fields: self._block(fields, _reason(fields)),
            Event.WEIGHTS_UNBLOCKED: lambda fields: self._block(fields, None),
            Event.TASK_REFUSED: lambda _: self.tasks_refused.inc(),
            Event.TASK_SOURCE_FAILED: lambda _: self.source_failures.inc(),
            Event.RETENTION_PRUNED: self._pruned,
            **{event: self._error(event) for event in _ERRORS},
        }

    def _of_store(self, made: MetricFactory) -> None:
        self.pruned = made.counter("pruned_rows", "Rows that retention removed.", "kind")
        self.store_bytes = made.figure("store_bytes", "Size of the database.")
        self.kept_bytes = made.gauge(
            "kept_bytes",
            "Bytes that answers of the newest 144 rounds keep permanently, by registered hotkey.",
            "hotkey",
        )
        self.store_write = made.histogram("store_write_seconds", "How long a small write took.", _WRITES)
        self.disk_free = made.gauge("disk_free_bytes", "Free space where the store and temporary files lie.", "place")
        self.anchor_age = made.figure("blocks_since_anchor", "Blocks since the log was anchored on chain, if it is.")
        self.receipts = made.figure("receipts", "Receipts in the log; /readyz tells the newest one's digest.")

    def observe(self, name: str, fields: Mapping[str, Any]) -> None:
        """Count an event. A missing or odd field is ignored: metrics never cost a log line."""
        handler = self._handlers.get(name)
        if handler is None:
            return
        try:
            handler(fields)
        except (KeyError, TypeError, ValueError):
            return

    def declare(self, miners: Mapping[str, int]) -> None:
        """Note how many miners have a valid declaration of each type."""
        for skill_type in SkillType:
            self.declared.labels(str(skill_type)).set(miners.get(skill_type, 0))

    def record_block(self, number: int) -> None:
        """Note the newest block."""
        self.chain_reachable.set(1)
        self.chain_block.set(number)

    def condition(self, name: str, active: bool) -> None:
        """Note whether a condition is active."""
        self.conditions.labels(name).set(active)

    def queue(self, kind: str, states: Mapping[str, int], oldest_s: float, at_once: int) -> None:
        """Note the state of a queue of waiting work: how many in each state, and seconds that the oldest has waited."""
        for state, many in states.items():
            self.queued.labels(kind, state).set(many)
        self.queue_oldest.labels(kind).set(oldest_s)
        self.queue_at_once.labels(kind).set(at_once)

    def keeps(self, by_hotkey: Mapping[str, int]) -> None:
        """Show the bytes that answers of the newest rounds keep permanently; only these hotkeys stay."""
        self.kept_bytes.clear()
        for hotkey, number in by_hotkey.items():
            self.kept_bytes.labels(hotkey).set(number)

    def pays(self, mechid: int, unpaid: Collection[str]) -> None:
        """Show the unpaid windows of a mechanism's vector by reason (SPEC 11, D-23)."""
        self._unpaid[mechid] = len(unpaid)
        for reason in REMEDIES:
            self.unpaid.labels(str(mechid), str(reason)).set(sum(one == reason for one in unpaid))

    def unpaid_windows(self) -> int | None:
        """Return how many windows the newest vectors do not pay, over all mechanisms; None before the first."""
        return sum(self._unpaid.values()) if self._unpaid else None

    def render(self) -> bytes:
        """Return the metrics in Prometheus' text form, CONTENT_TYPE."""
        return generate_latest(self.registry)

    def _dispatch(self, fields: Mapping[str, Any]) -> None:
        self.dispatches.labels(_reason(fields)).inc()
        if fields.get("seconds") is not None:
            self.dispatch_seconds.observe(fields["seconds"])

    def _run(self, fields: Mapping[str, Any]) -> None:
        self.workflow_cost.inc(fields["cost_tao"])
        self.workflow_runs.labels(_reason(fields)).inc()
        self.workflow_seconds.observe(fields["seconds"])

    def _worker(self, fields: Mapping[str, Any]) -> None:
        if fields["reached"] in _REACHED:
            self.workers_ended.labels(fields["reached"]).inc()

    def _round(self, fields: Mapping[str, Any]) -> None:
        reason = _reason(fields)
        self.rounds.labels(reason).inc()
        self.flags.inc(len(fields.get("flags", ())))
        if reason == Reason.SETTLED:
            self.last_settled.set(self._clock.now().timestamp())
            if fields.get("dispatches"):
                self.last_dispatched.set(self._clock.now().timestamp())
            self.round_seconds.observe(fields["seconds"])

    def own_figures(self, figures: Mapping[str, float]) -> None:
        """Show this hotkey's figures on the subnet, by their names."""
        for name, figure in self._own.items():
            figure.set(figures[name])

    def _weights(self, fields: Mapping[str, Any]) -> None:
        self.weights.labels(_reason(fields)).inc()
        self.weights_seconds.observe(fields["seconds"])
        self._block(fields, None)

    def _block(self, fields: Mapping[str, Any], reason: Reason | None) -> None:
        """Show why any mechanism's weights cannot be sent; each mechanism has its own reason."""
        self._blocked[fields.get("mechid")] = reason
        self.weights_blocked.clear()
        for one in self._blocked.values():
            if one in _WEIGHTS:
                self.weights_blocked.labels(one).set(1)

    def _pruned(self, fields: Mapping[str, Any]) -> None:
        for kind in ("answers", "bundles"):
            self.pruned.labels(kind).inc(fields[kind])

    def _error(self, event: Event) -> Callable[[Mapping[str, Any]], None]:
        counter = self.errors.labels(str(event))
        return lambda _: counter.inc()

    def _begin_at_zero(self) -> None:
        """Make every labelled series exist from the start, so that alerts can tell 0 from absent."""
        for reason in _DISPATCH:
            self.dispatches.labels(reason)
        for reached in _REACHED:
            self.workers_ended.labels(reached)
        for reason in (Reason.QUALITY_JUDGED, Reason.QUALITY_DEFERRED):
            self.workflow_runs.labels(reason)
        for reason in _ROUND:
            self.rounds.labels(reason)
        for reason in (Reason.WEIGHTS_SENT, Reason.WEIGHTS_REJECTED, Reason.WEIGHTS_UNKNOWN):
            self.weights.labels(reason)
        for kind in ("answers", "bundles"):
            self.pruned.labels(kind)


def _reason(fields: Mapping[str, Any]) -> Reason:
    """Return the event's reason; labels must not grow with codes of other versions.

    Raises:
        KeyError, ValueError: there is none that this version knows.
    """
    reason = Reason(fields["reason"])
    if not reason.known:
        raise ValueError(reason)
    return reason
