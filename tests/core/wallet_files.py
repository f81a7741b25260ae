"""A wallet's hotkey on disk."""

from pathlib import Path

from bittensor_core import serialized_keypair_to_keyfile_data

from sssa.protocol.signatures import Signer

# The hotkey //Validator as `btcli` encrypts it today (NaCl); making one takes two seconds.
ENCRYPTED = Path(__file__).parents[1] / "fixtures" / "encrypted_hotkey"
PASSWORD = "correct horse, bättery"


def write_hotkey(wallets: Path, signer: Signer, name: str = "default", hotkey: str = "default") -> None:
    """Write an unencrypted hotkey file as the SDK does."""
    folder = wallets / name / "hotkeys"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hotkey).write_bytes(serialized_keypair_to_keyfile_data(signer.keypair))
