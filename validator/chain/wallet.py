"""Hotkey of the validator or reference miner, read from a wallet's file or, for local networks, a derivation uri.

The password of an encrypted one has its own file: it is never in a variable, an argument or a prompt.
"""

import os
import stat
from pathlib import Path
from typing import Final

from bittensor_core import (
    KeyfileError,
    WrongPasswordError,
    decrypt_keyfile_data,
    deserialize_keypair_from_keyfile_data,
    keyfile_data_is_encrypted,
)

from sssa.files import from_home, one_line, read_at_most
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from validator.settings.model import WalletSettings

MAX_SECRET_BYTES: Final = 4 * 1024
# Its owner's alone, or its group may read it: what else a container's user reads a mounted secret by.
_TOO_OPEN: Final = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP


class SecretFileError(ValidatorError):
    """The file of a secret cannot be used."""


def read_secret(file: Path, setting: str) -> str:
    """Return the secret in the file that a setting names, without its final line break.

    Raises:
        SecretFileError: it is not there, no plain file, open to others, empty or no one line of UTF-8. The text
            names the file and never shows any of it.
    """
    place = printable(str(file))
    try:
        file = from_home(file)
        # A pipe without a writer must not hold up the start.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SecretFileError(f"{place}: not a plain file")
            if status.st_mode & _TOO_OPEN:
                mode = stat.S_IMODE(status.st_mode)
                raise SecretFileError(f"{place}: mode {mode:o} lets others at it; chmod 400 {place}")
            data = stream.read(MAX_SECRET_BYTES + 1)
    except OSError as error:
        raise SecretFileError(f"{place}: {error.strerror or error}; see {setting}") from None
    if len(data) > MAX_SECRET_BYTES:
        raise SecretFileError(f"{place}: larger than {MAX_SECRET_BYTES} bytes")
    try:
        return one_line(data)
    except ValueError as error:
        raise SecretFileError(f"{place}: {error}") from None


MAX_BYTES: Final = 64 * 1024


class WalletError(ValidatorError):
    """The hotkey cannot be used."""


class HotkeyMissingError(WalletError):
    """The hotkey's file is not there."""


class HotkeyEncryptedError(WalletError):
    """The hotkey's file is encrypted."""


class HotkeyPasswordError(WalletError):
    """The hotkey's file cannot be unlocked."""


class HotkeyPlainError(WalletError):
    """The hotkey's file is not encrypted."""


def load_signer(settings: WalletSettings) -> Signer:
    """Return the hotkey that the settings name; the coldkey is never touched.

    Unlocking an encrypted file takes some two seconds and 512 MiB of memory, as its format wills it.

    Raises:
        HotkeyMissingError, HotkeyEncryptedError: the text says which file and what to do.
        HotkeyPasswordError: the password's file cannot be used, or holds another password.
        HotkeyPlainError: there is a password, and nothing that it unlocks.
        WalletError: it is damaged, unreadable or holds no private key; the same.
    """
    if settings.uri is not None:
        return Signer.from_uri(settings.uri)
    data, place = read_hotkey(settings), _place(settings)
    signer = Signer(_keypair(_unlocked(data, place, settings.password_file), place))
    try:
        signer.sign(b"")
    except ValueError:
        raise WalletError(f"{place}: the file holds no private key") from None
    return signer


def read_hotkey(settings: WalletSettings) -> bytes:
    """Return the content of the hotkey's file, encrypted or not.

    Raises:
        HotkeyMissingError: the file is not there.
        WalletError: it cannot be read, or is no hotkey's by its size.
    """
    place = _place(settings)
    try:
        data = read_at_most(hotkey_file(settings), MAX_BYTES)
    except FileNotFoundError:
        raise HotkeyMissingError(f"{place}; check path, name and hotkey of [wallet] in the settings") from None
    except OSError as error:
        raise WalletError(f"{place}: {error.strerror or error}; check [wallet] in the settings") from None
    if len(data) > MAX_BYTES:
        raise WalletError(f"{place}: larger than {MAX_BYTES} bytes, which no hotkey's file is")
    return data


def _place(settings: WalletSettings) -> str:
    folder = printable(str(hotkey_file(settings).parents[2]))
    return f"hotkey `{settings.hotkey}` of wallet `{settings.name}` in {folder}"


def hotkey_file(settings: WalletSettings) -> Path:
    """Return the path of the hotkey's file, which may not exist.

    Raises:
        HotkeyMissingError: the wallets are in a home folder that nobody knows.
    """
    try:
        folder = from_home(Path(settings.path))
    except FileNotFoundError as error:
        raise HotkeyMissingError(f"{error.strerror} into wallet.path") from None
    return folder / settings.name / "hotkeys" / settings.hotkey


def _unlocked(data: bytes, place: str, password_file: Path | None) -> bytes:
    """Return the file's content in the clear; the password is not kept."""
    if not keyfile_data_is_encrypted(data):
        if password_file is not None:
            raise HotkeyPlainError(f"{place}; encrypt it, or remove wallet.password_file")
        return data
    if password_file is None:
        raise HotkeyEncryptedError(
            f"{place}; name a file that holds its password in wallet.password_file, or use a hotkey without a password"
        )
    try:
        return bytes(decrypt_keyfile_data(data, read_secret(password_file, "wallet.password_file")))
    except SecretFileError as error:
        raise HotkeyPasswordError(f"{place}: {error}") from None
    except WrongPasswordError:
        raise HotkeyPasswordError(f"{place}: wallet.password_file holds another password") from None
    except (KeyfileError, ValueError):
        raise WalletError(f"{place}: the file is damaged or no keyfile") from None


def _keypair(data: bytes, place: str) -> object:
    try:
        return deserialize_keypair_from_keyfile_data(data)
    except (KeyfileError, ValueError):
        raise WalletError(f"{place}: the file is damaged or no keyfile") from None
