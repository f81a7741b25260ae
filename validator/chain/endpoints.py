"""Endpoints of one chain: which are well, and which were left, why and until when.

All connections of a process share one value: what a reader has learned of an endpoint keeps a submission away from it.
A process that begins looks at all of them before it uses one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import structlog

from validator.chain.limits import Limits
from validator.chain.probe import Node, look_at, unfit
from validator.protocol.text import printable
from validator.settings.urls import shown_url
from validator.sources import Clock
from validator.telemetry import Event

_PAUSE_S: Final = 300.0  # for so long an endpoint is left; twice as long if it fails again within the hour
_LONGEST_PAUSE_S: Final = 3_600.0
_log = structlog.get_logger()


class _Left(NamedTuple):
    reason: str
    until: float  # by the monotonic clock
    pause_s: float


class Endpoints:
    """Choice among the endpoints of one chain.

    Args:
        endpoints: network names or websocket urls, the favourite first.

    Attributes:
        genesis: of the chain whose endpoints are preferred; None: all must be of the same one.
        highest: the highest block that was seen.
    """

    def __init__(self, endpoints: Sequence[str], clock: Clock, limits: Limits) -> None:
        self.all = tuple(endpoints)
        self.genesis: str | None = None
        self.highest = 0
        self._clock = clock
        self._limits = limits
        self._left: dict[str, _Left] = {}
        self._pauses: dict[str, _Left] = {}  # the newest pause of each, also once it is over

    @property
    def left(self) -> Mapping[str, str]:
        """Reasons for not using endpoints, by their shown url; a single one is used all the same."""
        return {} if len(self.all) == 1 else self._reasons()

    def _reasons(self) -> dict[str, str]:
        return {shown_url(one): self._left[one].reason for one in self.all if one in self._left}

    def described(self) -> str:
        """Return each endpoint, with what is wrong with it where that is known; for messages."""
        left = self._reasons()
        shown = dict.fromkeys(map(shown_url, self.all))
        return "; ".join(f"{one}: {left[one]}" if one in left else one for one in shown)

    def has_other(self, endpoint: str) -> bool:
        """Return whether another endpoint is well, as far as is known."""
        return any(one != endpoint and one not in self._left for one in self.all)

    def leave(self, endpoint: str, reason: str) -> bool:
        """Note that an endpoint is not to be used for some minutes; return whether another one is well."""
        now, known, before = self._clock.monotonic(), endpoint in self._left, self._pauses.get(endpoint)
        pause_s, reason = _PAUSE_S, printable(reason, 300)
        if before is not None and now - before.until < _LONGEST_PAUSE_S:
            pause_s = before.pause_s if known else min(_LONGEST_PAUSE_S, 2 * before.pause_s)
        self._left[endpoint] = self._pauses[endpoint] = _Left(reason, now + pause_s, pause_s)
        if not known and len(self.all) > 1:
            _log.warning(Event.CHAIN_ENDPOINT_LEFT, endpoint=shown_url(endpoint), reason=reason, seconds=pause_s)
        return self.has_other(endpoint)

    async def choose(self) -> str:
        """Return the endpoint to connect to: the first that is well, else the first that is a node at all.

        All that are not left are looked at; where none of them is well, the others too.

        Raises:
            ConnectionError: none is a node, or they are of different chains; it says what each is.
        """
        waiting = [one for one in self.all if one in self._left]
        nodes: list[str] = []
        for batch in ([one for one in self.all if one not in self._left], waiting):
            nodes += await self._look(batch)
            if well := [one for one in nodes if one not in self._left]:
                return well[0]
        if not nodes:
            raise ConnectionError(self.described())
        return min(nodes, key=self.all.index)

    def is_due(self) -> bool:
        """Return whether the pause of an endpoint is over."""
        now = self._clock.monotonic()
        return any(one.until <= now for one in self._left.values())

    async def look_again(self, used: str) -> bool:
        """Look at the endpoints whose pause is over; return whether one is well that is better than `used`."""
        now = self._clock.monotonic()
        await self._look([one for one, left in self._left.items() if left.until <= now])
        well = [one for one in self.all if one not in self._left]
        return used in self.all and bool(well) and self.all.index(well[0]) < self.all.index(used)

    async def _look(self, endpoints: Sequence[str]) -> list[str]:
        """Look at endpoints, all at once, and note which are well; return those that are nodes of the chain."""
        limit_s = self._limits.look_s if len(self.all) > 1 else self._limits.call_s - self._limits.look_s
        seen = await asyncio.gather(*(look_at(place, one, limit_s) for place, one in enumerate(endpoints)))
        reasons = unfit(seen, self.genesis, self.highest)
        for place, endpoint in enumerate(endpoints):
            if place in reasons:
                self.leave(endpoint, reasons[place])
            elif self._left.pop(endpoint, None) is not None and len(self.all) > 1:
                _log.info(Event.CHAIN_ENDPOINT_BACK, endpoint=shown_url(endpoint))
        nodes = [one for one in seen if isinstance(one, Node)]
        if self.genesis is None and len({node.chain_id for node in nodes}) > 1:
            return []
        return [endpoints[node.place] for node in nodes]
