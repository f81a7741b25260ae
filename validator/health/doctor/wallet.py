"""The hotkey's file: whose it is, who may read it, whether it can sign without anybody present."""

import asyncio
import os
import pwd
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from validator.chain.wallet import (
    HotkeyEncryptedError,
    HotkeyMissingError,
    HotkeyPasswordError,
    HotkeyPlainError,
    WalletError,
    hotkey_file,
    load_signer,
)
from validator.health.doctor.finding import Check, Finding, fault, note, ok, warning
from validator.health.doctor.site import Site
from validator.protocol.signatures import Signer
from validator.protocol.text import printable
from validator.settings import WalletSettings

# What is put in front of an error's detail, and what to do; "": the surroundings tell.
_REFUSED: Final[Mapping[type[WalletError], tuple[str, str]]] = {
    HotkeyMissingError: ("no such file: ", ""),
    HotkeyEncryptedError: (
        "encrypted: ",
        "let wallet.password_file name a file of mode 400 with its password; or use a hotkey without one",
    ),
    HotkeyPasswordError: (
        "cannot be unlocked: ",
        "let wallet.password_file name a file of this user, mode 400, with the password as its one line",
    ),
    HotkeyPlainError: ("not encrypted: ", "encrypt the hotkey's file, or remove wallet.password_file"),
}
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SHOWN: Final = 5


async def _look(site: Site) -> list[Finding]:
    return await asyncio.to_thread(_found, site.settings.wallet, site.signer)


def _found(wallet: WalletSettings, unlocked: Signer | None) -> list[Finding]:
    if wallet.uri is not None:
        return [note("wallet", "a development key, wallet.uri: anybody can have it")]
    try:
        file = hotkey_file(wallet)
    except HotkeyMissingError as error:
        return [fault("wallet", error.detail, "set wallet.path")]
    try:
        signer = unlocked or load_signer(wallet)  # unlocking takes seconds: once
    except WalletError as error:
        seen, advice = _REFUSED.get(type(error), ("", ""))
        return [fault("wallet", seen + error.detail, advice or _where_or_rights(error, file))]
    return [ok("wallet", f"{signer.hotkey} in {printable(str(file))}"), *_others(file), *_coldkey(file)]


def _where_or_rights(error: WalletError, file: Path) -> str:
    return _where(file) if isinstance(error, HotkeyMissingError) else _rights(file)


def _where(file: Path) -> str:
    """Say what is there instead."""
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
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(printable(name, 64) for name in names[:_SHOWN]) + more


def _rights(file: Path) -> str:
    try:
        found = file.stat()
    except OSError:
        return f"let user {os.getuid()} ({user_name(os.getuid())}) enter the folders above it"
    if os.access(file, os.R_OK):
        return "put the hotkey's file there again, from its backup or its seed phrase; it must hold the private key"
    return (
        f"let user {os.getuid()} ({user_name(os.getuid())}) read it; "
        f"it belongs to {user_name(found.st_uid)}, mode {stat.S_IMODE(found.st_mode):o}"
    )


def _others(file: Path) -> Iterator[Finding]:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & _OTHERS:
        yield warning(
            "wallet", f"mode {mode:o}: other users may use the hotkey's file", f"chmod 600 {printable(str(file))}"
        )


def _coldkey(file: Path) -> Iterator[Finding]:
    coldkey = file.parents[1] / "coldkey"
    if os.access(coldkey, os.R_OK):
        seen = f"the coldkey lies beside it ({printable(str(coldkey))})"
        yield note("wallet", seen, "a validator never needs it: better not have it on this machine")


def user_name(number: int) -> str:
    """Return a user's name, the number where it has none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


CHECK: Final = Check(
    "wallet",
    "The hotkey's file: whose hotkey, readable by this user alone, unlocked if encrypted, the coldkey not beside it.",
    "look at the disk that the wallet lies on; the hotkey must be a plain file",
    5.0,
    _look,
)
