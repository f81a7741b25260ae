"""Hotkeys that commands are given."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer

from validator.chain.wallet import load_signer
from validator.cli.configured import settings_of
from validator.protocol.signatures import Signer, is_hotkey
from validator.protocol.text import printable

# Derivation paths only: a mnemonic would show in the list of processes.
_URI: Final = re.compile(r"(//[A-Za-z0-9_-]{1,64}){1,4}")


def signer_of(uri: str | None, config: Path | None) -> Signer:
    """Return the development key `uri`, else the hotkey of the wallet that the settings name.

    Raises:
        typer.BadParameter: `uri` is no derivation path.
        SettingsError, WalletError: the settings or the wallet cannot be used.
    """
    if uri is not None:
        if not _URI.fullmatch(uri):
            raise typer.BadParameter("must be a derivation path such as //Alice", param_hint="--hotkey-uri")
        return Signer.from_uri(uri)

    return load_signer(settings_of(config).wallet)


def checked_hotkeys(hotkeys: Sequence[str] | None, option: str) -> frozenset[str] | None:
    """Return the hotkeys as a set, None for none.

    Raises:
        typer.BadParameter: one of them is no ss58 address.
    """
    if not hotkeys:
        return None

    for hotkey in hotkeys:
        if not is_hotkey(hotkey):
            raise typer.BadParameter(f"{printable(hotkey, 60)} is no ss58 address", param_hint=option)
    return frozenset(hotkeys)
