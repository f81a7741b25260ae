"""Endpoints of one chain: which are healthy, and why and until when the others are not used.

All connections of a process share one value: a submission avoids an endpoint that a reader has found unhealthy. A new
process probes all endpoints before it uses one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import structlog

from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.chain.limits import Limits
from validator.chain.probe import Node, endpoint_problems, look_at
from validator.settings.urls import shown_url
from validator.telemetry import Event

_PAUSE_S: Final = 600.0  # for so long an unhealthy endpoint is not used
_log = structlog.get_logger()


class _Unhealthy(NamedTuple):
    reason: str
    until: float  # by the monotonic clock


class Endpoints:
    """Choice among the endpoints of one chain: network names or websocket urls, the favourite first.

    Attributes:
        genesis: of the chain whose endpoints are preferred; None: all must be of the same one.
        highest: the highest block of any endpoint.
    """

    def __init__(self, endpoints: Sequence[str], clock: Clock, limits: Limits) -> None:
        self.all = tuple(endpoints)
        self.genesis: str | None = None
        self.highest = 0
        self._clock = clock
        self._limits = limits
        self._unhealthy: dict[str, _Unhealthy] = {}

    @property
    def unhealthy(self) -> Mapping[str, str]:
        """Reasons for not using endpoints, by their shown url; empty if there is only one endpoint."""
        return {shown_url(one): unhealthy.reason for one, unhealthy in self._unhealthy.items() if len(self.all) > 1}

    def described(self) -> str:
        """Return all endpoints, each with its known problem; for messages."""
        reasons = {one: f": {unhealthy.reason}" for one, unhealthy in self._unhealthy.items()}
        return "; ".join(dict.fromkeys(shown_url(one) + reasons.get(one, "") for one in self.all))

    def has_other(self, endpoint: str) -> bool:
        """Return whether another endpoint is healthy, as far as is known."""
        return any(one != endpoint and one not in self._unhealthy for one in self.all)

    def leave(self, endpoint: str, reason: str) -> bool:
        """Mark an endpoint as unhealthy for `_PAUSE_S`; return whether another one is healthy."""
        known, reason = endpoint in self._unhealthy, printable(reason, 300)
        self._unhealthy[endpoint] = _Unhealthy(reason, self._clock.monotonic() + _PAUSE_S)
        if not known and len(self.all) > 1:
            _log.warning(Event.CHAIN_ENDPOINT_UNHEALTHY, endpoint=shown_url(endpoint), reason=reason, seconds=_PAUSE_S)
        return self.has_other(endpoint)

    async def choose(self) -> str:
        """Return the endpoint to connect to: the first healthy one, else the first that is a node at all.

        It probes all that are not marked as unhealthy; if none of them is healthy, the others too.

        Raises:
            ConnectionError: none is a node, or they are of different chains; the text names each.
        """
        nodes: list[str] = []
        unhealthy = self._unhealthy.keys() & self.all
        for batch in ([one for one in self.all if one not in unhealthy], [one for one in self.all if one in unhealthy]):
            nodes += await self._look(batch)
            if well := [one for one in nodes if one not in self._unhealthy]:
                return well[0]
        if not nodes:
            raise ConnectionError(self.described())
        return min(nodes, key=self.all.index)

    async def has_better(self, used: str) -> bool:
        """Probe the endpoints whose pause is over; return whether one before `used` is healthy again."""
        now = self._clock.monotonic()
        due = [one for one, unhealthy in self._unhealthy.items() if unhealthy.until <= now]
        for one in due:  # no other caller probes them meanwhile
            self._unhealthy[one] = self._unhealthy[one]._replace(until=now + _PAUSE_S)
        await self._look(due)
        return used in self.all and any(one not in self._unhealthy for one in self.all[: self.all.index(used)])

    async def _look(self, endpoints: Sequence[str]) -> list[str]:
        """Probe endpoints, all at once, and mark each; return those that are nodes of the chain."""
        limit_s = self._limits.look_s if len(self.all) > 1 else self._limits.call_s - self._limits.look_s
        results = await asyncio.gather(*(look_at(one, limit_s) for one in endpoints))
        for endpoint, reason in zip(endpoints, endpoint_problems(results, self.genesis, self.highest), strict=True):
            if reason:
                self.leave(endpoint, reason)
            elif self._unhealthy.pop(endpoint, None) is not None and len(self.all) > 1:
                _log.info(Event.CHAIN_ENDPOINT_HEALTHY, endpoint=shown_url(endpoint))
        nodes = {endpoint: one for endpoint, one in zip(endpoints, results, strict=True) if isinstance(one, Node)}
        if self.genesis is None and len({node.chain_id for node in nodes.values()}) > 1:
            return []
        return list(nodes)
