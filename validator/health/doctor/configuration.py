"""Doctor's checks of the configuration: the settings, and the hotkey's file."""

import asyncio
import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sssa.files import read_at_most
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from validator.chain.wallet import (
    HotkeyEncryptedError,
    HotkeyMissingError,
    HotkeyPasswordError,
    HotkeyPlainError,
    WalletError,
    hotkey_file,
    load_signer,
)
from validator.health.doctor.examination import Finding, Site, check, fault, note, ok, warning
from validator.rounds.prepare import runtime_images_of, schedule_of
from validator.settings.load import SettingsError, strangers
from validator.settings.model import Settings, WalletSettings
from validator.settings.urls import without_password

_READ_BY_OTHERS: Final = stat.S_IRGRP | stat.S_IROTH
_MOST_SETTINGS: Final = 1024 * 1024


def refused(error: SettingsError) -> list[Finding]:
    """Return the errors of the settings, one finding per line."""
    return [fault("settings", line, condition="settings_refused") for line in error.problems]


@check("look at the disk of the settings' file", 5.0)
async def check_settings(site: Site) -> list[Finding]:
    """Keys and variables that set nothing, who may read a password, the scoring schedule, what is unusual."""
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
        yield warning("environment", f"{printable(name, 80)} sets nothing", "unset it, or see config/validator.toml")


def _readable(site: Site) -> Iterator[Finding]:
    """A url with a password, or the health port's token, in a file that others may read."""
    url, token = site.settings.store.url.reveal(), site.settings.health.token
    try:
        mode = site.file.stat().st_mode
        text = read_at_most(site.file, _MOST_SETTINGS).decode(errors="replace")
    except OSError:
        return
    if not mode & _READ_BY_OTHERS:
        return
    name = printable(str(site.file))
    for key, secret, kind, variable in (
        ("store.url", None if without_password(url) == url else url, "database's password", "STORE__URL"),
        ("health.token", token, "health port's token", "HEALTH__TOKEN"),
    ):
        if secret is not None and secret in text:
            seen = f"{name} holds the {kind}, and other users may read it"
            yield warning(key, seen, f"chmod 600 {name}, or put {key} into a file for VALIDATOR_{variable}_FILE")


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
        yield warning("scoring.runtime_images", seen, "name the image that the subnet agreed on", "sandbox_image")


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


_USED_BY_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MOST_NAMES: Final = 5


@check("check the disk of the wallet; the hotkey must be a plain file", 5.0)
async def check_wallet(site: Site) -> list[Finding]:
    """The hotkey's file: whose hotkey, readable by this user alone, unlocked if encrypted, no coldkey next to it."""
    return await asyncio.to_thread(_hotkey_findings, site.settings.wallet, site.signer)


def _hotkey_findings(wallet: WalletSettings, unlocked: Signer | None) -> list[Finding]:
    if wallet.uri is not None:
        return [note("wallet", "a development key, wallet.uri: anybody can have it")]
    try:
        file = hotkey_file(wallet)
    except HotkeyMissingError as error:
        return [fault("wallet", error.detail, "set wallet.path", "hotkey_missing")]
    try:
        signer = unlocked or load_signer(wallet)  # unlocking takes seconds: once
    except HotkeyMissingError as error:
        return [fault("wallet", f"no such file: {error.detail}", _what_is_there(file), "hotkey_missing")]
    except (HotkeyEncryptedError, HotkeyPasswordError) as error:
        seen = "encrypted" if isinstance(error, HotkeyEncryptedError) else "cannot be unlocked"
        return [fault("wallet", f"{seen}: {error.detail}", condition="hotkey_encrypted")]
    except WalletError as error:
        if isinstance(error, HotkeyPlainError):
            seen, advice = "not encrypted: ", "encrypt the hotkey's file, or remove wallet.password_file"
        else:
            seen, advice = "", _rights(file)
        return [fault("wallet", seen + error.detail, advice)]
    return [ok("wallet", f"{signer.hotkey} in {printable(str(file))}"), *_others(file), *_coldkey(file)]


def _what_is_there(file: Path) -> str:
    """Name the hotkeys that exist instead."""
    hotkeys, wallets = file.parent, file.parents[2]
    if names := _names(path for path in _inside(hotkeys) if path.is_file()):
        return f"set wallet.hotkey; in {printable(str(hotkeys))} there is: {names}"
    if names := _names(path for path in _inside(wallets) if (path / "hotkeys").is_dir()):
        return f"set wallet.name; in {printable(str(wallets))} there is: {names}"
    return f"set wallet.path; no wallet is in {printable(str(wallets))}; in a container: mount it"


def _inside(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.iterdir()
    except OSError:
        return


def _names(paths: Iterable[Path]) -> str:
    names = sorted(path.name for path in paths if not path.name.startswith("."))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(printable(name, 64) for name in names[:_MOST_NAMES]) + more


def _rights(file: Path) -> str:
    try:
        status = file.stat()
    except OSError:
        return f"let user {os.getuid()} ({user_name(os.getuid())}) enter the folders above it"
    if os.access(file, os.R_OK):
        return "put the hotkey's file there again, from its backup or its seed phrase; it must hold the private key"
    return (
        f"let user {os.getuid()} ({user_name(os.getuid())}) read it; "
        f"it belongs to {user_name(status.st_uid)}, mode {stat.S_IMODE(status.st_mode):o}"
    )


def _others(file: Path) -> Iterator[Finding]:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & _USED_BY_OTHERS:
        yield warning(
            "wallet", f"mode {mode:o}: other users may use the hotkey's file", f"chmod 600 {printable(str(file))}"
        )


def _coldkey(file: Path) -> Iterator[Finding]:
    coldkey = file.parents[1] / "coldkey"
    if os.access(coldkey, os.R_OK):
        seen = f"the coldkey is next to it ({printable(str(coldkey))})"
        yield note("wallet", seen, "a validator never needs it: better not have it on this machine")


def user_name(number: int) -> str:
    """Return a user's name, the number where it has none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
