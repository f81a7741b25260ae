"""The validator's own hotkey, from a wallet's file or, for local networks, from a derivation uri."""

from pathlib import Path

from bittensor_core import KeyfileError, deserialize_keypair_from_keyfile_data, keyfile_data_is_encrypted

from validator.protocol.errors import ValidatorError
from validator.protocol.signatures import Signer
from validator.protocol.text import printable
from validator.settings.model import WalletSettings


class WalletError(ValidatorError):
    """The hotkey cannot be used."""


class HotkeyMissingError(WalletError):
    """The hotkey's file is not there."""


class HotkeyEncryptedError(WalletError):
    """The hotkey's file is encrypted."""


def load_signer(settings: WalletSettings) -> Signer:
    """Return the hotkey that the settings name; the coldkey is never touched.

    Raises:
        HotkeyMissingError, HotkeyEncryptedError: the text says which file and what to do.
        WalletError: it is damaged, unreadable or holds no private key; likewise.
    """
    if settings.uri is not None:
        return Signer.from_uri(settings.uri)
    folder = Path(settings.path).expanduser()
    place = f"hotkey `{settings.hotkey}` of wallet `{settings.name}` in {printable(str(folder))}"
    file = folder / settings.name / "hotkeys" / settings.hotkey
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise HotkeyMissingError(f"{place}; check path, name and hotkey of [wallet] in the settings") from None
    except OSError as error:
        raise WalletError(f"{place}: {error.strerror or error}; check [wallet] in the settings") from None
    signer = Signer(_keypair(data, place))
    try:
        signer.sign(b"")
    except ValueError:
        raise WalletError(f"{place}: the file holds no private key") from None
    return signer


def _keypair(data: bytes, place: str) -> object:
    if keyfile_data_is_encrypted(data):
        raise HotkeyEncryptedError(f"{place}; a validator signs by itself and needs a hotkey without a password")
    try:
        return deserialize_keypair_from_keyfile_data(data)
    except (KeyfileError, ValueError):
        raise WalletError(f"{place}: the file is damaged or no keyfile") from None
