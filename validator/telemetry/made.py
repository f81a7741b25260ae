"""Metrics as they are made: each is shown under one prefix and noted for the reference."""

from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from validator.telemetry.figures import Figure

_SECONDS: Final = (0.1, 0.3, 1, 3, 10, 30, 90, 150, 300, 600, 900, 1200)


class Described(NamedTuple):
    """A metric as the reference shows it: its type and labels, and one sentence."""

    kind: str
    labels: tuple[str, ...]
    meaning: str


class Made:
    """Makes metrics in a registry of their own.

    Args:
        prefix: of every name.

    Attributes:
        registry: where they are shown.
        described: what was made, by the name that is queried.
    """

    def __init__(self, prefix: str) -> None:
        self.registry = CollectorRegistry()
        self.described: dict[str, Described] = {}
        self._prefix = prefix

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        """Make what only grows; it is shown with `_total` behind its name."""
        full = self._note(name, "counter", meaning, labels, "_total")
        return Counter(full, meaning, labels, registry=self.registry)

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        """Make what goes up and down."""
        return Gauge(self._note(name, "gauge", meaning, labels), meaning, labels, registry=self.registry)

    def figure(self, name: str, meaning: str) -> Figure:
        """Make a gauge that says nothing before something is known."""
        return Figure(self._note(name, "gauge", meaning), meaning, self.registry)

    def histogram(self, name: str, meaning: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
        """Make a distribution over buckets, whose upper bounds are given."""
        return Histogram(self._note(name, "histogram", meaning), meaning, registry=self.registry, buckets=buckets)

    def _note(self, name: str, kind: str, meaning: str, labels: tuple[str, ...] = (), suffix: str = "") -> str:
        """Note a metric, and return the name that its library wants."""
        full = f"{self._prefix}_{name}"
        self.described[f"{full}{suffix}"] = Described(kind, labels, meaning)
        return full
