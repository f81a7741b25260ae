"""Client of the health endpoint; with the standard library alone, because containers call it often."""

import http.client
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sssa.protocol.errors import ValidatorError
from sssa.protocol.strict_json import JsonError, decode_plain
from validator.settings.model import HealthSettings

_MAX_REPORT: Final = 64 * 1024
_UNAUTHORIZED: Final = 401
_HEALTHY: Final = ("ok", "degraded", "stopping")
# What one listens on to be reached at every address is no address to connect to.
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - told apart, not bound


class HealthAddressError(ValidatorError):
    """The health endpoint's address is not known."""


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """Answer of a validator's health endpoint.

    Attributes:
        address: where it was asked; empty where the settings leave that to chance.
        status: the report's, with the names of active conditions; or why there is no report.
        conditions, notes: a line for each, with advice.
        advice: what is odd about the last round, and what to do; not of active conditions.
    """

    healthy: bool
    address: str
    status: str
    report: dict[str, Any] | None = None
    conditions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


def ask_health(settings: HealthSettings, timeout_s: float) -> HealthAnswer:
    """Return the health of the validator that runs with these settings. Blocks, at most `timeout_s` per step.

    Raises:
        HealthAddressError: the settings leave the port to chance.
    """
    if settings.port == 0:
        raise HealthAddressError("health.port is 0, which takes any free port; set one")
    host = _EVERYWHERE.get(settings.host, settings.host)
    shown = f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
    headers = {} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}
    connection = http.client.HTTPConnection(host, settings.port, timeout=timeout_s)
    try:
        connection.request("GET", "/readyz", headers=headers)
        response = connection.getresponse()
        body = response.read(_MAX_REPORT + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return HealthAnswer(healthy=False, address=shown, status=f"no answer: {reason}")
    finally:
        connection.close()
    if response.status == _UNAUTHORIZED:
        return HealthAnswer(healthy=False, address=shown, status="it asks for another health.token")
    return _read(shown, body)


def _read(address: str, body: bytes) -> HealthAnswer:
    try:
        report = decode_plain(body, limit=_MAX_REPORT)
    except JsonError:
        report = None
    if not isinstance(report, dict) or not isinstance(report.get("status"), str):
        return HealthAnswer(healthy=False, address=address, status="no health report there")
    listed = report.get("conditions")
    active = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    notes = [each for each in active if each.get("severity") == "note"]
    failing = [each for each in active if each not in notes]
    names = ", ".join(str(each.get("name")) for each in failing)
    return HealthAnswer(
        healthy=report["status"] in _HEALTHY,
        address=address,
        status=report["status"] + (f": {names}" if names else ""),
        report=report,
        conditions=tuple(map(_line, failing)),
        notes=tuple(map(_line, notes)),
        advice=_advice(report, {str(each.get("name")) for each in failing}),
    )


def _advice(report: Mapping[str, Any], active: Collection[str]) -> tuple[str, ...]:
    """Return the last round's advice; empty if the answer has another form."""
    match report:
        case {"checks": {"rounds": {"last_ended": str(round_id), "last_advice": {**said}}}}:
            return tuple(f"round {round_id}: {line}" for name, line in said.items() if name not in active)
    return ()


def _line(condition: dict[str, Any]) -> str:
    name, severity, meaning, detail, advice = (
        str(condition.get(key, "")) for key in ("name", "severity", "meaning", "detail", "advice")
    )
    return f"{name} ({severity}): {meaning} {f'Seen: {detail}. ' if detail else ''}{advice}"
