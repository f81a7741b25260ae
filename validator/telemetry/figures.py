"""Gauges that say nothing before something is known: an absent series is no 0."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class Figure(Collector):
    """One number, or none.

    Args:
        name: with the prefix.
        meaning: one sentence.
        registry: where it is shown.
    """

    def __init__(self, name: str, meaning: str, registry: CollectorRegistry) -> None:
        self._name = name
        self._meaning = meaning
        self._value: Callable[[], float | None] = lambda: None
        registry.register(self)

    def set(self, value: float | None) -> None:
        """Show this from now on; None shows nothing."""
        self._value = lambda: value

    def follow(self, value: Callable[[], float | None]) -> None:
        """Ask for the value whenever it is shown."""
        self._value = value

    @property
    def known(self) -> bool:
        """Whether it shows something."""
        return self._value() is not None

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield its name, for the registry."""
        yield GaugeMetricFamily(self._name, self._meaning)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield its sample, if there is one."""
        if (value := self._value()) is not None:
            yield GaugeMetricFamily(self._name, self._meaning, value=float(value))
