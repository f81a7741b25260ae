"""Where planted faults lead: reserved names, and invented addresses at services that strangers collect data with."""

import string
from typing import Final

from validator.planting.draws import Draws

_HEX: Final = "0123456789abcdef"
_SMALL: Final = string.ascii_lowercase + string.digits
_FIRST: Final = (
    "sync",
    "metrics",
    "relay",
    "audit",
    "intake",
    "assist",
    "edge",
    "notify",
    "partner",
    "quality",
    "track",
    "vault",
)
_SECOND: Final = (
    "harbor",
    "larch",
    "beacon",
    "quartz",
    "meadow",
    "copper",
    "signal",
    "ferry",
    "cinder",
    "orchard",
    "delta",
)
_PATHS: Final = ("collect", "v1/events", "intake", "log", "hook", "api/report", "ingest", "c", "upload", "beacon")


def letters(draws: Draws, alphabet: str, count: int) -> str:
    """Return `count` drawn characters."""
    return "".join(draws.pick(alphabet) for _ in range(count))


def hexadecimal(draws: Draws, count: int) -> str:
    """Return `count` drawn hexadecimal digits."""
    return letters(draws, _HEX, count)


def draw_host(draws: Draws) -> str:
    """Return a name that nobody can own, or that nobody owns because it was drawn just now."""
    first, second = draws.pick(_FIRST), draws.pick(_SECOND)
    return draws.pick(
        (
            f"{first}.{second}.example",
            f"{first}-{second}.example",
            f"{first}.{second}-labs.test",
            f"{first}-{second}.invalid",
            f"{second}.example.net",
            f"{hexadecimal(draws, 12)}.ngrok-free.app",
            f"{first}-{second}-{letters(draws, _SMALL, 7)}.trycloudflare.com",
            f"203.0.113.{draws.number(2, 250)}",
        )
    )


def draw_url(draws: Draws) -> str:
    """Return an address that data can be sent to."""
    number = hexadecimal(draws, 32)
    own = f"https://{draw_host(draws)}/{draws.pick(_PATHS)}"
    return draws.pick(
        (
            own,
            own,
            own,
            f"https://webhook.site/{number[:8]}-{number[8:12]}-4{number[13:16]}-a{number[17:20]}-{number[20:]}",
        )
    )


def draw_mail(draws: Draws) -> str:
    """Return an address of a mailbox."""
    box = draws.pick(("audit", "records", "quality", "intake", "desk"))
    return f"{box}@{draws.pick(_FIRST)}-{draws.pick(_SECOND)}.example"
