"""The settings: what is wrong with them, what is ignored, and what is unusual."""

import stat
from collections.abc import Iterator
from typing import Final

from validator.health.doctor.finding import Check, Finding, fault, note, ok, warning
from validator.health.doctor.site import Site
from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.rounds.prepare import runtime_images_of, schedule_of
from validator.settings import Settings, SettingsError
from validator.settings.misnamed import strangers
from validator.settings.reading import read_at_most
from validator.settings.urls import without_password

_FIX: Final = "correct it; config/validator.toml shows every key, `validator init` writes a new file"
_OTHERS: Final = stat.S_IRGRP | stat.S_IROTH
_MOST: Final = 1024 * 1024


def refused(error: SettingsError) -> list[Finding]:
    """Return what keeps the settings from being used, a finding for each line."""
    return [fault("settings", line, _FIX) for line in error.problems]


async def _look(site: Site) -> list[Finding]:
    settings = site.settings
    used = f"{printable(str(site.file))}: netuid {settings.validator.netuid}, chain {settings.chain.kind}"
    return [
        ok("settings", used),
        *_ignored(site),
        *_readable(site),
        *_schedule(settings),
        *_images(settings),
        *_unusual(settings),
    ]


def _ignored(site: Site) -> Iterator[Finding]:
    for name in strangers(site.environ):
        yield warning(
            "environment", f"{printable(name, 80)} sets nothing", "unset it, or see docs/reference/settings.md"
        )


def _readable(site: Site) -> Iterator[Finding]:
    """A url with a password, or the health port's token, in a file that others may read."""
    url, token = site.settings.store.url.reveal(), site.settings.health.token
    try:
        mode = site.file.stat().st_mode
        text = read_at_most(site.file, _MOST).decode(errors="replace")
    except OSError:
        return
    if not mode & _OTHERS:
        return
    name = printable(str(site.file))
    if without_password(url) != url and url in text:
        seen = f"{name} holds the database's password, and other users may read it"
        yield warning("store.url", seen, f"chmod 600 {name}, or put the url into a file for VALIDATOR_STORE__URL_FILE")
    if token is not None and token in text:
        seen = f"{name} holds the health port's token, and other users may read it"
        advice = f"chmod 600 {name}, or put the token into a file for VALIDATOR_HEALTH__TOKEN_FILE"
        yield warning("health.token", seen, advice)


def _schedule(settings: Settings) -> Iterator[Finding]:
    try:
        schedule_of(settings)
    except ValidatorError as error:
        yield fault(
            "scoring.schedule", str(error), "name versions that this program scores, or install the one that does"
        )


def _images(settings: Settings) -> Iterator[Finding]:
    try:
        runtime_images_of(settings)
    except ValidatorError as error:
        yield fault("scoring.runtime_images", str(error), "name the subnet's image with epoch 0 first")
    if settings.chain.kind == "bittensor" and settings.scoring.runtime_images is None:
        seen = "not set: tasks of runtime types name an image that nobody has, and nothing is executed"
        yield warning("scoring.runtime_images", seen, "name the image that the subnet agreed on")


def _unusual(settings: Settings) -> Iterator[Finding]:
    real = settings.chain.kind == "bittensor"
    if not real:
        yield note("chain", "simulated: this validator decides about nobody's pay")
    if real and settings.miners.allow_private_axons:
        seen = "miners.allow_private_axons is true: miners can make this machine call into its own network"
        yield warning("miners", seen, "set it to false; it is for local networks")
    if not settings.weights.enabled:
        yield note("weights", "weights.enabled is false: no weights are sent")
    elif settings.weights.dry_run:
        yield note("weights", "weights.dry_run is true: weights are computed and not sent")
    if settings.log.level in {"warning", "error"}:
        yield note("log", f"log.level is {settings.log.level}: the lines of rounds and weights are not in the log")


CHECK: Final = Check(
    "settings",
    "Keys and variables that set nothing, who may read a password, the scoring schedule, what is unusual.",
    _FIX,
    5.0,
    _look,
)
